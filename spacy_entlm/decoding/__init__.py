"""Scores of words -> entities: array code that numpy and cupy run alike."""
