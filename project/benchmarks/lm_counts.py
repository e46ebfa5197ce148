"""Speed of LM counting against a straightforward loop, on the same sentences.

The loop is what one writes first, and what the paper's authors run: batches in the
order of the text, a softmax over the vocabulary at every position, its best
predictions, and then a look at those that are labelled. The authors pad every
sentence to 128 pieces (`--pad-to 128`); without that the loop pads to the longest
sentence of a batch, which makes it faster. Both give the same counts.

    python project/benchmarks/lm_counts.py --backbone LM --data distant.jsonl
"""

import platform
import time
from collections import Counter
from pathlib import Path
from typing import Any, Dict, List, Optional

import spacy
import torch
import typer
from spacy.tokens import Doc
from transformers import AutoModelForMaskedLM, AutoTokenizer

from spacy_entlm.backbones.names import resolve_backbone
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.files.file import replace_file
from spacy_entlm.files.json_lines import dump_json
from spacy_entlm.label_words.lm_counts import NOT_COUNTED, count_predictions
from spacy_entlm.label_words.search import LM_TOP_K
from spacy_entlm.model.search_reader import TextReader

BATCH_SIZE = 64
MAX_PIECES = 128

app = typer.Typer(help=__doc__)


@app.command()
def main(
    backbone: str = typer.Option(..., help="A WordPiece masked LM"),
    data: Path = typer.Option(..., help="Annotated text"),
    n_sentences: int = 2000,
    pad_to: Optional[int] = typer.Option(None, help="Pieces; none: longest of a batch"),
    save: Optional[Path] = typer.Option(None, help="File for the counts"),
) -> None:
    """Print sentences per second of both, and their ratio."""
    docs = read_docs(data, spacy.blank("en"))[0][:n_sentences]
    reader = TextReader(backbone)
    start = time.perf_counter()
    counts = count_predictions(reader, docs)
    seconds = time.perf_counter() - start
    if save is not None:
        replace_file(save, dump_json(counts))
    del reader
    loop = Loop(resolve_backbone(backbone), pad_to)
    start = time.perf_counter()
    loop_counts = loop.count(docs)
    loop_seconds = time.perf_counter() - start
    threads = torch.get_num_threads()
    print(f"{platform.machine()}, {threads} threads, {len(docs)} sentences")
    print(f"LM counting: {len(docs) / seconds:.1f} sentences/s")
    print(f"the loop:    {len(docs) / loop_seconds:.1f} sentences/s")
    print(f"ratio:       {loop_seconds / seconds:.2f}")
    differing = _differences(counts, loop_counts)
    if differing:
        raise SystemExit(f"The counts differ: {differing[:10]}")
    print(f"same counts: {sum(map(len, counts.values()))} words")


class Loop:
    """The straightforward way."""

    def __init__(self, backbone: str, pad_to: Optional[int]):
        self.tokenizer = AutoTokenizer.from_pretrained(backbone)
        self.lm = AutoModelForMaskedLM.from_pretrained(
            backbone, torch_dtype=torch.float32
        ).eval()
        self.pad_to = pad_to

    def count(self, docs: List[Doc]) -> Dict[str, Counter]:
        """Per class, how often each piece was predicted."""
        counts: Dict[str, Counter] = {}
        for begin in range(0, len(docs), BATCH_SIZE):
            batch = docs[begin : begin + BATCH_SIZE]
            encoding = self._encode(batch)
            with torch.no_grad():
                logits = self.lm(
                    input_ids=encoding["input_ids"],
                    attention_mask=encoding["attention_mask"],
                ).logits
                best = logits.log_softmax(-1).topk(LM_TOP_K, dim=-1).indices
            for row, doc in enumerate(batch):
                self._count_sentence(doc, encoding, row, best[row], counts)
        return counts

    def _encode(self, batch: List[Doc]) -> Any:
        return self.tokenizer(
            [[token.text for token in doc] for doc in batch],
            is_split_into_words=True,
            truncation=True,
            max_length=self.pad_to or MAX_PIECES,
            padding="max_length" if self.pad_to else "longest",
            return_tensors="pt",
        )

    def _count_sentence(
        self,
        doc: Doc,
        encoding: Any,
        row: int,
        best: torch.Tensor,
        counts: Dict[str, Counter],
    ) -> None:
        """best: int64 (n_pieces, top_k)."""
        to_pieces = self.tokenizer.convert_ids_to_tokens
        read = to_pieces(encoding["input_ids"][row].tolist())
        previous = None
        for position, word in enumerate(encoding.word_ids(row)):
            first = word is not None and word != previous
            previous = word
            if not first or not doc[word].ent_type_:
                continue
            counter = counts.setdefault(doc[word].ent_type_, Counter())
            for piece in to_pieces(best[position].tolist()):
                if piece not in NOT_COUNTED and piece not in read[position]:
                    counter[piece] += 1


def _differences(ours: Dict[str, Counter], theirs: Dict[str, Counter]) -> List[Any]:
    return [
        (label, word, ours.get(label, {}).get(word, 0), theirs[label][word])
        for label in theirs
        for word in {**theirs[label], **ours.get(label, {})}
        if ours.get(label, {}).get(word, 0) != theirs[label][word]
    ]


if __name__ == "__main__":
    app()
