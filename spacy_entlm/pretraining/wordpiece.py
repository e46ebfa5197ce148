"""WordPiece tokenizers: what is in them, training one, giving one other pieces."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence

from .settings import PretrainError

TOKENIZER_FILE = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
VOCABULARY_FILE = "vocab.txt"
# Names and order of BERT's special pieces.
SPECIAL_PIECES = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
# More different characters than this are rare ones, which would fill a vocabulary.
MAX_ALPHABET = 1000


@dataclass
class WordPiece:
    """The vocabulary of a WordPiece tokenizer, and its longest-match-first split.

    ids (Dict[str, int]): Piece -> id, special and added pieces too.
    fixed (List[str]): Special and added pieces, which always stay.
    unknown (str): The piece for what cannot be split.
    prefix (str): Of pieces that continue a word. max_chars (int): Of a word.
    normalize (Callable): Brings a text into the form that is split.
    """

    ids: Dict[str, int]
    fixed: List[str]
    unknown: str
    prefix: str
    max_chars: int
    normalize: Callable[[str], str]

    def __post_init__(self) -> None:
        self._longest = max(map(len, self.ids), default=0)

    @classmethod
    def of(cls, tokenizer: Any) -> "WordPiece":
        """Read a tokenizer.

        tokenizer (PreTrainedTokenizerFast): The tokenizer.
        RAISES (PretrainError): If it is no WordPiece tokenizer.
        """
        backend = tokenizer.backend_tokenizer
        data = json.loads(backend.to_str())
        model = data["model"]
        if model.get("type") != "WordPiece":
            raise PretrainError(
                f"Another vocabulary needs a WordPiece tokenizer (the BERT family), "
                f"and {type(tokenizer).__name__} is {model.get('type')}: pre-train "
                f"without --keep-vocab, --add-vocab and --new-vocab"
            )
        normalizer = backend.normalizer
        return cls(
            ids=backend.get_vocab(with_added_tokens=True),
            fixed=[token["content"] for token in data["added_tokens"]],
            unknown=model["unk_token"],
            prefix=model["continuing_subword_prefix"],
            max_chars=model["max_input_chars_per_word"],
            normalize=normalizer.normalize_str if normalizer else str,
        )

    def split(self, text: str, *, begins: bool = True) -> Optional[List[int]]:
        """Ids of the pieces of a word.

        text (str): The word, normalised. begins (bool): False: the rest of a word.
        RETURNS (Optional[List[int]]): None if no pieces make it up.
        """
        if not text or len(text) > self.max_chars:
            return None
        ids: List[int] = []
        start = 0
        while start < len(text):
            prefix = "" if begins and start == 0 else self.prefix
            for end in range(min(len(text), start + self._longest), start, -1):
                piece = self.ids.get(prefix + text[start:end])
                if piece is not None:
                    break
            else:
                return None
            ids.append(piece)
            start = end
        return ids

    def continues(self, piece: str) -> bool:
        """Whether a piece continues a word."""
        return piece.startswith(self.prefix) and len(piece) > len(self.prefix)

    def letters(self, piece: str) -> str:
        """A piece without the prefix of pieces that continue a word."""
        return piece[len(self.prefix) :] if self.continues(piece) else piece

    def alphabet(self) -> List[str]:
        """One-character pieces, beginning and continuing a word, without which some
        text could be split no more. They need not all be there."""
        begin: Dict[str, None] = {}
        inside: Dict[str, None] = {}
        fixed = set(self.fixed)
        for piece in sorted(self.ids, key=self.ids.__getitem__):
            if piece in fixed:
                continue
            letters = self.letters(piece)
            (inside if self.continues(piece) else begin)[letters[0]] = None
            inside.update(dict.fromkeys(letters[1:]))
        return [*begin, *(self.prefix + char for char in inside)]

    def sources(self, piece: str) -> List[int]:
        """Ids of the pieces that make up a piece: itself if it is one, those of the
        same letters if it is none, the unknown piece if there are no such."""
        if piece in self.ids:
            return [self.ids[piece]]
        begins = not self.continues(piece)
        text = self.normalize(self.letters(piece)).strip()
        # A letter that was known only inside words, or only at their start, is that.
        for way in (begins, not begins):
            ids = self.split(text, begins=way)
            if ids is not None:
                return ids
        return [self.ids[self.unknown]]


def learn_pieces(
    texts: Callable[[], Iterable[str]], size: int, tokenizer: Any
) -> List[str]:
    """Learn the pieces of a WordPiece vocabulary from a text.

    texts (Callable): Gives the text, which is read twice. size (int): Of the
        vocabulary.
    tokenizer (PreTrainedTokenizerFast): Normalises texts and splits them into words.
    RETURNS (List[str]): Single characters, then other pieces, the most useful first;
        for the same text always the same.
    """
    # The trainer numbers the characters inside words as they come out of a hash table,
    # and decides ties between pieces by these numbers: so they are given.
    characters = _train_pieces(texts(), 1, tokenizer, [])
    in_order = sorted(characters, key=lambda piece: (len(piece) > 1, piece))
    return _train_pieces(texts(), size, tokenizer, in_order)


def _train_pieces(
    texts: Iterable[str], size: int, tokenizer: Any, first: List[str]
) -> List[str]:
    """Pieces in the order of their ids, those in `first` at the beginning."""
    from tokenizers import Tokenizer, models, trainers

    like = tokenizer.backend_tokenizer
    backend = Tokenizer(models.WordPiece(unk_token=tokenizer.unk_token))
    if like.normalizer is not None:
        backend.normalizer = like.normalizer
    if like.pre_tokenizer is not None:
        backend.pre_tokenizer = like.pre_tokenizer
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        limit_alphabet=MAX_ALPHABET,
        special_tokens=first,
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    ids = backend.get_vocab()
    return sorted(ids, key=ids.__getitem__)


def start_tokenizer(*, lowercase: bool) -> Any:
    """A WordPiece tokenizer that knows BERT's special pieces and nothing else.

    lowercase (bool): Whether case and accents are disregarded.
    RETURNS (BertTokenizerFast): To be given other pieces.
    """
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )
    from transformers import BertTokenizerFast

    ids = {piece: i for i, piece in enumerate(SPECIAL_PIECES.values())}
    model = models.WordPiece(ids, unk_token=SPECIAL_PIECES["unk_token"])
    backend = Tokenizer(model)
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    around = [(piece, ids[piece]) for piece in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=around,
    )
    return BertTokenizerFast(
        tokenizer_object=backend, do_lower_case=lowercase, **SPECIAL_PIECES
    )


def is_lowercase(tokenizer: Any) -> bool:
    """Whether a tokenizer disregards case.

    tokenizer (PreTrainedTokenizerFast): The tokenizer.
    """
    normalizer = tokenizer.backend_tokenizer.normalizer
    return normalizer is not None and normalizer.normalize_str("A") == "a"


def replace_pieces(
    tokenizer: Any, pieces: Sequence[str], *, lowercase: Optional[bool] = None
) -> Any:
    """Give a WordPiece tokenizer another vocabulary.

    tokenizer (PreTrainedTokenizerFast): The tokenizer; it stays as it is.
    pieces (Sequence[str]): In the order of their ids, special ones among them.
    lowercase (Optional[bool]): Whether case is disregarded; None: as before.
    RETURNS (PreTrainedTokenizerFast): A new tokenizer of the same class.
    RAISES (PretrainError): If the tokenizer is of a form that cannot be changed.
    """
    from transformers import AutoTokenizer

    ids = {piece: i for i, piece in enumerate(pieces)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokenizer.save_pretrained(folder)
        # It would be read in place of tokenizer.json by a slow tokenizer.
        (folder / VOCABULARY_FILE).unlink(missing_ok=True)
        data = _read(folder / TOKENIZER_FILE)
        data["model"]["vocab"] = ids
        for token in data["added_tokens"]:
            token["id"] = ids[token["content"]]
        if data.get("post_processor"):
            _renumber(data["post_processor"], ids)
        config = _read(folder / TOKENIZER_CONFIG)
        added = config.get("added_tokens_decoder", {}).values()
        config["added_tokens_decoder"] = {str(ids[t["content"]]): t for t in added}
        if lowercase is not None:
            _set_case(data, config, lowercase)
        _write(folder / TOKENIZER_FILE, data)
        _write(folder / TOKENIZER_CONFIG, config)
        return AutoTokenizer.from_pretrained(folder)


def _renumber(processor: Dict[str, Any], ids: Dict[str, int]) -> None:
    kind = processor["type"]
    if kind == "Sequence":
        for part in processor["processors"]:
            _renumber(part, ids)
    elif kind == "TemplateProcessing":
        for special in processor["special_tokens"].values():
            special["ids"] = [ids[piece] for piece in special["tokens"]]
    elif kind == "BertProcessing":
        for key in ("cls", "sep"):
            processor[key] = [processor[key][0], ids[processor[key][0]]]
    else:
        raise PretrainError(
            f"The tokenizer's post-processor is of a kind ({kind}) whose ids cannot be "
            f"changed: pre-train without another vocabulary"
        )


def _set_case(data: Dict[str, Any], config: Dict[str, Any], lowercase: bool) -> None:
    normalizer = data.get("normalizer") or {}
    if normalizer.get("type") != "BertNormalizer":
        raise PretrainError(
            f"--cased and --uncased need a tokenizer with BERT's normalisation, not "
            f"{normalizer.get('type')}: leave the option out"
        )
    normalizer["lowercase"] = lowercase
    config["do_lower_case"] = lowercase


def _read(path: Path) -> Dict[str, Any]:
    return json.loads(path.read_text(encoding="utf8"))


def _write(path: Path, data: Dict[str, Any]) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf8")
