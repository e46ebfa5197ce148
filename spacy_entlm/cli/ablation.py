"""The command `benchmark ablation`: one curve of the paper on any data."""

from pathlib import Path
from typing import Annotated, Any, Dict, List, Optional, Sequence

import typer
from tqdm import tqdm

from ..evaluation.compare.errors import BenchmarkError
from ..label_words.search import (
    CONFLICT_THRESHOLD,
    DATA_LM,
    METHODS,
    TOP_K,
    SearchSettings,
)
from ..lexicon.match import EXACT
from ._lexicon import CaseOption, LabelOption, MapOption, label_map
from ._util import LangOption, echo_lines, one_line_errors
from .benchmark import (
    GpusOption,
    JobsOption,
    LimitOption,
    benchmark_cli,
    finish,
    parse_gpus,
)

NAMES = ("threshold", "top-k", "lexicon-size", "unlabeled-size", "domain")
PLOTS = (".png", ".svg")

NameArgument = Annotated[
    str,
    typer.Argument(metavar="NAME", help=" | ".join(NAMES), show_default=False),
]
OutArgument = Annotated[
    Path,
    typer.Argument(
        metavar="OUT",
        help="Folder: NAME.json and the plot go there, the records to OUT/NAME",
        show_default=False,
    ),
]
TextOption = Annotated[
    Path,
    typer.Option(
        "--text",
        help="Text in which label words are searched: annotated with a lexicon, in any "
        "form that `convert` reads, or, with --lexicon, plain too",
        show_default=False,
    ),
]
BackboneOption = Annotated[
    str,
    typer.Option(
        "--backbone", help="Masked LM, a folder or a hub name", show_default=False
    ),
]
DataOption = Annotated[
    Optional[Path],
    typer.Option(
        "--data",
        help="Folder with test.* and {K}shot/{split}.*, or train.* to sample from",
        show_default=False,
    ),
]
TrainOption = Annotated[
    Optional[Path],
    typer.Option("--train", help="File to sample from, without --data"),
]
TestOption = Annotated[
    Optional[Path], typer.Option("--test", help="Test file, without --data")
]
LexiconOption = Annotated[
    Optional[Path],
    typer.Option(
        "--lexicon",
        help="Lexicon; without it the names annotated in --text stand for it",
        show_default=False,
    ),
]
GeneralOption = Annotated[
    Optional[Path],
    typer.Option("--general", help="domain: plain text of no domain"),
]
CountsOption = Annotated[
    Optional[List[Path]],
    typer.Option(
        "--lm-counts", metavar="COUNTS.json", help="LM counts, in place of counting"
    ),
]
ValuesOption = Annotated[
    Optional[str],
    typer.Option("--values", help="Values, eg 0.5,0.6", show_default="the paper's"),
]
SearchOption = Annotated[
    str, typer.Option("--search", help=f"What ranks words: {', '.join(METHODS)}")
]
RateOption = Annotated[
    Optional[float],
    typer.Option("--learn-rate", show_default="what suits the backbone"),
]
PlotOption = Annotated[
    str, typer.Option("--plot", help=f"Form of the plot: {', '.join(PLOTS)}")
]


@benchmark_cli.command("ablation")
def ablation_cli(
    name: NameArgument,
    out: OutArgument,
    text: TextOption,
    backbone: BackboneOption,
    data: DataOption = None,
    train: TrainOption = None,
    test: TestOption = None,
    lexicon: LexiconOption = None,
    general: GeneralOption = None,
    lm_counts: CountsOption = None,
    values: ValuesOption = None,
    shots: Annotated[str, typer.Option(help="K, eg 5,10")] = "5",
    splits: Annotated[str, typer.Option(help="Splits")] = "1,2,3",
    seeds: Annotated[str, typer.Option(help="Seeds of the trainings")] = "1",
    methods: Annotated[str, typer.Option(help="Methods")] = "entlm",
    learn_rate: RateOption = None,
    epochs: Annotated[int, typer.Option(help="Of a training")] = 20,
    search: SearchOption = DATA_LM,
    top_k: Annotated[int, typer.Option(help="Words of a class")] = TOP_K,
    threshold: Annotated[
        float, typer.Option(help="Of the conflict filter")
    ] = CONFLICT_THRESHOLD,
    smoothing: Annotated[
        bool, typer.Option("--smoothing", help="As in `search`")
    ] = False,
    min_words: Annotated[int, typer.Option(help="Of sampling, as in `sample`")] = 0,
    seed: Annotated[int, typer.Option(help="Of what is drawn from the text")] = 1,
    case: CaseOption = EXACT,
    map_: MapOption = None,
    label: LabelOption = None,
    stop_words: Annotated[
        bool, typer.Option("--stop-words", help="Leave out names that are stop words")
    ] = False,
    limit: LimitOption = None,
    jobs: JobsOption = 1,
    gpus: GpusOption = None,
    plot: PlotOption = PLOTS[0],
    lang: LangOption = "en",
) -> None:
    """Measure F1 over the conflict threshold, the number of label words, the size of
    the lexicon or of the unlabeled text, or its domain.

    Points whose label words are the same are trained once. A run that was stopped goes
    on where it was.

    \b
    Example:
      python -m spacy entlm benchmark ablation top-k build/ablations \\
        --text distant.jsonl --data conll03 --backbone bert-base-cased
    """
    with one_line_errors():
        _check(name, plot)
        from ..evaluation.compare.ablation import AblationPlan
        from ..evaluation.compare.config import Lexicon

        names = None
        if lexicon is not None:
            mapped = label_map(map_)
            names = Lexicon(
                path=lexicon, map=mapped, label=label, case=case, stop_words=stop_words
            )
        plan = AblationPlan(
            name,
            parse_values(name, values),
            text,
            backbone,
            names,
            general,
            lm_counts or [],
            SearchSettings(search, top_k, threshold, smoothing),
            seed=seed,
            lang=lang,
        )
        files = {"data": data, "train": train, "test": test, "limit": limit}
        dataset = {**files, "min_words": min_words, "lang": lang}
        grid = {
            "datasets": {data.name if data else str(test): dataset},
            "backbones": {
                Path(backbone).name: {"path": backbone, "learn_rate": learn_rate}
            },
            "shots": _ints("--shots", shots),
            "splits": _ints("--splits", splits),
            "seeds": _ints("--seeds", seeds),
            "methods": methods.split(","),
            "settings": {"epochs": epochs},
        }
        _run(plan, grid, out, plot, {"n_processes": jobs, "gpus": parse_gpus(gpus)})


def _run(
    plan: Any, grid: Dict[str, Any], out: Path, plot: str, processes: Dict[str, Any]
) -> None:
    """plan (AblationPlan). grid: of the benchmark. processes: of `run_benchmark`."""
    from ..evaluation.compare.ablation import (
        ablation_config,
        stored_points,
        summarise,
        summary_lines,
        write_json,
    )
    from ..evaluation.compare.plots import (
        HOW_TO_GET,
        has_matplotlib,
        plot_ablation,
        save,
    )
    from ..evaluation.compare.run import run_benchmark

    def notify(line: str) -> None:
        echo_lines([line])

    def progress(chunks: Sequence[Any]) -> Any:
        return tqdm(chunks, unit="batch", leave=False)

    plan.check()
    folder = out / plan.name
    # Wrong options of the grid shall come up before the search.
    ablation_config([], folder, grid)
    points = stored_points(folder, plan, notify=notify, progress=progress)
    config = ablation_config(points, folder, grid)
    result = run_benchmark(config, folder, notify=notify, **processes)
    summary = summarise(plan.as_json(), points, result.records)
    path = out / f"{plan.name}.json"
    write_json(path, summary)
    echo_lines([*summary_lines(summary), f"Wrote {path}"])
    if has_matplotlib():
        save(plot_ablation(summary)[1], path.with_suffix(plot))
        echo_lines([f"Wrote {path.with_suffix(plot)}"])
    else:
        echo_lines([HOW_TO_GET])
    finish(result, folder)


def _check(name: str, plot: str) -> None:
    if name not in NAMES:
        raise BenchmarkError(
            f"unknown ablation {name!r}: choose from {', '.join(NAMES)}"
        )
    if plot not in PLOTS:
        raise BenchmarkError(f"--plot is {' or '.join(PLOTS)}, not {plot!r}")


def parse_values(name: str, text: Optional[str]) -> List[Any]:
    """Read the value of --values.

    name (str): The ablation. text (Optional[str]): Values with commas between them;
        None: those of the paper.
    RAISES (BenchmarkError): If one is no value of this ablation.
    """
    from ..evaluation.compare.points import VALUES

    if text is None:
        return list(VALUES[name])
    kind = type(VALUES[name][0])
    try:
        values = [kind(part.strip()) for part in text.split(",")]
    except ValueError as err:
        raise BenchmarkError(f"--values of {name}: {err}") from err
    unknown = [v for v in values if kind is str and v not in VALUES[name]]
    if unknown or len(set(values)) < len(values):
        raise BenchmarkError(f"--values of {name}: unknown or double: {text!r}")
    return values


def _ints(option: str, text: str) -> List[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as err:
        raise BenchmarkError(f"{option} is a list such as 1,2,3, not {text!r}") from err
