"""Benchmarks: a grid of few-shot trainings, their records, tables and plots."""
