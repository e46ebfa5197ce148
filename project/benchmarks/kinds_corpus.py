"""Check the corpus of kinds, and count what it holds.

    python project/benchmarks/kinds_corpus.py
    python project/benchmarks/kinds_corpus.py --write

Each problem is a line, and any ends it with exit code 1. The counts are printed;
--write puts them into the README of the corpus. The development part, dev.jsonl.xz, is
checked and counted, too, where there is one.
"""

import re
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Pattern, Sequence, Tuple

import pandas as pd
import typer

from spacy_entlm.files.errors import DataError
from spacy_entlm.files.file import write_file
from spacy_entlm.files.json_lines import read_objects
from spacy_entlm.teaching.kinds import read_label_sets, read_wordings
from spacy_entlm.teaching.lines import FORM, clean_kind

FOLDER = Path(__file__).resolve().parents[1] / "assets" / "kinds"
FIELDS = ["id", "lang", "text", "spans", "labels", "source", "licence", "field"]
# Of a line of the development part, which is in a set of a group.
DEV_FIELDS = [*FIELDS, "set", "group"]
# The group of sets that measure languages, and not kinds of names.
OF_LANGUAGES = "languages of Asia and Africa"
WRITTEN, FREE = "written", "CC0-1.0"
LICENCES = {
    *(FREE, "CC-BY-2.0-FR", "CC-BY-2.5", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0"),
    *("MIT", "public domain"),
}
LANGUAGE = re.compile(r"[a-z]{2}")
# Signs that nobody sees.
INVISIBLE = re.compile("[\x00-\x1f\xad\u200b\ufeff]")
EMAIL = re.compile(r"[\w.+-]+@([\w-]+(?:\.[\w-]+)*\.[a-z]{2,})\b")
# Domains that nobody can have.
RESERVED = re.compile(r"(^|\.)example(\.\w+)?$|\.test$|\.service$")
BANK_ACCOUNT = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){3,7}(?: ?[A-Z\d]{1,3})?\b")
BRAZILIAN_TAX_NUMBER = re.compile(r"\b\d{3}\.\d{3}\.\d{3}-\d{2}\b")
COUNTS = re.compile(r"(?<=<!-- counts -->\n).*?(?=<!-- end of counts -->)", re.DOTALL)
SETS = re.compile(r"(?<=<!-- sets -->\n).*?(?=<!-- end of sets -->)", re.DOTALL)


def main(folder: Path = FOLDER, write: bool = False) -> None:
    """Check a folder with lines.jsonl.xz and what belongs to it."""
    entries = [entry for _, entry in read_objects(folder / "lines.jsonl.xz", form=FORM)]
    found = [*problems_of_all(entries), *problems_beside(folder, entries)]
    parts = [(COUNTS, counts(entries))]
    if (folder / "dev.jsonl.xz").exists():
        path = folder / "dev.jsonl.xz"
        dev = [entry for _, entry in read_objects(path, form=FORM)]
        found += problems_of_dev(dev, entries)
        parts.append((SETS, counts_of_sets(dev)))
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf8")
    if write:
        with write_file(readme) as new:
            new.write_text(with_counts(text, parts), encoding="utf8")
    elif any(place.findall(text) != [counted] for place, counted in parts):
        found.append("README.md: the counts are others: use --write")
    print("\n".join(counted for _, counted in parts))
    for problem in found:
        print(problem)
    if found:
        raise typer.Exit(1)


def with_counts(text: str, parts: Iterable[Tuple[Pattern[str], str]]) -> str:
    """A README with counts in their places."""
    for place, counted in parts:
        text = place.sub(lambda _, counted=counted: counted, text)  # type: ignore[misc]
    return text


def problems_of_all(entries: List[Dict[str, Any]]) -> Iterator[str]:
    """What is wrong with lines, and between them."""
    for entry in entries:
        yield from (f"{entry.get('id')}: {problem}" for problem in problems(entry))
    yield from _twice(entries)


def _twice(entries: Iterable[Dict[str, Any]]) -> Iterator[str]:
    seen: Dict[str, set] = {"id": set(), "text": set()}
    for entry in entries:
        for name, values in seen.items():
            if entry.get(name) in values:
                yield f"{entry.get('id')}: the {name} comes twice"
            values.add(entry.get(name))


def problems_of_dev(
    dev: List[Dict[str, Any]], entries: Iterable[Dict[str, Any]]
) -> Iterator[str]:
    """What is wrong with lines of the development part, and between them. Nothing
    learns from them. entries (Iterable[Dict[str, Any]]): The lines to learn from, which
    have none of their texts and, but where languages are measured, none of their lists
    of labels."""
    texts, lists = set(), set()
    for entry in entries:
        texts.add(entry["text"])
        lists.add(frozenset(entry["labels"] or ()))
    sets: Dict[str, Any] = {}
    yield from _twice(dev)
    for entry in dev:
        name = entry.get("id")
        yield from (f"{name}: {problem}" for problem in problems(entry, DEV_FIELDS))
        if entry.get("text") in texts:
            yield f"{name}: a line to learn from has this text"
        some = entry.get("set")
        one = [entry.get(field) for field in ("lang", "labels", "group")]
        if not (some and all(one)) or sets.setdefault(some, one) != one:
            yield f"{name}: language, labels and group of its set are others"
    for some, (_, labels, group) in sets.items():
        if group != OF_LANGUAGES and frozenset(map(clean_kind, labels or ())) in lists:
            yield f"{some}: lines to learn from have these labels"


def problems(
    entry: Dict[str, Any], fields: Sequence[str] = tuple(FIELDS)
) -> Iterator[str]:
    """What is wrong with a line. fields (Sequence[str]): Those that it has to have; in
    the development part labels are written as data sets write them."""
    if list(entry) != list(fields):
        yield f"has the fields {list(entry)}"
        return
    are_kinds = _are_kinds if list(fields) == FIELDS else _are_labels
    text, labels = entry["text"], entry["labels"]
    if not text or text != text.strip() or INVISIBLE.search(text):
        yield "the text is empty, or has blanks at an end or invisible signs"
    if not LANGUAGE.fullmatch(entry["lang"]):
        yield f"the language is {entry['lang']!r}"
    if not entry["source"] or entry["licence"] not in LICENCES:
        yield f"the source is {entry['source']!r}, the licence {entry['licence']!r}"
    if (entry["source"] == WRITTEN) and entry["licence"] != FREE:
        yield "was written for this corpus and is not free"
    if labels is not None and not are_kinds(labels):
        yield f"the labels are {labels}"
    end = 0
    for span in entry["spans"]:
        name, kinds = text[span["start"] : span["end"]], span["kinds"]
        if not end <= span["start"] < span["end"] <= len(text):
            yield f"a mark is from {span['start']} to {span['end']}"
        if not name or name != name.strip():
            yield f"the mark {name!r} is empty or has blanks at an end"
        if not are_kinds(kinds):
            yield f"the kinds of {name!r} are {kinds}"
        if labels is not None and (len(kinds) != 1 or kinds[0] not in labels):
            yield f"{kinds} of {name!r} is none of the labels"
        end = span["end"]
    yield from personal(text)


def personal(text: str) -> Iterator[str]:
    """What may lead to a person: addresses and numbers that could be somebody's."""
    for found in EMAIL.finditer(text):
        if not RESERVED.search(found[1]):
            yield f"{found[0]} may be somebody's address"
    for found in BANK_ACCOUNT.finditer(text):
        if is_bank_account(found[0]):
            yield f"{found[0]} may be somebody's account"
    for found in BRAZILIAN_TAX_NUMBER.finditer(text):
        yield f"{found[0]} may be somebody's number"


def is_bank_account(text: str) -> bool:
    """Whether the check digits of an IBAN are right (ISO 13616)."""
    signs = text.replace(" ", "")
    turned = signs[4:] + signs[:4]
    return int("".join(str(int(sign, 36)) for sign in turned)) % 97 == 1


def _are_kinds(kinds: Any) -> bool:
    """Whether these are kinds in the form in which they are learned, each once."""
    return (
        isinstance(kinds, list)
        and len(kinds) == len(set(kinds)) > 0
        and all(kind and kind == clean_kind(kind) for kind in kinds)
    )


def _are_labels(labels: Any) -> bool:
    """Whether these are names of classes in any writing, which are read as different
    kinds."""
    return (
        isinstance(labels, list)
        and all(label and label == label.strip() for label in labels)
        and _are_kinds([clean_kind(label) for label in labels])
    )


def problems_beside(folder: Path, entries: List[Dict[str, Any]]) -> Iterator[str]:
    """What is wrong with the files beside the lines: they name kinds of the lines."""
    kinds = {kind for entry in entries for kind in entry["labels"] or ()}
    kinds |= {k for entry in entries for span in entry["spans"] for k in span["kinds"]}
    try:
        sets = read_label_sets(folder / "label_sets.json", folder / "types.tsv")
        wordings = read_wordings(folder / "wordings.tsv")
    except DataError as error:
        yield str(error)
        return
    labels = {label for one in sets for label in one.kinds}
    for one in sets:
        for label, some in one.kinds.items():
            if kinds.isdisjoint(some):
                yield f"label_sets.json: no line has a kind of {label}"
    lines = (folder / "types.tsv").read_text(encoding="utf8").splitlines()
    for kind in {line.partition("\t")[0] for line in lines} - kinds:
        yield f"types.tsv: no line has the kind {kind}"
    for kind in {kind for _, kind in wordings} - kinds - labels:
        yield f"wordings.tsv: no line has the kind {kind}"


def counts(entries: List[Dict[str, Any]]) -> str:
    """The counts, as Markdown."""
    frame = pd.DataFrame(entries)
    frame["real"] = frame["source"] != WRITTEN
    frame["fixed"] = frame["labels"].notna()
    frame["marks"] = frame["spans"].map(len)
    frame["words"] = frame["text"].str.split().map(len)
    marked = [span["kinds"] for spans in frame["spans"] for span in spans]
    free = frame.loc[~frame["fixed"], "spans"]
    kinds = pd.Series([k for spans in free for span in spans for k in span["kinds"]])
    often = kinds.value_counts(sort=True)
    sets = {(e["lang"], *e["labels"]) for e in entries if e["labels"] is not None}
    rows = {
        "lines": len(frame),
        "lines of real text": frame["real"].sum(),
        "lines written for this corpus": (~frame["real"]).sum(),
        "lines with free kinds": (~frame["fixed"]).sum(),
        "lines with fixed labels": frame["fixed"].sum(),
        "lists of such labels": len(sets),
        "lines without a mark": (frame["marks"] == 0).sum(),
        "words": frame["words"].sum(),
        "marks": len(marked),
        "different kinds, of the lines with free kinds": len(often),
        "of them in one line only": (often == 1).sum(),
        "different labels": len({label for _, *some in sets for label in some}),
        "languages": frame["lang"].nunique(),
    }
    parts = [_table(pd.DataFrame({"what": rows.keys(), "count": rows.values()}))]
    by_language = _sums(frame, ["lang"]).rename(columns={"lang": "language"})
    parts.append(
        _table(by_language.sort_values(["lines", "language"], ascending=False))
    )
    by_source = frame.groupby(["source", "licence"], as_index=False).agg(
        languages=("lang", lambda x: " ".join(sorted(set(x)))), lines=("lang", "size")
    )
    by_source.loc[by_source["source"] == WRITTEN, "languages"] = "all"
    ordered = by_source.sort_values(["lines", "source"], ascending=[False, True])
    parts.append(_table(ordered))
    return "\n\n".join(parts) + "\n"


def counts_of_sets(dev: List[Dict[str, Any]]) -> str:
    """The sets of the development part with their counts, as Markdown."""
    frame = pd.DataFrame(dev)
    frame["marks"] = frame["spans"].map(len)
    frame["bare"] = frame["marks"] == 0
    frame["words"] = frame["text"].str.split().map(len)
    frame["labels"] = frame["labels"].map(", ".join)
    sets = frame.groupby(["group", "set", "lang", "labels"], as_index=False, sort=False)
    table = sets.agg(
        lines=("text", "size"),
        bare=("bare", "sum"),
        words=("words", "sum"),
        marks=("marks", "sum"),
    )
    sums = table[["lines", "bare", "words", "marks"]].sum()
    table.loc[len(table)] = {
        "group": "all",
        "set": "",
        "lang": "",
        "labels": "",
        **sums,
    }
    return _table(table.rename(columns={"bare": "without a mark"})) + "\n"


def _sums(frame: pd.DataFrame, by: List[str]) -> pd.DataFrame:
    return frame.groupby(by, as_index=False).agg(
        lines=("text", "size"),
        real=("real", "sum"),
        fixed=("fixed", "sum"),
        words=("words", "sum"),
        marks=("marks", "sum"),
    )


def _table(frame: pd.DataFrame) -> str:
    numbers = [pd.api.types.is_numeric_dtype(frame[name]) for name in frame]
    head = [f"| {' | '.join(frame)} |"]
    head.append(f"| {' | '.join('---:' if x else '---' for x in numbers)} |")
    rows = (
        " | ".join(
            f"{x:,}" if is_number else str(x) for x, is_number in zip(row, numbers)
        )
        for row in frame.itertuples(index=False)
    )
    return "\n".join([*head, *(f"| {row} |" for row in rows)])


if __name__ == "__main__":
    typer.run(main)
