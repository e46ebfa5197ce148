"""Pages that need nothing beside them, from templates, with pictures by matplotlib (the
extra `plot`); one colour per class on all."""

import io
import re
import warnings
from collections import Counter
from importlib.util import find_spec
from itertools import chain
from typing import Any, Dict, Iterable, List, Optional, Tuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import select_autoescape
from markupsafe import Markup
from spacy.language import Language

# "Light" of Paul Tol's colour schemes: dark text is readable on each, and people
# with impaired colour vision can tell them apart.
PALETTE = (
    *("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff"),
    *("#44bb99", "#bbcc33", "#aaaa00", "#dddddd"),
)
# Not allowed in HTML: control characters except white space, and lone surrogates.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
NOTHING = "–"
# Of `predictions_page`: texts that are shown at once, and entities in the list of the
# most frequent ones.
TEXTS_OF_PAGE, N_FREQUENT = 200, 50
# Percent of a colour: from where on dark letters stand on it.
STRONG = 60
HOW_TO_GET = "For the picture: pip install matplotlib, and run this again"
# Texts stay texts; names inside the SVG are the same each time.
SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "entlm"}


def label_colors(labels: Iterable[str]) -> Dict[str, str]:
    """Colours of classes (to stand behind dark text), by their place in the alphabet.
    More classes than there are colours share some."""
    ordered = sorted(set(labels))
    return {label: PALETTE[i % len(PALETTE)] for i, label in enumerate(ordered)}


def displacy_options(nlp: Language) -> Dict[str, Any]:
    """Options for spaCy's displacy with the style "ent": "ents", all classes that the
    pipeline finds, and "colors".

    EXAMPLE:
        from spacy import displacy
        from spacy_entlm.evaluation.pages import displacy_options

        options = displacy_options(nlp)
        page = displacy.render(doc, style="ent", options=options, page=True)
    """
    own = (x for x in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(x).assigns)
    colors = label_colors(chain.from_iterable(nlp.pipe_labels.get(x, []) for x in own))
    return {"ents": list(colors), "colors": colors}


def printable(text: str) -> str:
    """A text with a mark for each character that no page may hold."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def number(value: Any) -> str:
    """A number for a table, or a dash for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def render_page(template: str, **values: Any) -> str:
    """Fill a template, by its name. In one for .html, values are escaped, but for
    Markup."""
    environment = Environment(
        loader=PackageLoader("spacy_entlm", "evaluation/templates"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["number"] = number
    environment.globals["how_to_get"] = HOW_TO_GET
    return printable(environment.get_template(template).render(values))


def predictions_page(found: Iterable[Dict[str, Any]], title: str) -> str:
    """A page (str) with texts and the entities that were found in them, 200 texts at a
    time, which can be chosen by class, confidence and words.

    found (Iterable[Dict]): {"text", "spans": [{"start", "end", "label", "score"?}]},
        spans in order; one that overlaps the one before is left out.
    """
    texts: List[List[Dict[str, Any]]] = []
    for entry in found:
        text, end = entry["text"], 0
        texts.append([])
        for span in entry["spans"]:
            if span["start"] < end:
                continue  # of span groups some may overlap
            texts[-1].append({"text": text[end : span["start"]], "label": None})
            end = span["end"]
            part = {"score": None, **span, "text": text[span["start"] : end]}
            texts[-1].append({**part, "sure": _strength(part["score"])})
        texts[-1].append({"text": text[end:], "label": None})
    entities = [part for parts in texts for part in parts if part["label"]]
    times = Counter((part["text"], part["label"]) for part in entities)
    return render_page(
        "predictions.html",
        title=title,
        texts=texts,
        colors=label_colors(part["label"] for part in entities),
        frequent=[(*key, n) for key, n in times.most_common(N_FREQUENT)],
        size=TEXTS_OF_PAGE,
        strong=STRONG,
    )


def _strength(score: Optional[float]) -> int:
    """Of the colour of an entity, in percent, from its confidence. Neither light nor
    dark letters can be read well on those between weak and strong."""
    if score is None:
        return 100
    return round(8 + 56 * score if score < 0.5 else STRONG + 80 * (score - 0.5))


def has_matplotlib() -> bool:
    """Whether pictures can be drawn."""
    return find_spec("matplotlib") is not None


def new_figure(width: float = 6.0, height: float = 3.5) -> Tuple[Any, Any]:
    """A figure and its axes, that needs no screen. Sizes are inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def as_svg(figure: Any) -> Markup:
    """A figure as an <svg> element, whose black is the text colour of the page."""
    import matplotlib

    buffer = io.StringIO()
    no_description: Any = dict.fromkeys(["Date", "Creator", "Format", "Type"])
    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings():
        # The fonts of the browser have what matplotlib's lack.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(buffer, format="svg", transparent=True, metadata=no_description)
    text = buffer.getvalue()
    return Markup(text[text.index("<svg") :].replace("#000000", "currentColor"))
