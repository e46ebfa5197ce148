"""Dates, times, amounts and other numbers of English text, by rules.

    python project/benchmarks/numbers_and_dates.py names.spacy both.spacy

What no list can hold: the classes are those of OntoNotes that are said with numbers
(DATE, TIME, MONEY, PERCENT, QUANTITY, ORDINAL, CARDINAL).
"""

import re
from collections import Counter
from pathlib import Path
from typing import Container, Iterator, List

import spacy
import typer
from spacy.tokens import Doc, DocBin, Span
from spacy.util import filter_spans

TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
ONES = "one|two|three|four|five|six|seven|eight|nine"
TEENS = (
    "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
)
RANKS = (
    "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
)
DIGITS = r"\d+(?:,\d{3})*(?:\.\d+)?"
NUMBER = (
    rf"(?:{DIGITS}|(?:{TENS})-(?:{ONES})|{TENS}|{TEENS}|{ONES}|an? (?:hundred|dozen))"
)
BIG = "(?: (?:hundred|thousand|million|billion|trillion))*"
MANY = rf"(?:{NUMBER}{BIG}(?:(?:-|–| to | or ){NUMBER}{BIG})?)"
YEAR = r"(?:1[3-9]|20)\d\d"
MONTH = (
    "(?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December|(?:Jan|Feb|Aug|Sept|Oct|Nov|Dec)\b\.?)"
)
DAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
OF_MONTH = r"\d{1,2}(?:st|nd|rd|th)?"
LONG = "(?:decade|year|month|week|day)s?"
SHORT = "(?:hour|minute|second)s?"
SEASON = "(?:spring|summer|autumn|fall|winter)"
PART = "(?:morning|afternoon|evening|night)"
HOUR = r"\d{1,2}(?:[:.]\d\d)? ?[ap]\.?m\b\.?|\d{1,2}:\d\d"
LENGTHS = (
    "kilomet(?:er|re)s?|met(?:er|re)s?|centimet(?:er|re)s?|feet|foot|inch(?:es)?|yards?"
    "|miles?|acres?|hectares?|[kcm]m"
)
WEIGHTS = "tons?|tonnes?|kilograms?|grams?|pounds?|ounces?|k?g|mg|lbs?|oz"
VOLUMES = "lit(?:er|re)s?|gallons?|barrels?|ml"
DEGREES = "degrees?(?: Celsius| Fahrenheit)?|°[CF]"
OTHER_UNITS = "mph|km/h|[kMGT]?[WBV]|[kMG]?Hz|watts?|bytes?"
UNIT = (
    f"(?:(?:square|cubic) )?(?:{LENGTHS}|{WEIGHTS}|{VOLUMES}|{DEGREES}|{OTHER_UNITS})"
)
CURRENCY = "dollars?|euros?|pounds sterling|yen|yuan|rupees?|rubles?|cents?|pence"
# The first that fits where a number begins counts.
RULES = {
    "MONEY": [
        rf"(?:US|AU?|CA?|NZ)?[$£€¥] ?{DIGITS}{BIG}(?:-{DIGITS}{BIG})?",
        rf"{MANY} (?:(?:U\.?S\.?|[A-Z][a-z]+) )?(?:{CURRENCY})",
    ],
    "PERCENT": [rf"{MANY} ?(?:%|percent\b|per cent\b|percentage points?)"],
    "TIME": [
        rf"(?:{HOUR})(?: (?:UTC|GMT|E[SD]?T|local time))?",
        rf"{MANY} {SHORT}(?: (?:ago|later))?",
        rf"(?:this|that|every|{DAY}) {PART}|midnight|noon|tonight",
    ],
    "DATE": [
        rf"(?:{DAY},? )?{MONTH} {OF_MONTH}(?:,? {YEAR})?",
        rf"(?:{DAY},? )?{OF_MONTH} (?:of )?{MONTH}(?:,? {YEAR})?",
        rf"{MONTH}(?: of|,)? {YEAR}",
        rf"(?:the )?(?:early|mid|late)?[ -]?{YEAR}s",
        rf"(?:the )?{SEASON} of {YEAR}",
        rf"{YEAR}(?:[-–]\d\d(?:\d\d)?)?|{YEAR}-\d\d-\d\d",
        rf"(?:the )?(?:\d+(?:st|nd|rd|th)|{RANKS}) century",
        rf"{DAY}|yesterday|today|tomorrow",
        rf"{MANY} {LONG}(?: (?:ago|later|earlier|old))?",
        rf"(?:{NUMBER}|{TENS})-(?:year|month|day)(?:-old)?",
        f"(?:last|next|this|that|earlier this|every) (?:{LONG}|{SEASON}|{DAY}|{MONTH})",
        rf"(?<=in ){MONTH}|(?<=since ){MONTH}|(?<=by ){MONTH}|(?<=until ){MONTH}",
    ],
    "QUANTITY": [rf"{MANY}[- ]?{UNIT}\b"],
    "ORDINAL": [rf"\d+(?:st|nd|rd|th)|{RANKS}"],
    "CARDINAL": [rf"{MANY}|(?:hundreds|thousands|millions|billions|dozens)(?= of)"],
}
# Not within words and other numbers.
BEFORE, AFTER = r"(?<![\w$£€¥.,:/-])", r"(?![\w%$]|[.,:/]\d|-\w)"
PATTERN = re.compile(
    "|".join(
        f"(?P<{label}>{BEFORE}(?:{'|'.join(rules)}){AFTER})"
        for label, rules in RULES.items()
    )
)


def main(names: Path, out: Path) -> None:
    """Add them to annotated texts, unless a longer entity is there.

    names (Path): Texts, .spacy. out (Path): File to write, .spacy.
    """
    docs = list(DocBin().from_disk(names).get_docs(spacy.blank("en").vocab))
    counts: Counter[str] = Counter()
    for doc in docs:
        add_numbers(doc)
        counts.update(ent.label_ for ent in doc.ents if ent.label_ in RULES)
    DocBin(docs=docs).to_disk(out)
    print(dict(counts))


def add_numbers(doc: Doc, labels: Container[str] = RULES) -> None:
    """Add those of some classes, unless a longer entity is there; numbers of other
    classes are left open."""
    numbers = (span for span in find_numbers(doc) if span.label_ in labels)
    kept = filter_spans([*doc.ents, *numbers])
    missing = [Span(doc, i, i + 1) for i in unclear_words(doc, kept)]
    doc.set_ents(kept, missing=missing, default="unmodified")


def find_numbers(doc: Doc) -> Iterator[Span]:
    """Those whose ends are ends of words, too."""
    for match in PATTERN.finditer(doc.text):
        span = doc.char_span(*match.span(), label=str(match.lastgroup))
        if span is not None:
            yield span


def unclear_words(doc: Doc, spans: List[Span]) -> Iterator[int]:
    """Words with digits that no rule found, and what is left of an entity of which a
    longer one took a part: they say nothing."""
    known = {token.i for span in spans for token in span}
    for token in doc:
        has_digit = any(map(str.isdigit, token.text))
        if token.i not in known and (has_digit or token.ent_type):
            yield token.i


if __name__ == "__main__":
    typer.run(main)
