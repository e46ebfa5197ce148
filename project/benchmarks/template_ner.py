"""TemplateNER (Cui et al., "Template-Based Named Entity Recognition Using BART", 2021):
a peer in the benchmark, and no component.

A sequence-to-sequence LM reads the sentence and scores, for every span of up to 8
words, "SPAN is a LABEL entity." for every class and "SPAN is not a named entity.". The
best template says what a span is; of spans that overlap, the one with the best score
stays. That is some hundred queries a sentence: time is measured on the first sentences
of the test set and scaled to all of it by the number of queries.

    python project/benchmarks/template_ner.py OUT.json --model MODEL --train TRAIN \\
        --test TEST [--names NAMES.json] [--sentences 50] [--epochs 20]
    python project/benchmarks/template_ner.py OUT.json --bart-large --tokenizer LM \\
        --train TRAIN --test TEST --epochs 0 --sentences 5

MODEL is a folder or a name on the hub; TRAIN and TEST are annotated files of any form
that `convert` reads; NAMES is {"PER": "person", ...}, what the templates call a class.
With --bart-large the weights are random, which is enough to measure time.
"""

import json
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

import spacy
import torch
import typer
from spacy.tokens import Doc, Span
from spacy.training import Example
from tqdm import tqdm

from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.evaluation.scoring import score_entities
from spacy_entlm.files.file import write_file

# The paper's: spans of up to 8 words; 1.5 spans of no entity for each that is one.
MAX_SPAN_WORDS = 8
NEGATIVES = 1.5
NOT_AN_ENTITY = "is not a named entity ."
VOWELS = "aeiou"
# Transformers' mark of a target that is ignored in training.
NO_LOSS = -100

# First word, end.
Words = Tuple[int, int]


@dataclass
class Templates:
    """What is said of a span: of each class, and last that it is no entity."""

    labels: List[str]
    endings: List[str]

    @classmethod
    def create(cls, labels: List[str], names: Dict[str, str]) -> "Templates":
        """labels (List[str]): The classes. names (Dict[str, str]): What a template
        calls them; a class that has none is called by its label in lower case.
        RAISES (ValueError): If a name belongs to no class.
        """
        unknown = sorted(set(names) - set(labels))
        if unknown:
            raise ValueError(f"Names for {unknown}, but the classes are {labels}")
        endings = []
        for label in labels:
            name = names.get(label, label.lower().replace("_", " "))
            article = "an" if name[:1].lower() in VOWELS else "a"
            endings.append(f"is {article} {name} entity .")
        return cls(labels, [*endings, NOT_AN_ENTITY])

    def of(self, words: List[str]) -> List[str]:
        """All templates of a span."""
        return [f"{' '.join(words)} {ending}" for ending in self.endings]


@dataclass
class TemplateNER:
    """A sequence-to-sequence LM with its tokenizer and its templates."""

    model: Any
    tokenizer: Any
    templates: Templates

    def targets(self, texts: List[str]) -> torch.Tensor:
        """int64 (n_texts, longest), pieces of templates, NO_LOSS where padded."""
        pieces = self.tokenizer(text_target=texts, return_tensors="pt", padding=True)
        labels = pieces["input_ids"]
        return labels.masked_fill(pieces["attention_mask"] == 0, NO_LOSS)

    def loss(self, sentences: List[str], targets: List[str]) -> torch.Tensor:
        """Mean cross-entropy of the templates' pieces."""
        inputs = self.tokenizer(
            sentences, return_tensors="pt", padding=True, truncation=True
        )
        return self.model(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            labels=self.targets(targets),
        ).loss

    @torch.no_grad()
    def scores(self, words: List[str], spans: List[Words], batch: int) -> torch.Tensor:
        """Sum of the log probabilities of each template's pieces, given the sentence,
        which is read once.

        words (List[str]): The sentence. spans (List[Words]): The spans.
        batch (int): Templates that are scored together.
        RETURNS: float32 (n_spans, n_templates).
        """
        inputs = self.tokenizer(" ".join(words), return_tensors="pt", truncation=True)
        encoded = self.model.get_encoder()(
            input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]
        )
        texts = [text for a, b in spans for text in self.templates.of(words[a:b])]
        scores = []
        for begin in range(0, len(texts), batch):
            labels = self.targets(texts[begin : begin + batch])
            n = len(labels)
            hidden = encoded.last_hidden_state.expand(n, -1, -1)
            logits = self.model(
                encoder_outputs=(hidden,),
                attention_mask=inputs["attention_mask"].expand(n, -1),
                labels=labels,
            ).logits
            losses = torch.nn.functional.cross_entropy(
                logits.transpose(1, 2), labels, reduction="none", ignore_index=NO_LOSS
            )
            scores.append(-losses.sum(dim=1))
        return torch.cat(scores).reshape(len(spans), -1)

    def predict(self, words: List[str], batch: int) -> List[Tuple[int, int, str]]:
        """Entities of a sentence: first word, end, label."""
        spans = all_spans(len(words))
        if not spans:
            return []
        best, template = self.scores(words, spans, batch).max(dim=1)
        labels = [*self.templates.labels, None]
        found = [
            (score, *span, labels[index])
            for score, span, index in zip(best.tolist(), spans, template.tolist())
            if labels[index] is not None
        ]
        return without_overlap(found)


def all_spans(n_words: int) -> List[Words]:
    """Every span of up to 8 words."""
    return [
        (start, end)
        for start in range(n_words)
        for end in range(start + 1, min(start + MAX_SPAN_WORDS, n_words) + 1)
    ]


def without_overlap(
    found: List[Tuple[float, int, int, str]],
) -> List[Tuple[int, int, str]]:
    """The best of spans that overlap, greedily. found: score, first word, end, label.

    RETURNS: first word, end, label, in order.
    """
    kept: List[Tuple[int, int, str]] = []
    for _, start, end, label in sorted(found, key=lambda each: -each[0]):
        if all(end <= a or b <= start for a, b, _ in kept):
            kept.append((start, end, label))
    return sorted(kept)


def count_queries(n_words: int, n_templates: int) -> int:
    """Templates that are scored for a sentence."""
    return len(all_spans(n_words)) * n_templates


def training_pairs(
    docs: Iterable[Doc], templates: Templates, rng: random.Random
) -> Iterator[Tuple[str, str]]:
    """Sentences with a template that is true: for each entity, and for spans drawn
    among those that are none."""
    for doc in docs:
        words = [token.text for token in doc]
        gold = {(ent.start, ent.end): ent.label_ for ent in doc.ents}
        others = [span for span in all_spans(len(words)) if span not in gold]
        n_others = min(len(others), round(NEGATIVES * max(len(gold), 1)))
        true = {**gold, **dict.fromkeys(rng.sample(others, n_others))}
        for (start, end), label in true.items():
            index = templates.labels.index(label) if label else -1
            yield " ".join(words), templates.of(words[start:end])[index]


def fit(
    ner: TemplateNER,
    docs: List[Doc],
    *,
    epochs: int,
    learn_rate: float,
    batch_size: int = 32,
    seed: int = 1,
) -> None:
    """Train on templates that are true."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(ner.model.parameters(), lr=learn_rate)
    ner.model.train()
    for _ in tqdm(range(epochs), unit="epoch", disable=not epochs):
        pairs = list(training_pairs(docs, ner.templates, rng))
        rng.shuffle(pairs)
        for begin in range(0, len(pairs), batch_size):
            sentences, targets = zip(*pairs[begin : begin + batch_size])
            ner.loss(list(sentences), list(targets)).backward()
            optimizer.step()
            optimizer.zero_grad()


def evaluate(
    ner: TemplateNER, docs: List[Doc], *, n_sentences: int, batch: int
) -> Dict[str, Any]:
    """F1 and time on the first sentences, and the time that all would take."""
    n_templates = len(ner.templates.endings)
    queries = [count_queries(len(doc), n_templates) for doc in docs]
    chosen = docs[:n_sentences]
    examples = []
    ner.model.eval()
    start = time.perf_counter()
    for gold in tqdm(chosen, unit="sentence"):
        words = [token.text for token in gold]
        predicted = Doc(gold.vocab, words=words)
        predicted.set_ents(
            [Span(predicted, *span) for span in ner.predict(words, batch)]
        )
        examples.append(Example(predicted, gold))
    seconds = time.perf_counter() - start
    n_queries = sum(queries[: len(chosen)])
    scores = score_entities(examples)
    return {
        "io": scores["io"],
        "bio": scores["bio"],
        "sentences_scored": len(chosen),
        "sentences_all": len(docs),
        "queries_scored": n_queries,
        "queries_all": sum(queries),
        "queries_per_sentence": sum(queries) / max(len(docs), 1),
        "seconds_scored": seconds,
        "seconds_per_query": seconds / max(n_queries, 1),
        "seconds_all_scaled": seconds * sum(queries) / max(n_queries, 1),
        "threads": torch.get_num_threads(),
    }


def load(
    model: Optional[str], tokenizer: Optional[str], bart_large: bool
) -> Tuple[Any, Any]:
    """The LM and its tokenizer.

    RAISES (ValueError): If it is not said which.
    """
    import transformers

    if bart_large == (model is not None):
        raise ValueError("Give either --model, or --bart-large for random weights")
    if bart_large:
        if tokenizer is None:
            raise ValueError("--bart-large needs a --tokenizer, of any model")
        # The sizes of facebook/bart-large are the defaults.
        lm = transformers.BartForConditionalGeneration(transformers.BartConfig())
    else:
        lm = transformers.AutoModelForSeq2SeqLM.from_pretrained(
            model, use_safetensors=True
        )
    return lm, transformers.AutoTokenizer.from_pretrained(tokenizer or model)


def main(
    out: Path,
    model: Optional[str] = None,
    train: Path = typer.Option(...),
    test: Path = typer.Option(...),
    names: Optional[Path] = typer.Option(None, help="JSON: what to call the classes"),
    sentences: int = typer.Option(50, help="Test sentences that are scored"),
    epochs: int = 20,
    learn_rate: float = 4e-5,
    batch: int = typer.Option(64, help="Templates that are scored together"),
    seed: int = 1,
    bart_large: bool = typer.Option(False, help="Random weights of that size"),
    tokenizer: Optional[str] = None,
) -> None:
    """Train, evaluate and write OUT."""
    with one_line_errors():
        reader = spacy.blank("en")
        examples, _ = read_docs(train, reader)
        gold, _ = read_docs(test, reader)
        called = json.loads(names.read_text(encoding="utf8")) if names else {}
        labels = sorted({ent.label_ for doc in examples for ent in doc.ents})
        torch.manual_seed(seed)
        lm, pieces = load(model, tokenizer, bart_large)
        ner = TemplateNER(lm, pieces, Templates.create(labels, called))
        fit(ner, examples, epochs=epochs, learn_rate=learn_rate, seed=seed)
        result = evaluate(ner, gold, n_sentences=sentences, batch=batch)
        result |= {
            "model": model or "bart-large, random weights",
            "epochs": epochs,
            "learn_rate": learn_rate,
            "templates": ner.templates.endings,
        }
        with write_file(out) as temporary:
            temporary.write_text(json.dumps(result, indent=2) + "\n", encoding="utf8")
        print(
            f"F1 {100 * result['io']['f']:.2f} (IO gold) on {len(gold[:sentences])} of "
            f"{len(gold)} sentences; {result['queries_per_sentence']:.0f} queries a "
            f"sentence, {1000 * result['seconds_per_query']:.2f} ms each: "
            f"{result['seconds_all_scaled']:.0f} s for all; written to {out}"
        )


if __name__ == "__main__":
    typer.run(main)
