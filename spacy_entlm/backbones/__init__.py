"""Backbones: which masked LM is meant, how it is loaded, what it recommends."""
