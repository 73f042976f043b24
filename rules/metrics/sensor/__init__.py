"""What a power sensor reports of a load of known pulses: its period, averaging window and delay."""
