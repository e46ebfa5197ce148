"""Pictures by matplotlib (the extra `plot`), as elements of a page."""

import io
import warnings
from importlib.util import find_spec
from typing import Any, Tuple

from markupsafe import Markup

HOW_TO_GET = "For the picture: pip install matplotlib, and run this again"
# Texts stay texts; names inside the SVG are the same each time.
SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "entlm"}


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
