"""A lexicon of film queries: lists of titles, directors, genres and actors, and what
can be written down by rule (years, ratings, stars)."""

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Iterable, Iterator, List, Set

from spacy.lang.en.stop_words import STOP_WORDS

from spacy_entlm.files.text import read_lines
from spacy_entlm.lexicon.entries import Entry, clean_name, merge_entries
from spacy_entlm.lexicon.readers import read_lexicon

# A title may be any word: what is also a genre, a year or a person is that.
RULE_WEIGHT, GENRE_WEIGHT, PERSON_WEIGHT, TITLE_WEIGHT = 4.0, 3.0, 2.0, 1.0
# Lists of the general lexicon that hold people who act.
ACTOR_SOURCES = ("britishActors", "celebrities")
FIRST_YEAR, LAST_YEAR = 1900, 2020
NUMBERS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
RATINGS = ["g", "pg", "pg-13", "pg13", "r", "nc-17", "nc17", "x", "unrated"]
# A title made of words that more than this share of the queries have ("Show Me",
# "Film") would mark what people ask with.
COMMON_SHARE = 0.01


def movie_lexicon(gazetteers: Path, queries: Iterable[List[str]]) -> List[Entry]:
    """The lexicon, in lower case.

    gazetteers (Path): With lexicon.tsv.xz and movie/{titles.list.xz, directors.list.xz,
        genres.list}.
    queries (Iterable[List[str]]): Words of the text that is to be annotated: titles of
        nothing but common words are left out.
    """
    movie = gazetteers / "movie"
    people, _ = read_lexicon(gazetteers / "lexicon.tsv.xz", label_map={"PERSON": "PER"})
    parts = [
        [Entry(name, "YEAR", RULE_WEIGHT, "rule") for name in year_names()],
        [Entry(name, "RATING", RULE_WEIGHT, "rule") for name in rating_names()],
        [Entry(name, "RATINGS_AVERAGE", RULE_WEIGHT, "rule") for name in star_names()],
        list(_entries(_lines(movie / "genres.list"), "GENRE", GENRE_WEIGHT)),
        list(_entries(_directors(movie), "DIRECTOR", PERSON_WEIGHT)),
        list(_entries(_actors(people), "ACTOR", PERSON_WEIGHT)),
        list(_entries(_titles(movie, _common(queries)), "TITLE", TITLE_WEIGHT)),
    ]
    return merge_entries(parts)[0]


def year_names() -> Iterator[str]:
    """Years, decades, and phrases for those that have passed."""
    for year in range(FIRST_YEAR, LAST_YEAR + 1):
        yield str(year)
        if year % 10 == 0:
            yield from (f"{year}s", f"{year} s", f"{year % 100:02}s")
    for unit in ("year", "decade"):
        yield from (f"{which} {unit}" for which in ("this", "last", "past"))
        for which, number in product(("last", "past"), NUMBERS):
            yield f"{which} {number} {unit}s"


def rating_names() -> Iterator[str]:
    """Ratings for parents; the queries have no hyphens."""
    return (rating.replace("-", " ") for rating in RATINGS)


def star_names() -> Iterator[str]:
    """Stars, and other ways to say how well a film is liked."""
    for number in ["one", *NUMBERS, *map(str, range(1, 11))]:
        unit = "star" if number in ("one", "1") else "stars"
        yield from (f"{number} {unit}", f"{number} {unit} and above")
    yield from ("two thumbs up", "one thumb up", "average ratings")
    for adverb in ("very", "really", "highly", "well"):
        yield from (f"{adverb} {word}" for word in ("rated", "liked", "recommended"))
    for quality in ("good", "excellent", "high", "low", "bad"):
        yield f"{quality} ratings"


def _entries(names: Iterable[str], label: str, weight: float) -> Iterator[Entry]:
    for name in names:
        cleaned, problem = clean_name(name.lower())
        if problem is None and len(cleaned) > 1:
            yield Entry(cleaned, label, weight, "list")


def _lines(path: Path) -> Iterator[str]:
    return (line for _, line in read_lines(path))


def _directors(movie: Path) -> Iterator[str]:
    for line in _lines(movie / "directors.list.xz"):
        yield from line.split(", ")


def _actors(people: Iterable[Entry]) -> Iterator[str]:
    for entry in people:
        if any(source in entry.source for source in ACTOR_SOURCES):
            yield entry.name


def _common(queries: Iterable[List[str]]) -> Set[str]:
    counts: Counter[str] = Counter()
    n_queries = 0
    for words in queries:
        counts.update(set(words))
        n_queries += 1
    often = {word for word, n in counts.items() if n > COMMON_SHARE * n_queries}
    return often | STOP_WORDS


def _titles(movie: Path, common: Set[str]) -> Iterator[str]:
    for title in _lines(movie / "titles.list.xz"):
        if not common.issuperset(title.split()):
            yield title
