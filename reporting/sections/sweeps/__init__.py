"""Tables of sweeps over power caps and other settings, of their gains, and of scaling."""
