"""Trends of boards and models over time, from a published study (Desislavov et al. 2023)."""
