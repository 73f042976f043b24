"""Runs an implementation under the measurement protocol and writes a bundle of evidence."""

__version__ = "0.1.0"
