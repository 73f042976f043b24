"""The evidence of other programs for page and data set: read and graded as `bench-check audit`
does, with its provenance. It is compared with nothing."""
