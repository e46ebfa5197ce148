"""The sentence that files of many forms hold, and how it is written and read."""

import json

TEXT = "Mira Holt left Ulmstadt."
WORDS = ["Mira", "Holt", "left", "Ulmstadt", "."]
TAGS = ["B-PER", "I-PER", "O", "B-LOC", "O"]
PER = {"start": 0, "end": 9, "label": "PER"}
LOC = {"start": 15, "end": 23, "label": "LOC"}
FOUND = [("Mira Holt", "PER"), ("Ulmstadt", "LOC")]


def entities(doc):
    return [(ent.text, ent.label_) for ent in doc.ents]


def words(doc):
    return [token.text for token in doc]


def table(*columns, gap="\t"):
    """Lines of columns that are given one by one."""
    return "".join(gap.join(row) + "\n" for row in zip(*columns))


def columns(*tags, words=WORDS):
    """Lines of a word and its tag each."""
    return table(words, tags)


def jsonl(*entries):
    return "".join(json.dumps(entry) + "\n" for entry in entries)
