"""The forms of annotated text: one small parser for each, and one table of all."""
