"""Slurm: the job that a run is in, and the run of a requeued job."""
