"""Batches of marked lines: which lines, what they are read for, and what is right."""

import itertools
from collections import Counter

import numpy
import pytest

from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.teaching.kinds import KindTable, LabelSet
from spacy_entlm.teaching.lines import Mark, MarkedLine, read_marked_lines
from spacy_entlm.teaching.sampler import ABSENT, DRAWN_BATCHES, Sampler

N_BATCHES = 60
SIZE = 5


@pytest.fixture(scope="module")
def masked_lm(bert):
    return load_masked_lm(bert)


@pytest.fixture
def marked_lines(lines):
    """Some of them: so few that no name takes the place of another."""
    return list(read_marked_lines([lines]))[:5]


@pytest.fixture
def make(masked_lm):
    """Makes a sampler of lines."""

    def make(lines, **settings):
        return Sampler(lines, KindTable.of(lines), masked_lm, **settings)

    return make


def asked_of(sampler, batch):
    """The names of the kinds of a batch."""
    tokenizer, special = sampler.tokenizer, {*itertools.chain(*sampler.around)}
    rows = [row for group in batch.names for row in group.tolist()]
    left_out = {sampler.pad, *special}
    return [tokenizer.decode([i for i in row if i not in left_out]) for row in rows]


def text_of(sampler, ids):
    """The text of a line, as the tokenizer reads it."""
    inner = [
        i for i in ids if i not in {sampler.pad, *itertools.chain(*sampler.around)}
    ]
    return " ".join(sampler.tokenizer.id_to_token(i) for i in inner)


def found_in(sampler, batch):
    """For each line: its text, and of each of its words that count the piece, and the
    kind that is right, or None."""
    asked = asked_of(sampler, batch)
    found = [(text_of(sampler, ids), []) for ids in batch.ids.tolist()]
    pieces = batch.ids.ravel()[batch.positions]
    for piece, line, target in zip(pieces, batch.lines, batch.targets):
        kind = None if target == ABSENT else asked[target]
        found[line][1].append((sampler.tokenizer.decode([int(piece)]), kind))
    return found


def same(one, other):
    flat = [(*batch[:7], *batch.names, batch.allowed) for batch in (one, other)]
    return all(map(numpy.array_equal, *flat))


def test_a_number_gives_the_same_whatever_came_before(make, marked_lines):
    """A run that goes on reads what it would have read."""
    sampler, other = make(marked_lines), make(marked_lines)
    batches = [sampler.batch(number, SIZE) for number in range(20)]
    for number in (13, 2, 19, 2):
        assert same(other.batch(number, SIZE), batches[number])
    assert not same(batches[0], batches[1])


def test_another_seed_gives_another_order(make, marked_lines):
    one, other = (make(marked_lines, seed=seed).batch(0, SIZE) for seed in (0, 1))
    assert not same(one, other)


def test_each_line_comes_once_in_each_pass(make, marked_lines):
    sampler, n_lines = make(marked_lines), len(marked_lines)
    for group in range(3):
        numbers = range(group * DRAWN_BATCHES, (group + 1) * DRAWN_BATCHES)
        came = Counter(
            text_of(sampler, ids)
            for number in numbers
            for ids in sampler.batch(number, SIZE).ids.tolist()
        )
        assert len(came) == n_lines
        assert set(came.values()) == {DRAWN_BATCHES * SIZE // n_lines}


def test_there_may_be_more_in_a_batch_than_there_are_lines(make, marked_lines):
    batch = make(marked_lines[:2]).batch(0, 7)
    assert len(batch.ids) == 7


def test_words_stand_for_themselves_or_for_a_kind_that_is_asked_for(
    make, marked_lines, annotated
):
    sampler = make(marked_lines)
    kinds = {line.text.lower(): line for line in marked_lines}
    seen = set()
    for number in range(N_BATCHES):
        batch = sampler.batch(number, SIZE)
        pieces = batch.ids.ravel()[batch.positions]
        assert numpy.array_equal(batch.vocabulary[batch.own], pieces)
        assert set(batch.own.tolist()) == set(range(batch.n_own))
        assert len(set(batch.vocabulary.tolist())) == len(batch.vocabulary)
        is_kind = batch.targets != ABSENT
        assert batch.allowed[batch.lines[is_kind], batch.targets[is_kind]].all()
        for text, words in found_in(sampler, batch):
            line = kinds[text]
            for word, kind in words:
                marks = [
                    mark.kinds
                    for mark in line.marks
                    if word in text[mark.start : mark.end].split()
                ]
                assert kind is None or kind in marks[0]
                seen.add((bool(marks), kind is None))
    # Words of no name, names with their kinds, and some whose kind is left out.
    assert seen == {(False, True), (True, False), (True, True)}


def test_both_fine_and_coarse_kinds_are_asked_for(make, marked_lines):
    sampler = make(marked_lines)
    targets = Counter(
        kind
        for number in range(N_BATCHES)
        for _, words in found_in(sampler, sampler.batch(number, SIZE))
        for _, kind in words
    )
    assert set(targets) - {None} == {
        *("writer", "person", "city", "location", "company", "group")
    }


def test_a_line_is_read_for_kinds_that_it_has_not(make, marked_lines):
    """But for none that its names may well have, too."""
    sampler = make(marked_lines)
    n_absent = 0
    for number in range(N_BATCHES):
        batch = sampler.batch(number, SIZE)
        asked = asked_of(sampler, batch)
        for row, (text, _) in zip(batch.allowed, found_in(sampler, batch)):
            (line,) = [x for x in marked_lines if x.text.lower() == text]
            own = {kind for mark in line.marks for kind in mark.kinds}
            others = {asked[i] for i in numpy.flatnonzero(row)} - own
            n_absent += len(others)
            near = sampler.kinds.near[[sampler.kinds.index[k] for k in own]]
            may_be = {sampler.kinds.names[i] for i in near.indices}
            assert not others & may_be
    assert n_absent > N_BATCHES


def fixed(text, *marks, labels):
    found = []
    for name, label in marks:
        start = text.index(name)
        found.append(Mark(start, start + len(name), (label,)))
    return MarkedLine(text, "en", tuple(found), labels)


def test_fixed_labels_of_a_line_are_what_it_is_read_for(make):
    """All of its marks count: those whose label is left out are of no kind."""
    labels = ("person", "city")
    lines = [
        fixed("Anna left Rome .", ("Anna", "person"), ("Rome", "city"), labels=labels),
        fixed("It rains .", labels=labels),
        fixed("the house is red .", ("house", "blue"), labels=("blue", "green")),
    ]
    sampler = make(lines)
    seen = set()
    for number in range(N_BATCHES):
        batch = sampler.batch(number, 3)
        asked = asked_of(sampler, batch)
        for row, (text, words) in zip(batch.allowed, found_in(sampler, batch)):
            if text == "anna left rome .":
                found = dict(words)
                assert len(words) == 4
                seen.add((found["anna"], found["rome"]))
                allowed = {asked[i] for i in numpy.flatnonzero(row)}
                own = {kind for kind in found.values() if kind}
                assert own <= allowed <= {*labels, "blue", "green"}
    both = ("person", "city")
    assert seen - {(None, None)} == {both, ("person", None), (None, "city")}


SET = LabelSet(
    kinds={
        "who": frozenset(["person", "writer"]),
        "where": frozenset(["city", "location"]),
    },
    named={"who": frozenset(["person"]), "where": frozenset()},
    of_names=frozenset(["who", "where"]),
    weight=1.0,
)


def test_labels_of_a_set_are_asked_for(make, marked_lines):
    sampler = make(marked_lines, label_sets=[SET])
    targets = Counter()
    for number in range(N_BATCHES):
        for _, words in found_in(sampler, sampler.batch(number, SIZE)):
            targets.update(words)
    assert {kind for word, kind in targets if word == "anna"} == {
        *("who", "writer", "person", None)
    }
    assert targets["paris", "where"] > 0
    # No label of the set stands for companies.
    assert {kind for word, kind in targets if word == "acme"} == {
        *("company", "group", None)
    }


def test_common_nouns_have_no_label_of_proper_names(make):
    lines = [
        MarkedLine(f"the {word} left", "en", (Mark(4, 4 + len(word), ("person",)),))
        for word in ("cat", "house", "river", "street")
    ]
    for of_names, expected in ((SET.of_names, set()), (frozenset(), {"who"})):
        one = LabelSet(SET.kinds, SET.named, of_names, 1.0)
        sampler = make(lines, label_sets=[one])
        found = {
            kind
            for number in range(N_BATCHES)
            for _, words in found_in(sampler, sampler.batch(number, 4))
            for _, kind in words
        }
        assert found - {None, "person"} == expected


def test_kinds_are_called_otherwise_in_their_language_too(make, marked_lines):
    wordings = {("en", "city"): ["house"], ("de", "person"): ["river"]}
    sampler = make(marked_lines, wordings=wordings)
    found = {
        (word, kind)
        for number in range(N_BATCHES)
        for _, words in found_in(sampler, sampler.batch(number, SIZE))
        for word, kind in words
    }
    assert {("paris", "house"), ("paris", "city")} <= found
    assert ("anna", "river") not in found  # none of these lines is German


def test_pieces_that_stand_for_the_rest_are_ordinary_ones(make, masked_lm, lines):
    sampler = make(list(read_marked_lines([lines])), n_sampled=40)
    special = set(masked_lm.tokenizer.all_special_ids)
    for number in range(20):
        batch = sampler.batch(number, SIZE)
        others = batch.vocabulary[batch.n_own :].tolist()
        assert 0 < len(others) <= 40
        assert not special & set(others)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_other_processes_change_nothing(make, marked_lines):
    one, other = make(marked_lines), make(marked_lines, workers=2)
    assert all(same(one.batch(i, SIZE), other.batch(i, SIZE)) for i in range(4))


def test_lines_that_the_backbone_cannot_read_at_once_are_left_out(make, marked_lines):
    """The tiny one takes 64 pieces with the special ones."""
    lines = [MarkedLine("red " * n, "", ()) for n in (62, 63)]
    sampler = make([*marked_lines, *lines])
    assert len(sampler.lines) == len(marked_lines) + 1
    assert max(sampler.batch(i, SIZE).ids.shape[1] for i in range(8)) == 64
