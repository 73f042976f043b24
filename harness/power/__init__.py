"""Power: sources of readings, the sampler, and the power caps with their journal and watchdog."""
