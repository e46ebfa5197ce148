"""A text's word pieces, and its lines that are kept for measuring."""

import hashlib
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Dict, Iterable, List

import numpy as np

from ..backbones.masked_lm import MaskedLM
from ..corpus.texts import TEXT_EXTENSIONS, check_text_files
from ..files.errors import DataError
from ..files.text import find_part

UNLABELED = "unlabeled"
# Lines that the tokenizer gets at once.
BATCH_LINES = 2000
# More text says no more of a model, and takes minutes to measure; counted in
# characters, so that models with other pieces are measured on the same text.
MAX_HELD_OUT_CHARS = 400_000
HELD_OUT_SALT = b"spacy-entlm held-out"
# So that the share is exact as a float.
HASH_BYTES = 6


def find_texts(paths: Iterable[Path]) -> List[Path]:
    """The files with text among paths, which may be data folders with `unlabeled.*`.
    RAISES (DataError): If a folder has no such file or several, or a file is missing or
    of an unknown form."""
    files = []
    for path in paths:
        is_folder = path.is_dir()
        found = find_part(path, UNLABELED, TEXT_EXTENSIONS) if is_folder else path
        if found is None:
            forms = ".txt, .jsonl (packed with .xz or .gz or not) or .spacy"
            problem = f"has no {UNLABELED}{forms}: add it, or name files with text"
            raise DataError(problem, path=path)
        files.append(found)
    if not files:
        raise DataError("Give at least one file with text")
    check_text_files(files)
    return files


def hash_share(text: str) -> float:
    """A number from 0 to below 1 that depends on the text and on nothing else: not on
    the order of lines, a seed, or the model. Lines below a share are held out."""
    data = text.encode("utf8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=HASH_BYTES, key=HELD_OUT_SALT).digest()
    return int.from_bytes(digest, "big") / 256**HASH_BYTES


@dataclass
class Pieces:
    """A text as a model reads it.

    train (ndarray): uint16 or int32, the training part, each line followed by the
        piece that ends a text. held_out (List[str]): Lines of the other part.
    sizes (Dict[str, int]): Lines and characters of both, unknown pieces, and lines of
        these alone, which are left out.
    """

    train: np.ndarray
    held_out: List[str]
    sizes: Dict[str, int]


def split_text(lines: Iterable[str], masked_lm: MaskedLM, *, held_out: float) -> Pieces:
    """Split a text into pieces.

    held_out (float): Share of the lines that is kept for measuring.
    RAISES (DataError): If there is no text.
    """
    tokenizer, end = masked_lm.tokenizer, masked_lm.special_pieces()[1]
    encode = tokenizer.backend_tokenizer.encode_batch_fast
    dtype = np.uint16 if len(tokenizer) <= 1 << 16 else np.int32
    special = set(tokenizer.all_special_ids)
    parts, kept = [np.zeros(0, dtype)], []
    sizes = dict.fromkeys(("lines", "characters", "unknown", "unknown_lines"), 0)
    n_kept, iterator = 0, iter(lines)
    while batch := list(islice(iterator, BATCH_LINES)):
        training = []
        found = [encoding.ids for encoding in encode(batch, add_special_tokens=False)]
        for line, ids in zip(batch, found):
            # Some letters are none, or unknown, to a tokenizer.
            is_said = not special.issuperset(ids)
            sizes["unknown_lines"] += not is_said
            if is_said and hash_share(line) >= held_out:
                training.append([*ids, *end])
                sizes["characters"] += len(line)
            elif is_said and n_kept < MAX_HELD_OUT_CHARS:
                kept.append(line)
                n_kept += len(line)
        parts.append(np.fromiter(chain.from_iterable(training), dtype))
        sizes["lines"] += len(training)
        sizes["unknown"] += int((parts[-1] == tokenizer.unk_token_id).sum())
    if not kept and not sizes["lines"]:
        problem = "The text holds no words that the backbone's vocabulary knows"
        raise DataError(f"{problem}: give files with text of its language")
    train = np.concatenate(parts)
    sizes |= {"train": len(train), "held_out_lines": len(kept)}
    return Pieces(train, kept, sizes)
