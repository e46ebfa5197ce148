"""Batches of marked lines, each line with kinds of its own: some of those that its
names have, and others that it has none of."""

import random
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from scipy.sparse import csr_matrix

from ..backbones.masked_lm import MaskedLM
from .encoding import LOWER, MAX_PIECES, PLAIN, SWAPPED, UPPER, EncodedLine, LineEncoder
from .kinds import KindTable, LabelSet, Wordings
from .lines import MarkedLine

# How often a line is read in each form, if it has that.
FORMS = ((LOWER, 0.15), (UPPER, 0.03), (SWAPPED, 0.22))
# How often a mark's kind is left out, and how often the coarsest one is taken.
LEFT_OUT, COARSE = 0.25, 0.35
# How often labels of a set are asked for, and how often one of them is left out.
FROM_SET, LABEL_LEFT_OUT = 0.4, 0.15
# How often a kind is called otherwise: in other words, in the line's language, or in
# the plural.
OTHER_WORDS, OTHER_LANGUAGE, PLURAL = 0.25, 0.35, 0.1
# Kinds that a line has not: most that it is read for, and how many are drawn for each
# batch, beside those of its other lines.
MAX_ABSENT, DRAWN = 24, 64
# Batches that are drawn at once, so that lines of like length are read together.
DRAWN_BATCHES = 8
# Pieces of a kind's name that are read.
MAX_NAME_PIECES = 20
# Of a short name, special ones counted.
SHORT_NAME_PIECES = 8
ABSENT = -1


class KindBatch(NamedTuple):
    """What a step of the training reads; arrays on the host.

    ids: int64 (n_lines, longest), lines with special pieces, padded.
    positions: int64 (n), words that carry a loss: rows of the flattened lines.
    lines: int64 (n), theirs. targets: int64 (n), a row of `names`, or ABSENT.
    own: int64 (n), a row of `vocabulary`: the word's own piece.
    vocabulary: int64 (n_rows), pieces that compete; the first `n_own` are those of the
        words, the others stand for all that are not among these.
    names: int64 (n, longest) each, names of kinds with special pieces, padded: short
        ones, and the others, which are few.
    allowed: bool (n_lines, n_names), the kinds that a line is read for.
    """

    ids: np.ndarray
    positions: np.ndarray
    lines: np.ndarray
    targets: np.ndarray
    own: np.ndarray
    vocabulary: np.ndarray
    n_own: int
    names: Tuple[np.ndarray, ...]
    allowed: np.ndarray


@dataclass
class Asked:
    """One kind that a line is read for. name: As it is called. kinds: Numbers of the
    kinds that fall under it."""

    name: str
    kinds: frozenset


@dataclass
class _Line:
    """What the sampler keeps of a line: its forms, the kinds of each mark, those of its
    labels, whether each mark is a proper name, and its language."""

    forms: Dict[str, EncodedLine]
    marks: List[Tuple[int, ...]]
    labels: Tuple[int, ...]
    are_names: List[bool]
    lang: str


class Sampler:
    """Draws batches; what a number gives depends on the seed alone.

    lines: Marked lines. kinds (KindTable): Of these, or of a larger corpus.
    masked_lm (MaskedLM): Whose pieces are read.
    label_sets, wordings: Other ways to ask; they may be empty.
    n_sampled (int): How many pieces stand for the rest of the vocabulary.
    workers (int): Processes that make pieces of the lines; 0: this one.
    """

    def __init__(
        self,
        lines: Sequence[MarkedLine],
        kinds: KindTable,
        masked_lm: MaskedLM,
        *,
        label_sets: Sequence[LabelSet] = (),
        wordings: Optional[Wordings] = None,
        n_sampled: int = 4096,
        seed: int = 0,
        workers: int = 0,
    ):
        tokenizer = masked_lm.tokenizer
        self.kinds, self.tokenizer = kinds, tokenizer.backend_tokenizer
        self.around, self.pad = masked_lm.special_pieces(), tokenizer.pad_token_id
        self.ordinary = np.setdiff1d(
            np.arange(masked_lm.decoder.weight.shape[0]), tokenizer.all_special_ids
        )
        self.label_sets, self.wordings = list(label_sets), wordings or {}
        self.n_sampled, self.seed = n_sampled, seed
        most = masked_lm.max_pieces - sum(map(len, self.around))
        encoder = LineEncoder(self.tokenizer, lines, min(most, MAX_PIECES))
        forms = encoder.all_forms(lines, seed, workers)
        self.lines = [
            self._line(line, some) for line, some in zip(lines, forms) if PLAIN in some
        ]
        self._sets = [self._numbered(one) for one in self.label_sets]
        self._names: Dict[str, List[int]] = {}
        self._near: Dict[int, frozenset] = {}
        self._order: Tuple[int, np.ndarray] = (-1, np.zeros(0, "int64"))

    def batch(self, number: int, size: int) -> KindBatch:
        """Batch `number`, of `size` lines."""
        rng = random.Random(f"{self.seed} {number}")
        picked = [
            self._ask(self.lines[i], rng) for i in self._numbers(number, size).tolist()
        ]
        pool = self._pool(picked, rng)
        pool.sort(key=lambda asked: len(self._pieces(asked.name)) > SHORT_NAME_PIECES)
        index = {asked.name: i for i, asked in enumerate(pool)}
        allowed = self._absent(picked, pool, rng)
        longest = max(len(encoded.ids) for encoded, *_ in picked)
        before, after = self.around
        width = len(before) + longest + len(after)
        ids = np.full((size, width), self.pad, "int64")
        parts: Dict[str, List[np.ndarray]] = {x: [] for x in ("at", "in", "to", "own")}
        for row, (encoded, asked, chosen, unclear, _line) in enumerate(picked):
            pieces = [*before, *encoded.ids, *after]
            ids[row, : len(pieces)] = pieces
            for one in asked:
                allowed[row, index[one.name]] = True
            # The last entry is that of NO_MARK.
            to = [ABSENT if i is None else index[asked[i].name] for i in chosen]
            target = np.array([*to, ABSENT])[encoded.marks]
            clear = np.array([*(not x for x in unclear), True])[encoded.marks]
            positions = encoded.positions[clear].astype("int64")
            parts["own"].append(encoded.ids[positions])
            parts["at"].append(positions + row * width + len(before))
            parts["in"].append(np.full(len(positions), row))
            parts["to"].append(target[clear])
        at, lines, targets, own = map(np.concatenate, parts.values())
        vocabulary, n_own, own = self._vocabulary(own, rng)
        names = tuple(map(self._padded, _grouped([self._pieces(x.name) for x in pool])))
        return KindBatch(
            ids, at, lines, targets, own, vocabulary, n_own, names, allowed
        )

    def _line(self, line: MarkedLine, forms: Dict[str, EncodedLine]) -> _Line:
        index = self.kinds.index
        marks = [tuple(index[k] for k in m.kinds if k in index) for m in line.marks]
        names = []
        for mark, numbers in zip(line.marks, marks):
            usual = bool(numbers) and bool(self.kinds.of_names[numbers[0]])
            capital = any(x.isupper() for x in line.text[mark.start : mark.end])
            # A capital says little at the beginning, and nothing in German.
            tells = line.lang != "de" and mark.start > 0
            names.append(capital and (usual or tells))
        labels = tuple(index[label] for label in line.labels if label in index)
        return _Line(forms, marks, labels, names, line.lang)

    def _numbered(self, one: LabelSet) -> List[Tuple[Asked, frozenset]]:
        """The labels of a set, and the kinds that each names."""
        return [
            (Asked(label, self._numbers_of(some)), self._numbers_of(one.named[label]))
            for label, some in one.kinds.items()
        ]

    def _numbers_of(self, kinds: Iterable[str]) -> frozenset:
        index = self.kinds.index
        return frozenset(index[kind] for kind in kinds if kind in index)

    def _numbers(self, number: int, size: int) -> np.ndarray:
        """Which lines a batch has."""
        group, place = divmod(number, DRAWN_BATCHES)
        wanted = np.arange(
            group * DRAWN_BATCHES * size, (group + 1) * DRAWN_BATCHES * size
        )
        passes, places = np.divmod(wanted, len(self.lines))
        drawn = np.concatenate(
            [self._permutation(p)[places[passes == p]] for p in np.unique(passes)]
        )
        lengths = [len(self.lines[i].forms[PLAIN].ids) for i in drawn]
        drawn = drawn[np.argsort(lengths, kind="stable")].reshape(-1, size)
        order = np.random.default_rng([self.seed, 1, group]).permutation(DRAWN_BATCHES)
        return drawn[order[place]]

    def _permutation(self, number: int) -> np.ndarray:
        if self._order[0] != number:
            rng = np.random.default_rng([self.seed, 0, number])
            self._order = number, rng.permutation(len(self.lines))
        return self._order[1]

    def _ask(
        self, line: _Line, rng: random.Random
    ) -> Tuple[EncodedLine, List[Asked], List[Optional[int]], List[bool], _Line]:
        """A form of a line; the kinds that it is read for; of each mark which of them
        it has, if any, and whether that is unclear."""
        encoded = line.forms[PLAIN]
        at = rng.random()
        for form, share in FORMS:
            if at < share:
                encoded = line.forms.get(form, encoded)
                break
            at -= share
        if line.labels:
            asked, chosen = self._ask_labels(line, rng)
            return encoded, asked, chosen, [False] * len(chosen), line
        is_common = [False] * len(line.marks)
        if self._sets and rng.random() < FROM_SET:
            asked, chosen, is_common = self._ask_set(line, rng)
        else:
            asked, chosen = self._ask_freely(line, rng)
        wanted = frozenset(k for one in asked for k in one.kinds)
        # What is left out may be meant by a kind that is asked for.
        unclear = [
            choice is None
            and not common
            and any(not wanted.isdisjoint(self._near_to(k)) for k in kinds)
            for choice, kinds, common in zip(chosen, line.marks, is_common)
        ]
        return encoded, asked, chosen, unclear, line

    def _ask_labels(
        self, line: _Line, rng: random.Random
    ) -> Tuple[List[Asked], List[Optional[int]]]:
        kept = [x for x in line.labels if rng.random() >= LABEL_LEFT_OUT]
        asked = [self._called(number, line.lang, rng) for number in kept]
        index = {number: i for i, number in enumerate(kept)}
        return asked, [index.get(kinds[0]) for kinds in line.marks]

    def _ask_set(
        self, line: _Line, rng: random.Random
    ) -> Tuple[List[Asked], List[Optional[int]], List[bool]]:
        """And whether each mark is none of the set since it is no proper name."""
        at = rng.choices(
            range(len(self._sets)), [one.weight for one in self.label_sets]
        )[0]
        of_names = self.label_sets[at].of_names
        drawn = [x for x in self._sets[at] if rng.random() >= LABEL_LEFT_OUT]
        kept, named = [x for x, _ in drawn], [some for _, some in drawn]
        chosen: List[Optional[int]] = []
        is_common: List[bool] = []
        for kinds, is_name in zip(line.marks, line.are_names):
            by_name = (
                i for kind in kinds for i, some in enumerate(named) if kind in some
            )
            # The coarsest kind comes first: a church may be meant as a location.
            by_type = (
                i
                for kind in reversed(kinds)
                for i, one in enumerate(kept)
                if kind in one.kinds
            )
            found = next(by_name, next(by_type, None))
            common = found is not None and not is_name and kept[found].name in of_names
            chosen.append(None if common else found)
            is_common.append(common)
        asked = [
            Asked(self._other_name(one.name, line.lang, rng), one.kinds) for one in kept
        ]
        return asked, chosen, is_common

    def _ask_freely(
        self, line: _Line, rng: random.Random
    ) -> Tuple[List[Asked], List[Optional[int]]]:
        chosen: List[Optional[int]] = [None] * len(line.marks)
        wanted: List[int] = []
        is_coarse = rng.random() < COARSE
        order = list(range(len(line.marks)))
        rng.shuffle(order)
        for j in order:
            kinds = line.marks[j]
            if not kinds or not set(wanted).isdisjoint(kinds):
                continue
            if rng.random() >= LEFT_OUT:
                fine = kinds[:3] if rng.random() < 0.8 else kinds
                wanted.append(kinds[-1] if is_coarse else rng.choice(fine))
        for j, kinds in enumerate(line.marks):
            # The finest kind that is wanted.
            found = next((kind for kind in kinds if kind in wanted), None)
            chosen[j] = None if found is None else wanted.index(found)
        return [self._called(number, line.lang, rng) for number in wanted], chosen

    def _called(self, number: int, lang: str, rng: random.Random) -> Asked:
        name = self._other_name(self.kinds.names[number], lang, rng)
        return Asked(name, frozenset([number]))

    def _other_name(self, name: str, lang: str, rng: random.Random) -> str:
        at = rng.random()
        for other, share in (("en", OTHER_WORDS), (lang, OTHER_LANGUAGE)):
            if at < share and (other, name) in self.wordings:
                return rng.choice(self.wordings[other, name])
            at -= share
        return f"{name}s" if at > 1.0 - share - PLURAL and name[-1:] != "s" else name

    def _pool(self, picked: Sequence[Any], rng: random.Random) -> List[Asked]:
        """All kinds that a batch's lines may be read for."""
        pool: Dict[str, frozenset] = {}
        for _encoded, asked, *_ in picked:
            for one in asked:
                pool[one.name] = pool.get(one.name, frozenset()) | one.kinds
        numbers = np.random.default_rng(rng.getrandbits(64)).choice(
            len(self.kinds.names), DRAWN, p=self.kinds.weights
        )
        for number in numbers.tolist():
            pool.setdefault(self.kinds.names[number], frozenset([number]))
        return [Asked(name, kinds) for name, kinds in pool.items()]

    def _absent(
        self, picked: Sequence[Any], pool: Sequence[Asked], rng: random.Random
    ) -> np.ndarray:
        """bool (n_lines, n_names), kinds that each line has none of, some of these."""
        asked_kinds = _indicator([x.kinds for x in pool], len(self.kinds.names))
        here = _indicator(
            [
                {k for m in line.marks for k in m} | set(line.labels)
                for *_, line in picked
            ],
            len(self.kinds.names),
        )
        may_be = ((here @ self.kinds.near) @ asked_kinds.T).toarray()
        generator = np.random.default_rng(rng.getrandbits(64))
        order = generator.random(may_be.shape)
        order[may_be] = 2.0
        n_absent = generator.integers(0, MAX_ABSENT + 1, len(picked))
        rank = order.argsort(1).argsort(1)
        return (rank < n_absent[:, None]) & ~may_be

    def _near_to(self, kind: int) -> frozenset:
        if kind not in self._near:
            near = self.kinds.near
            some = near.indices[near.indptr[kind] : near.indptr[kind + 1]]
            self._near[kind] = frozenset(some.tolist())
        return self._near[kind]

    def _vocabulary(
        self, own: np.ndarray, rng: random.Random
    ) -> Tuple[np.ndarray, int, np.ndarray]:
        chosen, own = np.unique(own, return_inverse=True)
        generator = np.random.default_rng(rng.getrandbits(64))
        others = generator.choice(
            self.ordinary, min(self.n_sampled, len(self.ordinary))
        )
        others = np.setdiff1d(others, chosen)
        return np.concatenate([chosen, others]), len(chosen), own

    def _pieces(self, name: str) -> List[int]:
        """The pieces of a kind's name, with special ones."""
        if name not in self._names:
            before, after = self.around
            ids = self.tokenizer.encode(name, add_special_tokens=False).ids
            self._names[name] = [*before, *ids[:MAX_NAME_PIECES], *after]
        return self._names[name]

    def _padded(self, names: Sequence[List[int]]) -> np.ndarray:
        ids = np.full((len(names), max(map(len, names))), self.pad, "int64")
        for row, some in enumerate(names):
            ids[row, : len(some)] = some
        return ids


def _grouped(names: Sequence[List[int]]) -> List[Sequence[List[int]]]:
    """Short names, and then the others; no group is empty."""
    n_short = sum(len(name) <= SHORT_NAME_PIECES for name in names)
    return [group for group in (names[:n_short], names[n_short:]) if group]


def _indicator(rows: Sequence[Any], width: int) -> csr_matrix:
    """bool (n_rows, width), true at the numbers of each row."""
    indices = [number for row in rows for number in row]
    ends = np.cumsum([0, *map(len, rows)])
    return csr_matrix((np.ones(len(indices), bool), indices, ends), (len(rows), width))
