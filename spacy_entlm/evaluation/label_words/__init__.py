"""A report on label words."""
