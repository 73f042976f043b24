"""`bench-check audit`: other people's evidence, judged like our own."""
