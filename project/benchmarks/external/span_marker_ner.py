"""SpanMarker on the backbone of a benchmark, run by its method `external`.

Every span of up to --max-words words gets a pair of markers in the encoder's input, and
a linear layer on their features says which class it is, or none.

    pip install torch==2.13.0 span-marker==1.8.1 transformers==4.57.6

in an environment of its own, which the config of the benchmark names (`python`).
"""

import tempfile
from typing import Any, Dict, List

from exchange import (
    OUTSIDE,
    Report,
    Sentence,
    make_parser,
    read_sentences,
    write_predictions,
)


def main() -> None:
    """Train, predict and write what was predicted."""
    parser = make_parser(__doc__ or "")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--learn-rate", type=float, default=5e-5)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--warmup", type=float, default=0.1, help="share of the steps")
    parser.add_argument("--max-words", type=int, default=8, help="of an entity")
    parser.add_argument("--max-pieces", type=int, default=256, help="of a sentence")
    parser.add_argument("--markers", type=int, default=128, help="pairs in one input")
    parser.add_argument("--predict-batch", type=int, default=4)
    args = parser.parse_args()
    report = Report("span-marker", "transformers", "torch")
    model = train(args)
    report.lap("seconds_train")
    sentences = read_sentences(args.test)
    predicted = predict(model, sentences, args.predict_batch)
    write_predictions(args.predictions, sentences, predicted)
    report.lap("seconds_test")
    if args.report:
        report.write(args.report)


def train(args: Any) -> Any:
    """A SpanMarker model, trained on the examples."""
    import datasets
    import span_marker
    import transformers

    transformers.set_seed(args.seed)
    tags = [OUTSIDE] + [f"{p}-{label}" for label in args.labels for p in "BI"]
    number = {tag: index for index, tag in enumerate(tags)}
    examples = read_sentences(args.train)
    data = datasets.Dataset.from_dict(
        {
            "tokens": [sentence.words for sentence in examples],
            "ner_tags": [[number[tag] for tag in s.tags] for s in examples],
        }
    )
    model = span_marker.SpanMarkerModel.from_pretrained(
        args.backbone,
        labels=tags,
        model_max_length=args.max_pieces,
        marker_max_length=args.markers,
        entity_max_length=args.max_words,
    ).float()
    with tempfile.TemporaryDirectory() as folder:
        settings = transformers.TrainingArguments(
            output_dir=folder,
            num_train_epochs=args.epochs,
            learning_rate=args.learn_rate,
            per_device_train_batch_size=args.batch_size,
            warmup_ratio=args.warmup,
            seed=args.seed,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
        )
        span_marker.Trainer(model=model, args=settings, train_dataset=data).train()
    return model


def predict(model: Any, sentences: List[Sentence], batch_size: int) -> List[List[str]]:
    """The tags of sentences."""
    words = [sentence.words for sentence in sentences]
    found = model.predict(words, batch_size=batch_size)
    return [to_tags(len(s.words), entities) for s, entities in zip(sentences, found)]


def to_tags(n_words: int, entities: List[Dict[str, Any]]) -> List[str]:
    """Entities as BIO tags. entities: with "word_start_index", "word_end_index" (the
    last one excluded) and "label"."""
    tags = [OUTSIDE] * n_words
    for entity in entities:
        start, end = entity["word_start_index"], entity["word_end_index"]
        inside = f"I-{entity['label']}"
        tags[start:end] = [f"B-{entity['label']}"] + [inside] * (end - start - 1)
    return tags


if __name__ == "__main__":
    main()
