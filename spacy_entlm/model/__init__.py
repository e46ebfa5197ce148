"""The Thinc model: word-piece windows, the masked LM, the label head."""
