"""Words of a text that become pieces of the vocabulary."""

import re
from collections import Counter
from itertools import chain, islice
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List

from tokenizers import AddedToken
from torch.nn import Parameter

from ..backbones.masked_lm import MaskedLM
from ..lexicon.readers import read_lexicon

# A word that falls into fewer pieces than this is read well enough.
MIN_PIECES = 3
# A word seen once says nothing that training could use.
MIN_COUNT = 2
WORD = re.compile(r"[^\W\d_]{3,}")
N_WORDS_SHOWN = 20


def add_words(
    masked_lm: MaskedLM, lines: Iterable[str], n_words: int, lexicon: Iterable[Path]
) -> Dict[str, Any]:
    """Make pieces of the most frequent words that fall into three or more.

    masked_lm (MaskedLM): Changed in place. A new row is the mean of the rows of the
        pieces that made up the word.
    n_words (int): How many words of the text's lines, at most; those of names in the
        lexicon's files come before others.
    RETURNS (Dict[str, Any]): The sizes of the vocabulary, and the first new words.
    RAISES (DataError): If a lexicon cannot be read.
    """
    tokenizer = masked_lm.tokenizer
    backend, unknown = tokenizer.backend_tokenizer, tokenizer.unk_token_id
    normalize = backend.normalizer.normalize_str if backend.normalizer else str

    def words(texts: Iterable[str]) -> Iterator[str]:
        return chain.from_iterable(WORD.findall(normalize(text)) for text in texts)

    def pieces(text: str) -> List[int]:
        return backend.encode(text, add_special_tokens=False).ids

    # A label is wanted for plain lists, whose names have none, and not used.
    entries = chain.from_iterable(read_lexicon(p, label="NAME")[0] for p in lexicon)
    names = set(words(entry.name for entry in entries))
    counts = {w: n for w, n in Counter(words(lines)).items() if n >= MIN_COUNT}
    # In byte-level BPE a blank is part of the word behind it.
    blank = " " if pieces("a a") != 2 * pieces("a") else ""
    ordered = sorted(counts, key=lambda word: (word not in names, -counts[word]))
    split = ((word, pieces(blank + word)) for word in ordered)
    fit = (x for x in split if len(x[1]) >= MIN_PIECES and unknown not in x[1])
    sources = dict(islice(fit, n_words))
    n_before = len(tokenizer)
    form = {"single_word": True, "lstrip": bool(blank)}
    tokenizer.add_tokens([AddedToken(word, **form) for word in sources])
    _add_rows(masked_lm, list(sources.values()), n_before)
    return {
        "pieces_before": n_before,
        "pieces": len(tokenizer),
        "words_added": len(sources),
        "first_words_added": list(sources)[:N_WORDS_SHOWN],
    }


def _add_rows(masked_lm: MaskedLM, sources: List[List[int]], first: int) -> None:
    """Rows of new pieces, the means of other rows; shared rows stay shared.
    `resize_token_embeddings` wants the decoder in its place, and here it is apart."""
    embeddings, decoder = masked_lm.body.get_input_embeddings(), masked_lm.decoder
    # Some models have more rows than pieces.
    n_rows = max(first + len(sources), decoder.out_features)
    new = {}
    for old in (embeddings.weight, decoder.weight, decoder.bias):
        if old is not None:
            rows = old.data.new_zeros(n_rows, *old.shape[1:])
            rows[: len(old)] = old.data
            for i, pieces in enumerate(sources, first):
                rows[i] = old.data[pieces].mean(0)
            new[id(old)] = Parameter(rows)
    for module in masked_lm.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            if id(parameter) in new:
                setattr(module, name, new[id(parameter)])
    embeddings.num_embeddings = decoder.out_features = n_rows
    masked_lm.body.config.vocab_size = n_rows
