"""The server of a workbench: a page and an interface that only this page may use.

It listens on this machine alone. A secret, which is in the printed address behind "#"
and so reaches no log, must come in a header of each call; a page of another site can
neither read it nor set this header. Host and Origin are checked, since a name of
another site may lead to 127.0.0.1, too.
"""

import mimetypes
import secrets
from pathlib import Path
from typing import Any

from .runs import Runs
from .store import Conflict

try:
    import uvicorn
    from fastapi import Depends, FastAPI, HTTPException, Request, Response
    from fastapi.responses import JSONResponse
    from fastapi.staticfiles import StaticFiles

    from ..serving.http import HOST, body_size, listen, one_line, server_config
    from .routes import (
        class_routes,
        reading_routes,
        report_routes,
        work_routes,
        writing_routes,
    )
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "The workbench needs FastAPI: pip install '.[workbench]' in the clone"
    ) from error

NAMES = (HOST, "localhost")
TOKEN = "x-workbench-token"
# Of a call, in bytes: a long text has fewer marks.
MAX_BODY = 1 << 16
# Of the header Sec-Fetch-Site, where a browser sends it.
SAME_SITE = ("none", "same-origin")
PAGE = Path(__file__).parent / "page"
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


def make_app(runs: Runs, port: int) -> FastAPI:
    """The application.

    runs (Runs): Of the workbench; what began with it is known to live.
    port (int): On which it is served: Host and Origin must name it.
    """
    token = runs.store.token()

    def check_token(request: Request) -> None:
        given = request.headers.get(TOKEN, "")
        if not secrets.compare_digest(given.encode(), token.encode()):
            raise HTTPException(403, "The address lacks the token that was printed")

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.middleware("http")(_guard({f"{name}:{port}" for name in NAMES}))
    app.add_exception_handler(ValueError, _refuse)
    checked = [Depends(check_token)]
    for routes in (reading_routes, class_routes, writing_routes, work_routes):
        app.include_router(routes(runs), prefix="/api", dependencies=checked)
    app.include_router(report_routes(runs, checked))
    mimetypes.add_type("text/javascript", ".js")  # some machines say it is plain text
    app.mount("/", StaticFiles(directory=PAGE, html=True))
    return app


def serve(runs: Runs, port: int) -> None:
    """Serve a workbench until it is interrupted; its address is printed.
    RAISES (DataError): If the port is taken."""
    listening = listen(port)
    port = listening.getsockname()[1]
    print("Open this address in a browser; end with Ctrl-C:")
    print(f"http://{HOST}:{port}/#{runs.store.token()}", flush=True)
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
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return check


async def _refuse(request: Request, error: Exception) -> Response:
    code = 409 if isinstance(error, Conflict) else 422
    return JSONResponse({"detail": one_line(error)}, code)
