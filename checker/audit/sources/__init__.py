"""One file for each kind of evidence that others publish, found by discovery.

Such a module has a `TITLE` and two functions. `find(folder)` names the files of a folder that it
audits, each of which gives rows. `read(folder, name)` yields the rows of one of them. It raises
`UnreadableError` for a damaged file.
"""
