"""Sentences that the page generates from its figures: the answers, the answer cards, the findings
of a workload, the titles and alternative texts of charts, and the line of trust.

A sentence names only results that may win (`ResultRow.may_win`). It states a difference only with
its certainty, or if the 95 % interval of the difference excludes zero. Otherwise it says `cannot be
told apart`. The functions return plain text; the templates escape it.
"""
