"""Label words: the words that stand for the classes, and the search for them."""
