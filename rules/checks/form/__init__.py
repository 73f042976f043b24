"""Rules on schema and form."""
