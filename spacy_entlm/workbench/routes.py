"""The calls of the page: what is read, written, and begun."""

import secrets
from typing import Any, Dict, List, Literal, Optional, Sequence, Set, Tuple

from fastapi import APIRouter, HTTPException, Response
from pydantic import Field, StrictBool, StrictInt

from ..corpus.docs import writer_of
from ..corpus.forms.out import WRITERS
from ..serving.http import Body
from .docs import PRODIGY, export
from .listing import ALL, COMING, Listing
from .names import Names
from .progress import progress
from .runs import REPORT, RUNNING, TRAIN, WHEEL, WHEELS, Runs
from .store import CHOSEN, Conflict, Store

DATA = "data"
# The page of a cross-validation has its own style, and no script.
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
MAX_MARKS = 5000
# Of a call: names of classes, words that are looked for, texts that are mended.
MAX_NAME, MAX_WORDS, MAX_TEXTS = 100, 300, 1000
# Least confidence of what is shown, before a pipeline says what suits it.
LEAST = 0.3
MAX_DOUBTFUL = 100


class Answer(Body):
    """Marks of a text: first word, end, number of the class."""

    answer: str
    marks: List[Tuple[StrictInt, StrictInt, StrictInt]] = Field(max_length=MAX_MARKS)
    version: StrictInt


class Version(Body):
    """Of a text, as it was shown."""

    version: StrictInt


class Part(Body):
    """Of the data."""

    is_test: StrictBool


class Name(Body):
    """Of a class."""

    name: str = Field(max_length=MAX_NAME)


class Change(Body):
    """Of a class: what changes."""

    name: Optional[str] = Field(None, max_length=MAX_NAME)
    words: Optional[str] = Field(None, max_length=MAX_WORDS)
    color: Optional[str] = Field(None, pattern="^#[0-9a-f]{6}$")


class Into(Body):
    """The class that another one becomes; None: its marks go."""

    into: Optional[StrictInt] = None


class Numbers(Body):
    """Classes in their order."""

    numbers: List[StrictInt] = Field(max_length=MAX_TEXTS)


class Order(Body):
    """Of the texts: as they were chosen, or as they come."""

    order: Literal["chosen", "coming"]


class Least(Body):
    """Confidence of what is shown."""

    least: float = Field(ge=0, le=1)


class Form(Body):
    """In which data are written, by its name."""

    form: str = PRODIGY


class Mend(Body):
    """Words that become a class, or none, in some texts."""

    words: str = Field(max_length=MAX_WORDS)
    class_: Optional[StrictInt] = Field(None, alias="class")
    texts: List[StrictInt] = Field(max_length=MAX_TEXTS)


def reading_routes(runs: Runs) -> APIRouter:
    """What is read."""
    router, store = APIRouter(), runs.store
    names, listing = Names(store), Listing(store)

    @router.get("/state")
    def state() -> Dict[str, Any]:
        """All but texts: classes, counts, the run, and the figures of all trainings."""
        runs.find_killed()
        runs.look_again()
        return _state(runs)

    @router.get("/next")
    def next_text(other_than: int = 0) -> Optional[Dict[str, Any]]:
        """The text to show next, None when all are answered."""
        number = store.next_text(other_than=other_than)
        return None if number is None else names.text(number)

    @router.get("/texts/{number}")
    def text(number: int) -> Dict[str, Any]:
        """One text."""
        found = names.text(number)
        if found is None:
            raise HTTPException(404, f"There is no text {number}")
        return found

    @router.get("/texts/{number}/neighbour")
    def neighbour(number: int, step: int) -> Optional[Dict[str, Any]]:
        """The text that was answered before another one, or after it."""
        found = store.neighbour(number, step)
        return None if found is None else names.text(found)

    @router.get("/list")
    def texts(
        words: str = "",
        kind: str = ALL,
        class_: int = 0,
        below: float = 1.0,
        order: str = COMING,
        page: int = 0,
    ) -> Dict[str, Any]:
        """A page of the texts."""
        return listing.texts(
            words=words[:MAX_WORDS],
            kind=kind,
            class_=class_,
            below=below,
            order=order,
            least=_least(store),
            page=max(0, page),
        )

    @router.get("/entities")
    def entities(
        class_: int, words: str = "", mixed: bool = False, page: int = 0
    ) -> Dict[str, Any]:
        """A page of the strings of a class."""
        return listing.entities(
            class_,
            words=words[:MAX_WORDS],
            mixed=mixed,
            least=_least(store),
            page=max(0, page),
        )

    @router.get("/contexts")
    def contexts(words: str) -> Dict[str, Any]:
        """Where some words stand."""
        return listing.contexts(words[:MAX_WORDS])

    return router


def writing_routes(runs: Runs) -> APIRouter:
    """What a person changes."""
    router, store = APIRouter(), runs.store
    listing = Listing(store)

    @router.put("/texts/{number}")
    def answer(number: int, body: Answer) -> Dict[str, Any]:
        """Marks, and an answer."""
        return store.answer(number, body.answer, body.marks, body.version)

    @router.post("/texts/{number}/back")
    def take_back(number: int, body: Version) -> Dict[str, Any]:
        """A text without answer and marks."""
        return store.take_back(number, body.version)

    @router.put("/texts/{number}/part")
    def move(number: int, body: Part) -> Dict[str, Any]:
        """To the test part, or from it."""
        return store.move(number, body.is_test)

    @router.post("/undo")
    def undo() -> Optional[Dict[str, Any]]:
        """Take the last change back."""
        undone = store.undo()
        runs.look()
        return undone

    @router.post("/redo")
    def redo() -> Optional[Dict[str, Any]]:
        """Do again what was taken back."""
        done = store.redo()
        runs.look()
        return done

    @router.post("/mend")
    def mend(body: Mend) -> int:
        """Mark some words in several texts."""
        return listing.mend(body.words, body.class_, body.texts)

    @router.put("/order")
    def set_order(body: Order) -> None:
        """How texts come."""
        store.set_setting("order", body.order)

    @router.put("/least")
    def set_least(body: Least) -> None:
        """The least confidence of what is shown."""
        store.set_setting("least", str(body.least))

    @router.post("/export")
    def write_data(body: Form = Form()) -> Dict[str, Any]:
        """A folder of data."""
        form = writer_of(body.form).name
        # Beside what this workbench reads again, which has all that it knows.
        folder = runs.folder / (DATA if form == PRODIGY else f"{DATA}-{form}")
        return {"files": export(store, folder, form), "folder": str(folder)}

    return router


def class_routes(runs: Runs) -> APIRouter:
    """What a person does with classes. What is found by their names is looked for."""
    router, store = APIRouter(), runs.store

    @router.post("/classes")
    def add(body: Name) -> Optional[int]:
        """A new class."""
        number = store.add_class(body.name)
        runs.look()
        return number

    @router.put("/classes/order")
    def order(body: Numbers) -> None:
        """Their order."""
        store.order_classes(body.numbers)

    @router.put("/classes/{number}")
    def change(number: int, body: Change) -> None:
        """Another name, meaning or colour."""
        store.change_class(number, **body.model_dump())
        runs.look()

    @router.post("/classes/{number}/remove")
    def remove(number: int, body: Into) -> int:
        """Take it away, or merge it into another one."""
        changed = store.remove_class(number, body.into)
        runs.look()
        return changed

    return router


def work_routes(runs: Runs) -> APIRouter:
    """What is begun in the background."""
    router = APIRouter()

    def begin(kind: str) -> int:
        number = runs.begin(kind)
        if number is None:
            raise Conflict("Something is running already: wait for its end")
        return number

    @router.post("/train")
    def start_training() -> int:
        """Train in the background."""
        return begin(TRAIN)

    @router.post("/wheel")
    def build_wheel() -> int:
        """Build a wheel in the background."""
        return begin(WHEEL)

    return router


def report_routes(runs: Runs, checked: Sequence[Any]) -> APIRouter:
    """A page that is opened in a window of its own, which cannot send the token: it
    sends a ticket that was given for one time. checked (Sequence): What checks the
    token."""
    router, path = APIRouter(), runs.folder / REPORT
    tickets: Set[str] = set()

    @router.post("/api/report", dependencies=checked)
    def give_ticket() -> str:
        """A ticket for the page of the cross-validation."""
        if not path.is_file():
            raise HTTPException(404, "There is no report: train first")
        ticket = secrets.token_urlsafe(24)
        tickets.add(ticket)
        return ticket

    @router.get("/report/{ticket}")
    def report(ticket: str) -> Response:
        """The page."""
        if ticket not in tickets or not path.is_file():
            raise HTTPException(404, "Open this page from the workbench")
        tickets.discard(ticket)
        headers = {"Content-Security-Policy": REPORT_POLICY}
        return Response(path.read_bytes(), media_type="text/html", headers=headers)

    return router


def _least(store: Store) -> float:
    """The least confidence of what is shown: a person's, else what suits a pipeline."""
    return float(store.setting("least", "") or store.setting("suits", str(LEAST)))


def _state(runs: Runs) -> Dict[str, Any]:
    store, run = runs.store, runs.latest()
    counts = store.counts()
    doubtful, trained = store.doubtful(), runs.trained()
    for before in trained[:-1]:  # nobody looks at those mistakes any more
        (before["scores"] or {}).pop("mistakes", None)
    wheels = runs.folder / WHEELS
    # First the one that has all that a workbench knows.
    forms = sorted(WRITERS, key=lambda writer: writer.name != PRODIGY)
    return {
        "classes": store.classes(),
        "counts": counts,
        "progress": progress(runs, counts),
        "order": store.setting("order", CHOSEN),
        "forms": [[form.name, form.title] for form in forms],
        "least": _least(store),
        "run": run,
        "trained": trained,
        "doubtful": doubtful[:MAX_DOUBTFUL],
        "n_doubtful": len(doubtful),
        "model": runs.is_trained,
        "report": (runs.folder / REPORT).is_file(),
        "wheels": str(wheels) if any(wheels.glob("*.whl")) else None,
        "running": run is not None and run["state"] == RUNNING,
    }
