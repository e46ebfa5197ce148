"""Which names of classes, and which languages, are read well with no example.

    python project/benchmarks/kinds_of_names.py OUT.jsonl
    python project/benchmarks/kinds_of_names.py OUT.jsonl --names Schiff=ship,PER=person

Measured is the development part of the corpus of kinds: small data sets, each with its
own labels, in groups. A pipeline of each set begins with its labels alone. A line of
OUT.jsonl is a set with its labels, or a group, or all. "untyped" is F1 of beginnings
and ends, whatever the label: where it is high and F1 is low, a name is misread; where
both are low, it is not found. Tables by group, by set and by label are shown. --names
asks for labels in other words.
"""

from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional

import spacy
import torch
import typer
from kinds_corpus import OF_LANGUAGES
from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.tokens import Doc

from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.corpus.docs import unannotated
from spacy_entlm.evaluation.scoring import entity_spans, judged_entities
from spacy_entlm.files.errors import DataError
from spacy_entlm.files.file import write_file
from spacy_entlm.files.json_lines import dump_line, read_objects
from spacy_entlm.teaching.encoding import WORD

DATA = Path(__file__).resolve().parents[1] / "assets" / "kinds" / "dev.jsonl.xz"
FORM = '{"text": "...", "spans": [...], "lang": "en", "labels": [...], "set": "..."}'

Row = Dict[str, Any]


class Counts:
    """What was found of names, counted. typed: With the right label, of each label.
    untyped: With any. bounded: Of each label, with its own or another."""

    def __init__(self) -> None:
        self.typed: Dict[str, PRFScore] = defaultdict(PRFScore)
        self.untyped = PRFScore()
        self.bounded: Dict[str, int] = defaultdict(int)

    def add(self, found: Doc, gold: Doc) -> None:
        """Count a line; neighbours of one label are one name, as in the paper."""
        spans = [
            set(judged_entities(gold, entity_spans(doc), merged=True))
            for doc in (found, gold)
        ]
        ours, right = ({(start, end) for start, end, _ in s} for s in spans)
        self.untyped.score_set(ours, right)
        for label in {label for _, _, label in set.union(*spans)}:
            own = [{span for span in s if span[2] == label} for s in spans]
            self.typed[label].score_set(*own)
            self.bounded[label] += sum(span[:2] in ours for span in own[1])

    def row(self) -> Row:
        """Precision, recall and F1 in percent, and how many names there are."""
        total = sum(self.typed.values(), PRFScore())
        row = _percent(total) | {"untyped": _round(self.untyped.fscore)}
        return row | {"names": total.tp + total.fn}

    def by_label(self) -> Dict[str, Row]:
        """The same of each label; "bounded" is the share of its names of which the
        beginning and end are found, whatever the label."""
        rows: Dict[str, Row] = {}
        for label, score in sorted(self.typed.items()):
            names = score.tp + score.fn
            bounded = _round(self.bounded[label] / names) if names else None
            rows[label] = _percent(score) | {"bounded": bounded, "names": names}
        return rows


def main(
    out: Path,
    data: Path = typer.Option(DATA, help="Lines with labels, sets and groups"),
    backbone: str = typer.Option("entlm-base", help="A masked LM, or its folder"),
    layers: Optional[int] = typer.Option(None, help="How many of its layers"),
    names: str = typer.Option("", help="LABEL=WORDS,...: other words for labels"),
    threads: int = typer.Option(1, help="Of PyTorch"),
) -> None:
    """Measure names alone, write OUT, and show tables."""
    with one_line_errors():
        torch.set_num_threads(threads)
        model, words = {"name": backbone, "layers": layers}, words_of(names)
        rows = measure(read_sets(data), model, words)
        with write_file(out) as new:
            new.write_bytes(b"".join(map(dump_line, rows)))
    print(table([row for row in rows if "set" not in row], ["group"]))
    print(table([row for row in rows if "set" in row], ["group", "set"]))
    labels = [
        {"set": row["set"], "label": label, **scores}
        for row in rows
        for label, scores in row.get("labels", {}).items()
    ]
    labels.sort(key=lambda row: row["f1"])
    print(table(labels, ["set", "label"], "bounded"))


def words_of(names: str) -> Dict[str, str]:
    """Other words for labels, as they are given.
    RAISES (DataError): If one is not LABEL=WORDS."""
    words: Dict[str, str] = {}
    for name in filter(None, names.split(",")):
        label, _, asked = map(str.strip, name.partition("="))
        if not (label and asked):
            raise DataError(f"--names has {name!r}: write LABEL=WORDS,LABEL=WORDS")
        words[label] = asked
    return words


def read_sets(path: Path) -> Dict[str, List[Row]]:
    """The lines of each set.
    RAISES (DataError): If a line is no line of a set."""
    sets: Dict[str, List[Row]] = defaultdict(list)
    for number, entry in read_objects(path, form=FORM):
        for name in ("text", "spans", "lang", "labels", "set", "group"):
            if not entry.get(name) and (name != "spans" or name not in entry):
                problem = f"has no {name!r}: a line is {FORM}"
                raise DataError(problem, path=path, line=number)
        sets[entry["set"]].append(entry)
    return sets


def measure(sets: Dict[str, List[Row]], model: Row, words: Dict[str, str]) -> List[Row]:
    """A row of each set, of each group and of all. model: Settings of the model. words:
    What is asked for in place of a label; sets that have none of these labels begin
    with their labels as they are."""
    rows: List[Row] = []
    groups: Dict[str, Counts] = defaultdict(Counts)
    for name, entries in sets.items():
        first, counts = entries[0], Counts()
        # The tokenizers of some languages want other packages.
        of_language = first["group"] == OF_LANGUAGES
        nlp = spacy.blank("xx" if of_language else first["lang"])
        labels = first["labels"]
        if not words.keys().isdisjoint(labels):
            labels = {label: words.get(label, label) for label in labels}
        nlp.add_pipe("entlm_ner", config={"labels": labels, "model": model})
        make_doc = partial(letters, nlp) if of_language else nlp.make_doc
        gold = [marked(make_doc(entry["text"]), entry) for entry in entries]
        found = nlp.pipe(unannotated(doc) for doc in gold)
        for pair in zip(found, gold):
            counts.add(*pair)
            groups[first["group"]].add(*pair)
            if not of_language:
                groups["all"].add(*pair)
        row = {"group": first["group"], "set": name, "lang": first["lang"]}
        rows.append(row | counts.row() | {"labels": counts.by_label()})
    everything = groups.pop("all")
    rows += [{"group": group, **counts.row()} for group, counts in groups.items()]
    return [*rows, {"group": "all", **everything.row()}]


def letters(nlp: Language, text: str) -> Doc:
    """A text split into words, and where blanks are not between words into letters."""
    words, spaces, end = [], [], 0
    for word in WORD.finditer(text):
        if words:
            spaces.append(word.start() > end)
        words.append(word[0])
        end = word.end()
    return Doc(nlp.vocab, words, [*spaces, False])


def marked(doc: Doc, entry: Row) -> Doc:
    """A Doc with the marks of its line.
    RAISES (DataError): If one cuts a word."""
    ents = []
    for span in entry["spans"]:
        (label,) = span["kinds"]
        ent = doc.char_span(span["start"], span["end"], label=label)
        if ent is None:
            name = doc.text[span["start"] : span["end"]]
            raise DataError(f"{name!r} in {doc.text!r} cuts a word: move its ends")
        ents.append(ent)
    doc.ents = ents
    return doc


def table(rows: Iterable[Row], names: List[str], other: str = "untyped") -> str:
    """Rows as Markdown, with one decimal."""
    shown = ["p", "r", "f1", other]
    lines = [f"| {' | '.join([*names, *shown, 'names'])} |"]
    lines.append("|" + " --- |" * len(names) + " ---: |" * (len(shown) + 1))
    for row in rows:
        figures = ["" if row[key] is None else f"{row[key]:.1f}" for key in shown]
        cells = [*(row[name] for name in names), *figures, str(row["names"])]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _percent(score: PRFScore) -> Row:
    figures = {"p": score.precision, "r": score.recall, "f1": score.fscore}
    return {name: _round(value) for name, value in figures.items()}


def _round(share: float) -> float:
    return round(100 * share, 2)


if __name__ == "__main__":
    typer.run(main)
