"""Teach a backbone kinds of names, from lines in which each name is marked with its
kinds: afterwards the row of a class can be computed from its name."""
