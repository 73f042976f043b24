"""Sentences that the page generates from its figures: the answer, the answer cards, the findings of
a workload, the titles and alternative texts of charts, and the line of trust.

A sentence names only results that may win (`ResultRow.may_win`). It states a difference only if the
95 % intervals do not overlap and the difference exceeds the board spread. Otherwise it says
`cannot be told apart`. The functions return plain text; the templates escape it.
"""
