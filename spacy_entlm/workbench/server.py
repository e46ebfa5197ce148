"""The server of a workbench: a page and an interface that only this page may use.

It listens on this machine alone. A secret, which is in the printed address behind "#"
and so reaches no log, must come in a header of each call; a page of another site can
neither read it nor set this header. Host and Origin are checked, since a name of
another site may lead to 127.0.0.1, too.
"""

import secrets
from importlib.resources import files
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from .docs import export
from .names import Names
from .runs import MODEL, RUNNING, TRAIN, WHEEL, Runs
from .store import CHOSEN, COMING, Conflict, Store

try:
    import uvicorn
    from fastapi import Depends, FastAPI, HTTPException, Request, Response
    from fastapi.responses import JSONResponse
    from pydantic import Field, StrictInt

    from ..serving.http import HOST, Body, body_size, listen, one_line, server_config
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "The workbench needs FastAPI: pip install '.[workbench]' in the clone"
    ) from error

NAMES = (HOST, "localhost")
TOKEN = "x-workbench-token"
DATA = "data"
# Of a call, in bytes: a text of 60 words has fewer marks.
MAX_BODY = 1 << 16
MAX_MARKS = 1000
# Of the header Sec-Fetch-Site, where a browser sends it.
SAME_SITE = ("none", "same-origin")
FILES = {
    "": ("page.html", "text/html"),
    "page.css": ("page.css", "text/css"),
    "page.js": ("page.js", "text/javascript"),
    "chart.js": ("chart.js", "text/javascript"),
    "classes.js": ("classes.js", "text/javascript"),
    "marks.js": ("marks.js", "text/javascript"),
    "side.js": ("side.js", "text/javascript"),
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src "
    "'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action "
    "'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Answer(Body):
    """Marks of a text: first word, end, number of the class."""

    answer: str
    marks: List[Tuple[StrictInt, StrictInt, StrictInt]] = Field(max_length=MAX_MARKS)
    version: StrictInt


class Name(Body):
    """Of a class."""

    name: str = Field(max_length=100)


class Order(Body):
    """Of the texts."""

    order: str


def make_app(runs: Runs, port: int) -> FastAPI:
    """The application.

    runs (Runs): Of the workbench; what began with it is known to live.
    port (int): On which it is served: Host and Origin must name it.
    """
    store = Store(runs.path)
    token = store.token()

    def check_token(request: Request) -> None:
        given = request.headers.get(TOKEN, "")
        if not secrets.compare_digest(given.encode(), token.encode()):
            raise HTTPException(403, "The address lacks the token that was printed")

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.middleware("http")(_guard({f"{name}:{port}" for name in NAMES}))
    app.add_exception_handler(ValueError, _refuse)
    for name in FILES:
        app.get(f"/{name}")(_file(name))
    guarded: Dict[str, Any] = {"dependencies": [Depends(check_token)]}
    _add_reading(app, Names(store), runs, guarded)
    _add_writing(app, store, runs.folder, guarded)
    _add_work(app, runs, guarded)
    return app


def serve(runs: Runs, port: int) -> None:
    """Serve a workbench until it is interrupted; its address is printed.
    RAISES (DataError): If the port is taken."""
    listening = listen(port)
    port = listening.getsockname()[1]
    token = Store(runs.path).token()
    print(f"http://{HOST}:{port}/#{token}", flush=True)
    make_server(runs, port).run(sockets=[listening])


def make_server(runs: Runs, port: int) -> uvicorn.Server:
    """The server of `make_app`."""
    return uvicorn.Server(server_config(make_app(runs, port)))


def _guard(hosts: set[str]) -> Any:
    origins = {None, *(f"http://{host}" for host in hosts)}

    async def check(request: Request, call_next: Any) -> Response:
        headers = request.headers
        size = body_size(request)
        is_call = request.url.path.startswith("/api/")
        site = headers.get("sec-fetch-site", "none") if is_call else "none"
        response: Response
        if headers.get("host") not in hosts:
            response = JSONResponse({"detail": "Unknown host"}, 400)
        elif headers.get("origin") not in origins or site not in SAME_SITE:
            response = JSONResponse({"detail": "Another site may not"}, 403)
        elif size is None or size > MAX_BODY:
            response = JSONResponse({"detail": "Too large"}, 413)
        else:
            response = await call_next(request)
        response.headers.update(HEADERS)
        return response

    return check


async def _refuse(request: Request, error: Exception) -> Response:
    code = 409 if isinstance(error, Conflict) else 422
    return JSONResponse({"detail": one_line(error)}, code)


def _file(name: str) -> Any:
    own, kind = FILES[name]
    content = files("spacy_entlm.workbench").joinpath("page", own).read_bytes()

    def send() -> Response:
        return Response(content, media_type=kind)

    return send


def _add_reading(app: FastAPI, names: Names, runs: Runs, guarded: Any) -> None:
    store = names.store

    @app.get("/api/state", **guarded)
    def state() -> Dict[str, Any]:
        """All but texts: classes, counts, the run, and the figures of all trainings."""
        runs.find_killed()
        run = runs.latest()
        return {
            "classes": store.classes(),
            "counts": store.counts(),
            "order": store.setting("order", CHOSEN),
            "run": run,
            "trained": runs.trained(),
            "doubtful": store.doubtful(),
            "model": (runs.folder / MODEL / "config.cfg").is_file(),
            "running": run is not None and run["state"] == RUNNING,
        }

    @app.get("/api/next", **guarded)
    def next_text(other_than: int = 0) -> Optional[Dict[str, Any]]:
        """The text to show next, None when all are answered."""
        number = store.next_text(other_than=other_than)
        return None if number is None else names.text(number)

    @app.get("/api/texts/{number}", **guarded)
    def text(number: int) -> Dict[str, Any]:
        """One text."""
        found = names.text(number)
        if found is None:
            raise HTTPException(404, f"There is no text {number}")
        return found

    @app.get("/api/history", **guarded)
    def history() -> List[Dict[str, Any]]:
        """All changes."""
        return store.history()


def _add_writing(app: FastAPI, store: Store, folder: Path, guarded: Any) -> None:
    @app.put("/api/texts/{number}", **guarded)
    def answer(number: int, body: Answer) -> Dict[str, Any]:
        """Marks, and an answer."""
        return store.answer(number, body.answer, body.marks, body.version)

    @app.post("/api/undo", **guarded)
    def undo() -> Optional[Dict[str, Any]]:
        """Take the last change back."""
        return store.undo()

    @app.post("/api/classes", **guarded)
    def add_class(body: Name) -> int:
        """A new class."""
        return store.add_class(body.name)

    @app.put("/api/classes/{number}", **guarded)
    def rename_class(number: int, body: Name) -> None:
        """Another name."""
        store.rename_class(number, body.name)

    @app.put("/api/order", **guarded)
    def set_order(body: Order) -> None:
        """As they were chosen, or as they come."""
        if body.order not in (CHOSEN, COMING):
            raise ValueError(f"An order is {CHOSEN} or {COMING}")
        store.set_setting("order", body.order)

    @app.post("/api/export", **guarded)
    def write_data() -> Dict[str, Any]:
        """A folder of data."""
        return {"files": export(store, folder / DATA), "folder": str(folder / DATA)}


def _add_work(app: FastAPI, runs: Runs, guarded: Any) -> None:
    def begin(kind: str) -> int:
        number = runs.begin(kind)
        if number is None:
            raise Conflict("Something is running already: wait for its end")
        return number

    @app.post("/api/train", **guarded)
    def start_training() -> int:
        """Train in the background."""
        return begin(TRAIN)

    @app.post("/api/wheel", **guarded)
    def build_wheel() -> int:
        """Build a wheel in the background."""
        return begin(WHEEL)
