"""Scores of words -> entities: array code, and a kernel for GPUs."""
