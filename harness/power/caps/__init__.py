"""Power caps of a run: set, verified, restored, with a journal and a watchdog."""
