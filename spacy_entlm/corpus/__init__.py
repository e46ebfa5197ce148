"""Annotated data: files to spaCy Docs and back, and exact K-shot sampling."""
