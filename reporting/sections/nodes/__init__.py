"""Tables of whole nodes."""
