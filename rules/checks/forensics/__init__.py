"""Rules that test whether power readings have the statistics of a real sensor.

All limits were established on the H200 only, on the committed bundles. The rules therefore apply to
the boards in `rules.metrics.power.series.MEASURED`, they are notes and not errors, and they have
`statistical=True`. An id keeps the letter of the family that its quantity belongs to (W: power
readings, E: energy, T: throughput). `docs/forensics.md` gives the measured values and limits.
"""
