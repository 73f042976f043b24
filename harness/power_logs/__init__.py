"""Power logs that other programs wrote: `read` reads them, `formats` lists the formats.

A format is an entry of `formats.toml` (tables, and lines with patterns), a layout of `json_logs`,
or a module with a `NAME` and the functions `recognise` and `parse`. A table of any other program is
read with a declared map.
"""
