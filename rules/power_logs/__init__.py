"""Power logs that other programs wrote: `read` parses their lines, `formats` lists the formats.

A format is an entry of `formats.toml` (tables, and lines with patterns), a layout of `json_logs`,
or a module with a `NAME` and the functions `recognise` and `parse`. A table of any other program is
read with a declared map. The checker reads the logs of observed jobs again, so other readings of
the same lines change verdicts, and time and memory stay bounded on lines that no program wrote.
"""
