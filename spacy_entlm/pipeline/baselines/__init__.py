"""The paper's peers as spaCy components."""
