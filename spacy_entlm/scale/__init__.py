"""Texts of any number: read in shards, here or by the workers of a Ray cluster."""
