"""The model that a pre-training starts from: a backbone, perhaps with another
vocabulary, or one from scratch."""

import json
from collections import Counter
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch

from ..backbones.errors import BackboneError
from ..backbones.loading import prepare_tokenizer
from ..backbones.masked_lm import MaskedLM
from .rows import replace_rows, set_pieces
from .settings import PretrainError, Settings
from .vocabulary import Vocabulary, add_words, cut_vocabulary, new_vocabulary
from .wordpiece import (
    WordPiece,
    is_lowercase,
    learn_pieces,
    replace_pieces,
    start_tokenizer,
)
from .words import count_words, read_names

# Of a model from scratch, if neither the command nor the configuration tells.
NEW_VOCABULARY = 16_000
# Names whose pieces are counted, and added words that a report lists.
N_NAMES_COUNTED = 50_000
N_WORDS_SHOWN = 20

# Opens the text anew each time it is called.
Lines = Callable[[], Iterator[str]]


def change_vocabulary(
    masked_lm: MaskedLM, settings: Settings, lines: Lines
) -> Dict[str, Any]:
    """Give a masked LM the vocabulary that the settings ask for.

    masked_lm (MaskedLM): Changed in place. lines (Callable): Gives the text.
    RETURNS (Dict[str, Any]): What was done: sizes, and the words added.
    RAISES (PretrainError): If its tokenizer is no WordPiece tokenizer, or a size does
        not fit.
    """
    tokenizer = masked_lm.tokenizer
    old = WordPiece.of(tokenizer)
    names = read_names(map(Path, settings.lexicon))
    lowercase = None
    added: List[str] = []
    if settings.new_vocab is not None:
        lowercase = _other_case(tokenizer, settings.cased)
        like = tokenizer
        if lowercase is not None:
            pieces = Vocabulary.of(old).pieces
            like = replace_pieces(tokenizer, pieces, lowercase=lowercase)
        vocabulary = _learn(old, like, settings, settings.new_vocab, names, lines)
    else:
        backend = tokenizer.backend_tokenizer
        counts = count_words(lines(), names, settings.lexicon_weight, backend)
        _check_words(counts)
        vocabulary = Vocabulary.of(old)
        if settings.keep_vocab is not None:
            vocabulary = cut_vocabulary(old, counts, settings.keep_vocab)
        if settings.add_vocab is not None:
            added = add_words(vocabulary, old, counts, settings.add_vocab)
    changed = replace_pieces(tokenizer, vocabulary.pieces, lowercase=lowercase)
    replace_rows(masked_lm, changed, vocabulary.sources)
    report = {
        "pieces_before": len(old.ids),
        "pieces": len(vocabulary.pieces),
        "kept": sum(piece in old.ids for piece in vocabulary.pieces),
        "words_added": len(added),
        "first_words_added": added[:N_WORDS_SHOWN],
    }
    if names:
        both = [_pieces_per_name(names, each) for each in (tokenizer, changed)]
        report["pieces_per_name_before"], report["pieces_per_name"] = both
    return report


def new_model(
    config_path: Path, settings: Settings, lines: Lines
) -> Tuple[MaskedLM, Dict[str, Any]]:
    """A masked LM with random weights, and a vocabulary learned from the text.

    config_path (Path): A config.json as transformers writes them; "model_type" says
        which architecture. lines (Callable): Gives the text.
    RETURNS (Tuple[MaskedLM, Dict[str, Any]]): The model, and the vocabulary's sizes.
    RAISES (PretrainError): If the configuration is no masked LM's.
    """
    from transformers import AutoConfig, AutoModelForMaskedLM

    data = _read_config(config_path)
    tokenizer = start_tokenizer(lowercase=not settings.cased)
    size = settings.new_vocab or data.get("vocab_size") or NEW_VOCABULARY
    names = read_names(map(Path, settings.lexicon))
    old = WordPiece.of(tokenizer)
    vocabulary = _learn(old, tokenizer, settings, size, names, lines)
    tokenizer = replace_pieces(tokenizer, vocabulary.pieces)
    # A configuration of a float16 model would make one.
    data = {**data, "vocab_size": len(tokenizer), "torch_dtype": "float32"}
    try:
        config = AutoConfig.for_model(**data)
        set_pieces(config, tokenizer)
        torch.manual_seed(settings.seed)
        lm = AutoModelForMaskedLM.from_config(config)
    except Exception as error:  # transformers raises nearly anything here
        reason = str(error).strip().splitlines() or [repr(error)]
        raise PretrainError(
            f"{config_path} is no configuration of a masked LM: {reason[0]}"
        ) from error
    prepare_tokenizer(tokenizer, str(config_path))
    positions = getattr(config, "max_position_embeddings", None)
    if positions:
        tokenizer.model_max_length = positions
    masked_lm = MaskedLM(lm, tokenizer)
    # Of RoBERTa's positions some are no places in a text.
    tokenizer.model_max_length = masked_lm.max_pieces
    return masked_lm, {"pieces": len(tokenizer)}


def _learn(
    old: WordPiece,
    tokenizer: Any,
    settings: Settings,
    size: int,
    names: List[str],
    lines: Lines,
) -> Vocabulary:
    def texts() -> Iterator[str]:
        yield from lines()
        yield from chain.from_iterable(repeat(names, settings.lexicon_weight))

    learned = learn_pieces(texts, size, tokenizer)
    if not learned:
        raise PretrainError("The text holds no words: give files with text in them")
    return new_vocabulary(old, learned, size)


def _other_case(tokenizer: Any, cased: Optional[bool]) -> Optional[bool]:
    """Whether case is to be disregarded, None if that is not to be changed."""
    if cased is None or cased != is_lowercase(tokenizer):
        return None
    return not cased


def _pieces_per_name(names: List[str], tokenizer: Any) -> float:
    """Mean pieces of a name's words."""
    some = names[:: max(1, len(names) // N_NAMES_COUNTED)]
    backend = tokenizer.backend_tokenizer
    encodings = backend.encode_batch_fast(some, add_special_tokens=False)
    n_words = sum(len(name.split()) for name in some)
    return round(sum(map(len, encodings)) / n_words, 3)


def _check_words(counts: "Counter[str]") -> None:
    if not counts:
        raise PretrainError("The text holds no words: give files with text in them")


def _read_config(path: Path) -> Dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf8"))
    except (OSError, ValueError) as error:
        raise PretrainError(f"--new {path}: cannot be read ({error})") from error
    if not isinstance(data, dict) or "model_type" not in data:
        raise BackboneError(
            f'--new {path}: "model_type" is missing: it is a config.json as a model '
            f"folder of transformers has it"
        )
    return data
