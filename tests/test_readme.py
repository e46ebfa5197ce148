"""The README and the pages of the docs show what is so."""

import ast
import importlib.util
import inspect
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import spacy
import srsly
import typer
from thinc.api import Config

import spacy_entlm
from spacy_entlm.cli import entlm_cli
from spacy_entlm.evaluation.compare.config import Comparison
from spacy_entlm.model.entlm import build_entlm_v1

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf8")
DOCS = sorted((ROOT / "docs").glob("*.md"))
NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))
RESULTS = ROOT / "project" / "benchmarks" / "RESULTS.md"
CARDS = sorted((ROOT / "spacy_entlm" / "assets").glob("*/MODEL_CARD.md"))
OTHERS = [ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md")]
PAGES = [ROOT / "README.md", *DOCS, *OTHERS, RESULTS]


def load_script(name):
    path = ROOT / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = load_script("snippets")

CODE_BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?:^ {4}.*\n)+", re.MULTILINE)
INLINE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
ANCHOR = re.compile(r"[^\w\- ]")
FILE = re.compile(r"(?<![\w/.-])(?:project|configs|tests)/[\w/.-]*\.[a-z]\w*")
# What a shell ends a command with.
END_OF_COMMAND = {"&&", "|", ">", ";"}


def command(name):
    found = re.search(
        rf"<!-- command: {name} -->\n```bash\n(.+?)\n```", README, flags=re.DOTALL
    )
    assert found, f"README has no command {name}"
    return found.group(1)


def read(path):
    return path.read_text(encoding="utf8")


def prose(text):
    """A page without its code."""
    return INLINE.sub("", INDENTED.sub("", CODE_BLOCK.sub("", text)))


def anchors(text):
    """The names under which the headings of a page can be linked to."""
    titles = re.findall(r"^#+ (.+)$", CODE_BLOCK.sub("", text), re.MULTILINE)
    return {
        ANCHOR.sub("", title.replace("`", "").lower()).replace(" ", "-")
        for title in titles
    }


def code_lines(text):
    """Lines of code, in blocks or in a sentence, continued lines put together."""
    text = text.replace("\\\n", " ")
    for _, block in CODE_BLOCK.findall(text):
        yield from block.splitlines()
    rest = CODE_BLOCK.sub("", text)
    for block in INDENTED.findall(rest):
        yield from block.splitlines()
    for found in INLINE.findall(INDENTED.sub("", rest)):
        yield found.replace("\n", " ")


def calls(text, start):
    """Arguments of the commands that begin with some words."""
    for line in code_lines(text):
        if start in line:
            arguments = shlex.split(line.split(start, 1)[1], comments=True)
            yield [
                argument
                for i, argument in enumerate(arguments)
                if not END_OF_COMMAND.intersection(arguments[: i + 1])
            ]


def every_call(start):
    return [
        pytest.param(arguments, id=f"{path.stem}: {' '.join(arguments)[:60]}")
        for path in PAGES
        for arguments in calls(read(path), start)
    ]


def test_project_documentation_is_current():
    result = subprocess.run(
        [sys.executable, "-m", "spacy", "project", "document", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() in README


@pytest.mark.parametrize("name", ["result", "tests"])
def test_commands_are_one_line_each(name):
    assert len(command(name).splitlines()) == 1


def test_ci_runs_the_test_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf8")
    assert "readme_command tests" in script
    assert "-m pytest" in command("tests")


def pages_with_code():
    return [
        pytest.param(path, id=path.stem, marks=pytest.mark.slow)
        for path in (ROOT / "README.md", *DOCS, *NOTEBOOKS)
        if script.read_snippets(path)
    ]


# spaCy's `package` leaves it to Python to close its files.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("path", pages_with_code())
def test_code_of_a_page_prints_what_the_page_says(path):
    for snippet, printed in script.run_page(path):
        if snippet.output is not None:
            problem = script.difference(snippet.output, printed)
            assert problem is None, f"{problem}\nafter\n{snippet.code}"


@pytest.mark.parametrize(
    "told, printed",
    [
        ("Lisbon city 0.71", "Lisbon city 0.41"),
        ("Lisbon city 0.71", "Porto city 0.71"),
        ("a\nb", "a"),
        ("a", "a\nb"),
        ("...\nb", "a\nc"),
        ("a\n...\nb", "a\nb\nc"),
    ],
)
def test_an_output_that_is_another_is_told(told, printed):
    assert script.difference(told, printed)


@pytest.mark.parametrize(
    "told, printed",
    [
        ("Lisbon city 0.71", "Lisbon  city 0.69\n"),
        ("...\nb", "a\nb"),
        ("a\n...\nb", "a\nb"),
        ("a\n...", "a\nb\nc"),
    ],
)
def test_an_output_that_says_the_same_is_accepted(told, printed):
    assert script.difference(told, printed) is None


def test_every_page_can_be_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        for link in LINK.findall(prose(read(page))):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in reached:
                waiting.append(target)
    assert set(DOCS) <= reached


@pytest.mark.parametrize("path", [*PAGES, *CARDS], ids=lambda path: path.stem)
def test_links_lead_somewhere(path):
    text = read(path)
    for link in LINK.findall(prose(text)):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(read(target)), link


@pytest.mark.parametrize("arguments", every_call("python -m spacy entlm "))
def test_commands_are_there_with_their_options(arguments):
    found = typer.main.get_command(entlm_cli)
    while hasattr(found, "commands"):
        name = arguments.pop(0) if arguments else "..."
        if name == "...":
            return
        assert name in found.commands, f"no command {name}"
        found = found.commands[name]
    params = [param for param in found.params if param.param_type_name == "option"]
    options = {
        name for param in params for name in (*param.opts, *param.secondary_opts)
    }
    given = {argument.split("=")[0] for argument in arguments}
    given = {argument for argument in given if re.match(r"--[a-z]", argument)}
    if found.context_settings.get("ignore_unknown_options"):
        given = {option for option in given if "." not in option}  # of the config
    assert given <= options, f"no option {given - options} of {found.name}"
    for param in params:
        if param.required and arguments:  # a name alone stands for the command
            assert given & set(param.opts), f"{found.name} needs {param.opts}"


@pytest.mark.parametrize("arguments", every_call("spacy project run "))
def test_the_project_has_these_commands_and_variables(arguments):
    project = srsly.read_yaml(ROOT / "project.yml")
    names = {entry["name"] for entry in project["commands"]} | set(project["workflows"])
    assert arguments[0] in names
    for argument in arguments:
        if argument.startswith("--vars."):
            assert argument.split("=")[0].removeprefix("--vars.") in project["vars"]


@pytest.mark.parametrize("arguments", every_call("python project/benchmarks/"))
def test_scripts_have_these_options(arguments):
    code = read(ROOT / "project" / "benchmarks" / arguments[0])
    for argument in arguments:
        if re.match(r"--[a-z]", argument):
            name = argument[2:].split("=")[0].removeprefix("no-").replace("-", "_")
            assert re.search(rf"\b{name}\b", code), f"no option {argument}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_files_of_the_repository_are_there(path):
    for name in FILE.findall(read(path)):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_functions_of_a_config_are_registered(path):
    registered = read(ROOT / "pyproject.toml")
    for name in re.findall(r"spacy-entlm\.\w+\.v\d", read(path)):
        assert f'"{name}"' in registered, name


@pytest.mark.parametrize("path", [*DOCS, ROOT / "README.md"], ids=lambda p: p.stem)
def test_python_code_has_no_slips(path):
    for language, code in CODE_BLOCK.findall(read(path)):
        if language == "python":
            ast.parse(code)


@pytest.mark.parametrize("path", [*DOCS, ROOT / "README.md"], ids=lambda p: p.stem)
def test_commands_in_a_block_are_run_or_it_is_said_why_not(path):
    of_readme = [command("result") + "\n", command("tests") + "\n"]
    for found in script.BLOCK.finditer(read(path)):
        if found["language"] == "bash" and found["output"] is None:
            assert found["reason"] or found["code"] in of_readme, found["code"]


def indented_python():
    for path in (ROOT / "README.md", *DOCS):
        for block in INDENTED.findall(CODE_BLOCK.sub("", read(path))):
            if re.search(r"\bnlp\b", block):
                code = textwrap.dedent(block)
                yield pytest.param(code, id=f"{path.stem}: {code[:40]}")


@pytest.mark.parametrize("code", list(indented_python()))
def test_python_that_is_not_run_calls_what_is_there(code):
    for node in ast.walk(ast.parse(code)):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if called.startswith("spacy_entlm."):
            function = getattr(spacy_entlm, called.removeprefix("spacy_entlm."))
            named = {given.arg: given.value for given in node.keywords}
            inspect.signature(function).bind(*node.args, **named)


@pytest.mark.parametrize("path", [*DOCS, ROOT / "README.md"], ids=lambda p: p.stem)
def test_settings_and_data_in_a_block_can_be_read(path):
    for language, text in CODE_BLOCK.findall(read(path)):
        if language == "ini":
            above = ["[components]", "[components.entlm_ner]"]  # a page leaves them out
            missing = [f"{section}\n\n" for section in above if section not in text]
            Config().from_str("".join(missing) + text, interpolate=False)
        elif language == "json":
            values = text.splitlines() if "}\n{" in text else [text]
            assert all(srsly.json_loads(value) for value in values)


def test_config_of_a_comparison_is_one():
    text = read(ROOT / "docs" / "comparing.md")
    (grid,) = (code for lang, code in CODE_BLOCK.findall(text) if lang == "yaml")
    Comparison.model_validate(srsly.yaml_loads(grid))


def test_picture_of_the_rooms_shows_the_imports():
    rooms = load_script("rooms")
    names = rooms.rooms(read(ROOT / "pyproject.toml"))
    picture = read(ROOT / "docs" / "images" / "rooms.svg")
    assert picture == rooms.draw(names, rooms.uses(names)), (
        "python scripts/rooms.py docs/images/rooms.svg"
    )


@pytest.mark.parametrize(
    "script, name", [("picture", "entities"), ("drawing", "entlm")]
)
def test_pictures_are_those_that_their_scripts_draw(script, name):
    path = ROOT / "docs" / "images" / f"{name}.svg"
    message = f"python scripts/{script}.py {path.relative_to(ROOT)}"
    assert read(path) == load_script(script).picture(), message


def names_in(path):
    """Functions, classes and what gets a value in a module."""
    for node in ast.walk(ast.parse(read(path))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_architecture_names_what_is_there():
    text = read(ROOT / "docs" / "architecture.md")
    after = re.findall(r"`([\w/]+\.py)`(?: \||,|, whose| has)\s`(\w+)`", text)
    before = re.findall(r"`(\w+)` (?:in|of) `([\w/]+\.py)`", text)
    assert len(after) > 30 and len(before) > 3
    for file, name in [*after, *((file, name) for name, file in before)]:
        assert name in names_in(ROOT / "spacy_entlm" / file), f"{file} has no {name}"


def test_files_of_the_architecture_are_there():
    text = read(ROOT / "docs" / "architecture.md")
    for file in re.findall(r"`(\w+/[\w/]+\.\w+)`", text):
        assert any((top / file).is_file() for top in (ROOT, ROOT / "spacy_entlm")), file


def test_table_of_rooms_names_them_in_their_order():
    text = read(ROOT / "docs" / "architecture.md")
    rooms = load_script("rooms").rooms(read(ROOT / "pyproject.toml"))
    assert re.findall(r"^\| `(\w+)/` \|", text, re.MULTILINE) == rooms


def test_tables_of_settings_name_all_with_their_defaults():
    text = read(ROOT / "docs" / "component.md")
    told = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.MULTILINE))
    config = spacy.blank("en").get_factory_meta("entlm_ner").default_config
    parameters = inspect.signature(build_entlm_v1).parameters.values()
    model = {x.name: x.default for x in parameters if x.default is not x.empty}
    settings = {**model, **config, **config["model"]}
    settings = {
        x: settings[x] for x in settings if x not in ("model", "@architectures")
    }
    assert set(settings) == set(told)
    for name, value in settings.items():
        if not (isinstance(value, dict) and value):  # a function: said in words
            shown = told[name].strip("`")
            assert shown == srsly.json_dumps(value), name
