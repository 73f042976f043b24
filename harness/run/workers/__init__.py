"""The processes that run a workload: starting them, their events, the recorder of batches and the
load generator."""
