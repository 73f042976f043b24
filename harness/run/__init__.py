"""The run of one workload: plan, preflight, session, workers, recorder, evidence."""
