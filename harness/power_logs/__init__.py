"""Power logs that other programs wrote: PTDaemon, MLPerf training, and CSV with a declared map.

Each format is a module with a `NAME` and the functions `recognise` and `parse`.
`harness.power_logs.read.FORMATS` lists them.
"""
