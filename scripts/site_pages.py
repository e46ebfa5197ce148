"""Pages of the site that are made from other things: a hook of mkdocs.

README and its neighbours become pages. The reference is made from the entry points of
the package, from docstrings, and from the commands' own help. Links are turned from
files of the repository to pages of the site. Nothing may be loaded from elsewhere.
"""

import posixpath
import re
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

import typer
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from spacy_entlm.cli import entlm_cli

ROOT = Path(__file__).resolve().parents[1]
# Files of the repository, and the pages that they become.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "project/benchmarks/RESULTS.md": "results.md",
    "project/assets/news/DATA_CARD.md": "data_card.md",
    "project/assets/kinds/README.md": "kinds.md",
}
CARD = "MODEL_CARD.md"
CARDS = f"spacy_entlm/assets/*/{CARD}"
PICTURES = {".svg", ".png"}
PUBLIC = {
    "spacy_entlm.train": "spacy_entlm.training.recipe.train",
    "spacy_entlm.confidence": "spacy_entlm.pipeline.confidence.confidence",
    "spacy_entlm.add_lexicon": "spacy_entlm.pipeline.lexicon.add_lexicon",
    "spacy_entlm.calibrate": "spacy_entlm.training.calibrate.calibrate",
    "spacy_entlm.export": "spacy_entlm.pipeline.export.export",
    "spacy_entlm.active.rank": "spacy_entlm.active.ranking.rank",
    "spacy_entlm.evaluation.pages.displacy_options": (
        "spacy_entlm.evaluation.pages.displacy_options"
    ),
}
METHODS = [
    *("add_label", "predict", "pipe", "set_annotations", "initialize", "update"),
    *(
        "rehearse",
        "get_loss",
        "score",
        "to_disk",
        "from_disk",
        "to_bytes",
        "from_bytes",
    ),
]
# A link, or code, in which nothing is a link.
LINK = re.compile(
    r"^```.*?^```$|(?P<image>!?)\[(?P<text>(?:`[^`]*`|[^\]`])*)\]\((?P<link>[^)\s]+)\)"
    r"|`[^`\n]+`",
    re.DOTALL | re.MULTILINE,
)
LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"?(https?:)?//")


def sources() -> Dict[str, str]:
    """Files that become pages, and the pages' names."""
    cards = {
        path.relative_to(ROOT).as_posix(): f"model_{path.parent.name}.md"
        for path in ROOT.glob(CARDS)
    }
    pages = {**PAGES, **cards}
    return {name: page for name, page in pages.items() if (ROOT / name).exists()}


def on_config(config: Any) -> Any:
    """Add the cards of models to the explanations."""
    (part,) = (each for each in config["nav"] if "Explanation" in each)
    for name, page in sources().items():
        if name.endswith(CARD):
            model = Path(name).parent.name
            part["Explanation"].append({f"The model {model}": page})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made."""
    made = {
        "reference/python.md": python_page(),
        "reference/settings.md": settings_page(),
        "reference/commands.md": commands_page(),
    }
    for name, page in sources().items():
        made[page] = (ROOT / name).read_text(encoding="utf8")
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    for name in sources():
        for path in (ROOT / name).parent.glob("*.svg"):
            files.append(File.generated(config, path.name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Turn links to files of the repository into links to pages."""
    by_page = {page: name for name, page in sources().items()}
    source = by_page.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def turned(found: "re.Match[str]") -> str:
        if found["link"] is None:
            return found[0]
        target = site_link(source, page.file.src_uri, found["link"])
        if target is None:
            return found["text"]
        return f"{found['image']}[{found['text']}]({target})"

    return LINK.sub(turned, markdown)


def site_link(source: str, page: str, link: str) -> Optional[str]:
    """A link of a file as one of its page; None: to a file that is no page.
    source: The file, in the repository. page: What it becomes."""
    if "://" in link or link.startswith(("#", "mailto:")):
        return link
    name, sign, anchor = link.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), name))
    if path in sources():
        target = sources()[path]
    elif path.startswith("docs/"):
        target = path.removeprefix("docs/")
    elif Path(path).suffix in PICTURES:
        target = posixpath.basename(path)
    else:
        return None
    here = posixpath.dirname(page) or "."
    return f"{posixpath.relpath(target, here)}{sign}{anchor}"


def python_page() -> str:
    """Functions that a user calls, and the component."""
    lines = [
        "# Python",
        "",
        "Functions that you call, and the methods of the component.",
    ]
    for name, path in PUBLIC.items():
        lines += ["", f"## `{name}`", "", f"::: {path}"]
    lines += ["", "## The component `entlm_ner`"]
    lines += ["", "::: spacy_entlm.pipeline.entlm_ner.EntLMNER"]
    lines += ["    options:", "      inherited_members: true"]
    lines += [f"      members: [{', '.join(METHODS)}]"]
    return "\n".join([*lines, ""])


def entry_points() -> Iterator[Tuple[str, str, str]]:
    """Group, registered name, and the function's path, of the installed package."""
    for entry in distribution("spacy-entlm").entry_points:
        yield entry.group, entry.name, entry.value.replace(":", ".")


def settings_page() -> str:
    """What a config may name, with its settings."""
    lines = ["# Settings", "", "All that a config file may name, with its settings."]
    for group, name, path in entry_points():
        if group != "spacy_cli":
            kind = group.split("_", 1)[1]
            lines += ["", f"## `{name}`", "", f"In the registry `{kind}`."]
            lines += ["", f"::: {path}"]
    config = (ROOT / "configs" / "entlm.cfg").read_text(encoding="utf8").strip()
    lines += ["", "## The whole config", "", "`configs/entlm.cfg`:", ""]
    return "\n".join([*lines, "```ini", config, "```", ""])


def commands_page() -> str:
    """The help of every command."""
    lines = ["# Commands", "", "Each begins with `python -m spacy entlm`."]
    for words, command in _commands(typer.main.get_command(entlm_cli), []):
        lines += ["", f"## `{' '.join(words)}`", "", *_help(command.help or "")]
        lines += ["", "| argument | what it is | default |", "| --- | --- | --- |"]
        for param in command.params:
            lines.append(f"| {_names(param)} | {_told(param)} | {_default(param)} |")
    return "\n".join([*lines, ""])


def _commands(command: Any, words: List[str]) -> Iterator[Tuple[List[str], Any]]:
    if not hasattr(command, "commands"):
        yield words, command
        return
    for name, part in sorted(command.commands.items()):
        yield from _commands(part, [*words, name])


def _help(text: str) -> Iterator[str]:
    """Paragraphs as they are; what stands in a fixed form as code."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            first, *lines = paragraph.strip("\b\n").splitlines()
            yield from ("", first, "", "```text")
            yield from (line.removeprefix("  ") for line in lines)
            yield "```"
        else:
            yield from ("", paragraph.strip())


def _names(param: Any) -> str:
    if param.param_type_name == "argument":
        return f"`{(param.metavar or param.name).strip('[]')}`"
    return ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))


def _told(param: Any) -> str:
    return (getattr(param, "help", None) or "").replace("|", "\\|").replace("\n", " ")


def _default(param: Any) -> str:
    if param.required:
        return "must be given"
    value = param.default
    return (
        f"`{value}`" if value not in (None, "", False) and not callable(value) else ""
    )


def on_post_build(config: Any) -> None:
    """RAISES (PluginError): If a page loads something from another server."""
    for path in Path(config["site_dir"]).rglob("*.html"):
        found = LOADED.search(path.read_text(encoding="utf8"))
        if found and 'rel="canonical"' not in found[0]:
            raise PluginError(f"{path} loads from another server: {found[0]}")
