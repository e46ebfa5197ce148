"""Lexicons: read and write, build from Wikidata, find their names in text."""
