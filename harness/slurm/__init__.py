"""Slurm: the job that a run is in, its energy by Slurm, and the run of a requeued job."""
