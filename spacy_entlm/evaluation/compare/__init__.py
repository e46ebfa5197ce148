"""Comparisons: a grid of few-shot trainings, their records, and the report."""
