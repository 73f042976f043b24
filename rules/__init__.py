"""The rule book of wattmark: protocol constants, workloads, records, arithmetic, schemas and
rules."""

VERSION = "1.10.0"
"""Version of the rule book (not of the protocol: a rule book judges every protocol version so
far)."""
RELEASED = (
    *("1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0", "1.7.0", "1.8.0", "1.9.0"),
    VERSION,
)
"""Every rule book so far, this one last."""
