"""Words per second and peak memory of finding a lexicon's names, side by side.

    python project/benchmarks/matching.py LEXICON.tsv.xz TEXT.txt.xz --words 1000000

Methods, each in a process of its own on one core, over the same words:
    lists          LexiconMatcher over lists of words
    docs           LexiconMatcher over spaCy Docs; making the Docs is counted apart
    phrasematcher  spaCy's PhraseMatcher over such Docs, then the longest matches
    ahocorasick_rs, pyahocorasick  these libraries over the characters of the words,
                   then the longest matches, and no more (the second if installed)
Time is the median of --repeats; that it is linear shows in the words per second over
a quarter, half and all of the text. A word is what stands between blanks.
"""

import json
import multiprocessing
import os
import platform
import re
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

import spacy
import typer
from ahocorasick_rs import BytesAhoCorasick
from spacy.matcher import PhraseMatcher
from spacy.tokens import Doc

from spacy_entlm.files.text import read_lines
from spacy_entlm.lexicon.entries import Entry
from spacy_entlm.lexicon.match import EXACT, LexiconMatcher, encode
from spacy_entlm.lexicon.readers import read_lexicon

METHODS = ("lists", "docs", "phrasematcher", "ahocorasick_rs", "pyahocorasick")
_SHARES = (0.25, 0.5, 1.0)
_MIB = 2**20
_WORD = re.compile(r"\w+|[^\w\s]")

# A method gives a function from a sentence to its number of matches.
Matcher = Callable[[Any], int]
Sentences = List[List[str]]


def main(
    lexicon: Path,
    text: Path,
    words: int = typer.Option(1_000_000, help="Words of the text to take"),
    methods: str = typer.Option(",".join(METHODS), help="Which to compare"),
    repeats: int = typer.Option(3, help="Passes over the text"),
    case: str = typer.Option(EXACT, help="Case rule of LexiconMatcher"),
    out: Optional[Path] = typer.Option(None, help="JSON file for the figures"),
) -> None:
    """Measure, print, and write the figures."""
    results = []
    context = multiprocessing.get_context("spawn")
    for method in methods.split(","):
        if method == "pyahocorasick" and not _has_pyahocorasick():
            print("pyahocorasick is not installed: left out")
            continue
        with context.Pool(1) as pool:
            job = (method, lexicon, text, words, repeats, case)
            results.append(pool.apply(measure, job))
        print(json.dumps(results[-1]), file=sys.stderr)
    machine = f"{_processor()}, {platform.system()}, Python {platform.python_version()}"
    print(f"One core of {machine}; case rule {case}")
    for result in results:
        print(render(result, results[0]))
    if out is not None:
        figures = {"machine": machine, "case": case, "results": results}
        out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def measure(
    method: str, lexicon: Path, text: Path, words: int, repeats: int, case: str
) -> Dict[str, Any]:
    """Measure one method; runs in a process of its own."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    start_mib = peak_mib()
    entries, _ = read_lexicon(lexicon)
    sentences, n_words = read_sentences(text, words)
    began = time.perf_counter()
    match = BUILDERS[method](entries, case)
    build_seconds = time.perf_counter() - began
    built_mib = peak_mib()
    began = time.perf_counter()
    inputs: Sequence[Any] = sentences
    if method in ("docs", "phrasematcher"):
        vocab = spacy.blank("en").vocab if method == "docs" else match.__self__.vocab
        inputs = [Doc(vocab, words=sentence) for sentence in sentences]
    doc_seconds = time.perf_counter() - began
    speeds = {}
    n_found = 0
    for share in _SHARES:
        part = inputs[: int(share * len(inputs))]
        n_part = share * n_words
        seconds = []
        for _ in range(repeats):
            began = time.perf_counter()
            n_found = sum(map(match, part))
            seconds.append(time.perf_counter() - began)
        speeds[str(share)] = n_part / statistics.median(seconds)
    return {
        "method": method,
        "names": len({entry.name for entry in entries}),
        "words": n_words,
        "matches": n_found,
        "build_seconds": build_seconds,
        "doc_seconds": doc_seconds,
        "words_per_second": speeds,
        "mib_before": start_mib,
        "mib_built": built_mib,
        "mib_peak": peak_mib(),
    }


def read_sentences(path: Path, n_words: int) -> Tuple[Sentences, int]:
    """Read so many words; the lists hold punctuation marks too."""
    sentences: Sentences = []
    n_read = 0
    for _, line in read_lines(path):
        sentences.append(_WORD.findall(line))
        n_read += len(line.split())
        if n_read >= n_words:
            break
    return sentences, n_read


def build_ours(entries: List[Entry], case: str) -> Matcher:
    """LexiconMatcher, ambiguous names counted too, as the others know no labels."""
    matcher = LexiconMatcher(entries, case=case)

    def match(words: Any) -> int:
        found = matcher.match(words)
        return len(found.labelled) + len(found.ambiguous)

    return match


class PhraseSearch:
    """spaCy's PhraseMatcher over all names."""

    def __init__(self, names: Iterable[str]) -> None:
        self.vocab = spacy.blank("en").vocab
        self.matcher = PhraseMatcher(self.vocab)
        for name in names:
            words = _WORD.findall(name)
            if words:
                self.matcher.add("X", [Doc(self.vocab, words=words)])

    def match(self, doc: Doc) -> int:
        """Count the longest matches."""
        return count_longest((start, end) for _, start, end in self.matcher(doc))


def build_phrasematcher(entries: List[Entry], case: str) -> Matcher:
    """PhraseMatcher over the words of the names, exact case."""
    return PhraseSearch(dict.fromkeys(entry.name for entry in entries)).match


def build_pyahocorasick(entries: List[Entry], case: str) -> Matcher:
    """pyahocorasick over characters, words closed by a mark, exact case."""
    import ahocorasick

    automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
    for entry in entries:
        key = "\x1f" + encode(entry.name, fold=False).decode("utf-8")
        automaton.add_word(key, len(key))
    automaton.make_automaton()

    def match(words: List[str]) -> int:
        text = "\x1f" + "".join([word + "\x1f" for word in words])
        found = automaton.iter(text)
        return count_longest((end - size + 1, end) for end, size in found)

    return match


def build_ahocorasick_rs(entries: List[Entry], case: str) -> Matcher:
    """ahocorasick_rs over characters, words closed by a mark, exact case."""
    keys = dict.fromkeys(encode(entry.name, fold=False) for entry in entries)
    automaton = BytesAhoCorasick(b"\x1f" + key for key in keys)

    def match(words: List[str]) -> int:
        text = "\x1f" + "".join([word + "\x1f" for word in words])
        found = automaton.find_matches_as_indexes(text.encode(), overlapping=True)
        # A match takes the mark behind it, which stands in front of the next too.
        return count_longest((start, end - 1) for _, start, end in found)

    return match


def count_longest(matches: Iterable[Tuple[int, int]]) -> int:
    """Count the matches that are longest from left to right."""
    count = last = 0
    for start, end in sorted(matches, key=lambda m: (m[0], -m[1])):
        if start >= last:
            count += 1
            last = end
    return count


BUILDERS: Dict[str, Callable[[List[Entry], str], Matcher]] = {
    "lists": build_ours,
    "docs": build_ours,
    "phrasematcher": build_phrasematcher,
    "ahocorasick_rs": build_ahocorasick_rs,
    "pyahocorasick": build_pyahocorasick,
}


def render(result: Dict[str, Any], first: Dict[str, Any]) -> str:
    """Show the figures of a method, and its speed against that of the first."""
    speeds = result["words_per_second"]
    ratio = speeds["1.0"] / first["words_per_second"]["1.0"]
    parts = ", ".join(f"{speed:,.0f}" for speed in speeds.values())
    return (
        f"{result['method']:<14} {speeds['1.0']:>10,.0f} words/s ({ratio:.2f} of "
        f"{first['method']}; a quarter, half, all: {parts}); "
        f"{result['names']:,} names, {result['words']:,} words, "
        f"{result['matches']:,} matches; build {result['build_seconds']:.1f} s, Docs "
        f"{result['doc_seconds']:.1f} s; peak {result['mib_peak']:,.0f} MiB "
        f"({result['mib_before']:,.0f} before)"
    )


def peak_mib() -> float:
    """The most memory that this process has had (Linux counts KiB, macOS bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / _MIB if sys.platform == "darwin" else peak * 1024 / _MIB


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.search(r"model name\s*: (.*)", cpuinfo.read_text())
        if found:
            return found.group(1)
    return platform.processor() or platform.machine()


def _has_pyahocorasick() -> bool:
    try:
        import ahocorasick  # noqa: F401
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    typer.run(main)
