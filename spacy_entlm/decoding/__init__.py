"""Scores of words -> entities, on the host."""
