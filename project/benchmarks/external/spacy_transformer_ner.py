"""spaCy's `transformer` and `ner` on the backbone of a benchmark, run by its method
`external` in the environment of the project, which has spacy-transformers.

The transition-based parser begins with random weights, so it needs more passes than
methods that go on with a pre-trained head.
"""

import random
from typing import Any, Iterator, List

import spacy
from exchange import Report, Sentence, make_parser, read_sentences, write_predictions
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, minibatch
from thinc.api import Adam, warmup_linear

# Of spaCy's own transformer pipelines.
WINDOW, STRIDE = 128, 96
HIDDEN_WIDTH, MAXOUT_PIECES = 64, 2
MAX_NORM = 1.0
PREDICT_BATCH = 256


def main() -> None:
    """Train, predict and write what was predicted."""
    parser = make_parser(__doc__ or "")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--learn-rate", type=float, default=5e-5)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--warmup", type=float, default=0.1, help="share of the steps")
    parser.add_argument("--lang", default="en")
    args = parser.parse_args()
    report = Report("spacy", "spacy-transformers", "transformers", "torch")
    nlp = train(args)
    report.lap("seconds_train")
    sentences = read_sentences(args.test)
    write_predictions(args.predictions, sentences, predict(nlp, sentences))
    report.lap("seconds_test")
    if args.report:
        report.write(args.report)


def make_pipeline(lang: str, backbone: str) -> Any:
    """A blank pipeline of both components."""
    nlp = spacy.blank(lang)
    spans = {"@span_getters": "spacy-transformers.strided_spans.v1"}
    transformer = {
        "@architectures": "spacy-transformers.TransformerModel.v3",
        "name": backbone,
        "get_spans": {**spans, "window": WINDOW, "stride": STRIDE},
    }
    nlp.add_pipe("transformer", config={"model": transformer})
    listener = {
        "@architectures": "spacy-transformers.TransformerListener.v1",
        "grad_factor": 1.0,
        "pooling": {"@layers": "reduce_mean.v1"},
    }
    parser = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "ner",
        "extra_state_tokens": False,
        "hidden_width": HIDDEN_WIDTH,
        "maxout_pieces": MAXOUT_PIECES,
        "use_upper": False,
        "tok2vec": listener,
    }
    nlp.add_pipe("ner", config={"model": parser})
    return nlp


def train(args: Any) -> Any:
    """The pipeline, trained on the examples."""
    fix_random_seed(args.seed)
    rng = random.Random(args.seed)
    nlp = make_pipeline(args.lang, args.backbone)
    data = read_sentences(args.train)
    examples = [
        Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, ents=tags))
        for words, tags in data
    ]
    nlp.initialize(lambda: examples)
    n_steps = args.epochs * -(-len(examples) // args.batch_size)
    rates = warmup_linear(args.learn_rate, round(args.warmup * n_steps), n_steps)
    optimizer = Adam(rates, L2=0.0, grad_clip=MAX_NORM)
    for _ in range(args.epochs):
        rng.shuffle(examples)
        for batch in minibatch(examples, args.batch_size):
            nlp.update(batch, sgd=optimizer)
            optimizer.step_schedules()
    return nlp


def predict(nlp: Any, sentences: List[Sentence]) -> Iterator[List[str]]:
    """The tags of sentences."""
    docs = (Doc(nlp.vocab, words=sentence.words) for sentence in sentences)
    for doc in nlp.pipe(docs, batch_size=PREDICT_BATCH):
        yield [
            f"{word.ent_iob_}-{word.ent_type_}" if word.ent_type_ else "O"
            for word in doc
        ]


if __name__ == "__main__":
    main()
