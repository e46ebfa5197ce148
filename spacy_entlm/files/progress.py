"""Where and how wide bars are that show the progress of work."""

import shutil
from typing import Any, Dict


def bar_place() -> Dict[str, Any]:
    """Arguments of `tqdm`: there is no bar where stderr is no terminal; and a terminal
    that does not know how wide it is, in which `tqdm` would show nothing, is taken for
    one of 80 columns."""
    return {"disable": None, "ncols": shutil.get_terminal_size().columns - 1}
