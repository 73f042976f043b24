"""The format of a bundle: records, tables and documents, with reader and writer side by side."""
