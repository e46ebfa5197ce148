"""(Further) pre-training of a masked LM on plain text, and other vocabularies."""
