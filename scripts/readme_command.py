"""Prints a command of the README, by the name in the comment before it.

python scripts/readme_command.py tests
"""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def readme_command(name: str) -> str:
    """The command after `<!-- command: NAME -->`.
    RAISES (SystemExit): If there is none."""
    text = README.read_text(encoding="utf8")
    marker = re.escape(f"<!-- command: {name} -->")
    found = re.search(rf"{marker}\n```bash\n(.+?)\n```", text, re.DOTALL)
    if found is None:
        raise SystemExit(f"README.md has no command {name!r}")
    return found.group(1)


if __name__ == "__main__":
    print(readme_command(sys.argv[1]))
