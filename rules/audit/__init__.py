"""Evidence of other programs as rows: what a row holds, and how rules grade it."""
