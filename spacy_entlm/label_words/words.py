"""The label-word map {"PER": ["Michael", ...], ...}: read, check, word-piece ids."""

import logging
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence, Union

from ..files.json_lines import read_json

logger = logging.getLogger("spacy.entlm")

LabelWords = Dict[str, List[str]]
PIECES_SHOWN = 8


class LabelWordError(ValueError):
    """A label-word map that cannot be used; the message says which class and why.
    labels (Sequence[str]): Classes that have no word, where that is what is wrong."""

    def __init__(self, message: str, labels: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.labels = labels


def check_label_words(label_words: Any, *, tags: bool = True) -> LabelWords:
    """Check a label-word map and bring it into its one form.

    tags (bool): Where every key carries the prefix of a tag ("I-PER"), take the
        prefixes off. Not for a map whose keys are classes for sure ("B-CELL").
    RETURNS (Dict[str, List[str]]): The same map, words stripped, repeated words
        left out, order kept.
    RAISES (LabelWordError): If this is no such map.
    """
    if not isinstance(label_words, Mapping):
        raise LabelWordError(
            f'Label words must be a map such as {{"PER": ["John"]}}, not '
            f"{type(label_words).__name__}: {str(label_words)[:60]!r}"
        )
    keys = list(label_words)
    if not all(isinstance(key, str) and key.strip() for key in keys):
        raise LabelWordError(f"Labels must be non-empty strings, not {keys!r:.100}")
    tagged = tags and bool(keys) and all(key[:2] in ("B-", "I-") for key in keys)
    checked: LabelWords = {}
    for key, words in label_words.items():
        label = key[2:] if tagged else key
        if isinstance(words, str) or not isinstance(words, Sequence):
            raise LabelWordError(
                f"Label {label!r:.100}: expected a list of words, not {words!r:.100}"
            )
        if not all(isinstance(word, str) for word in words):
            problem = f"not all words are text: {words!r:.100}"
            raise LabelWordError(f"Label {label!r:.100}: {problem}")
        _check_text(label, *words)
        stripped = [word.strip() for word in words]
        merged = checked.get(label, []) + [word for word in stripped if word]
        checked[label] = list(dict.fromkeys(merged))
    return checked


def _check_text(*texts: str) -> None:
    """RAISES (LabelWordError): If a text cannot be written: a command line in another
    encoding, or JSON with half a character, gives such ones."""
    for text in texts:
        try:
            text.encode("utf8")
        except UnicodeEncodeError as error:
            problem = f"{text!r:.100} holds a character that is no UTF-8"
            raise LabelWordError(f"{problem}: write it anew") from error


def read_label_words(path: Union[str, Path], *, tags: bool = True) -> LabelWords:
    """Read a label-word map from a JSON file.

    tags (bool): As in `check_label_words`.
    RAISES (DataError): If the file is missing, or no JSON.
        (LabelWordError): If it holds no such map.
    """
    try:
        return check_label_words(read_json(Path(path)), tags=tags)
    except LabelWordError as err:
        raise LabelWordError(f"{path}: {err}") from err


def word_pieces(word: str, tokenizer: Any) -> List[int]:
    """The piece ids of a word as it stands inside a sentence.

    word (str): For a byte-level BPE it is looked up with its leading space; other
        tokenizers normalise it themselves (an uncased one folds it).
    tokenizer (PreTrainedTokenizerFast): The backbone's.
    RETURNS (List[int]): The ids; empty if the vocabulary cannot say the word.
    """
    from tokenizers.decoders import ByteLevel

    backend = tokenizer.backend_tokenizer
    text = f" {word}" if isinstance(backend.decoder, ByteLevel) else word
    ids = backend.encode(text, add_special_tokens=False).ids
    return [] if tokenizer.unk_token_id in ids else ids


def label_word_pieces(
    label_words: LabelWords, tokenizer: Any
) -> Dict[str, List[List[int]]]:
    """Turn label words into piece ids and say which ones are not one piece.

    RETURNS (Dict[str, List[List[int]]]): Per class, the ids of each usable word.
        Words that the tokenizer folds into one and the same are used once.
    RAISES (LabelWordError): If a class is left without a usable word.
    """
    pieces: Dict[str, List[List[int]]] = {}
    several: List[str] = []
    unknown: List[str] = []
    for label, words in label_words.items():
        ids = {word: word_pieces(word, tokenizer) for word in words}
        unknown += [word for word in ids if not ids[word]]
        several += [word for word in ids if len(ids[word]) > 1]
        known = list(filter(None, ids.values()))
        if not known:
            raise LabelWordError(
                f"Label {label!r:.100} has no usable label word (given: "
                f"{words!r:.100}). Name words that the model's vocabulary knows, for "
                f"instance in [initialize.components.entlm_ner] label_words.",
                [label],
            )
        pieces[label] = [list(own) for own in dict.fromkeys(map(tuple, known))]
    if several:
        what = "no single piece of the vocabulary (the mean of its pieces each)"
        logger.info("Label words that are %s: %s", what, _some(several))
    if unknown:
        what = "Label words that the vocabulary cannot say (left out)"
        logger.warning("%s: %s", what, _some(unknown))
    return pieces


def _some(words: List[str]) -> str:
    shown = ", ".join(words[:PIECES_SHOWN])
    more = len(words) - PIECES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
