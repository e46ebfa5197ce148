"""The server: texts come in, entities go out.

    POST /entities {"texts": [...]} -> {"entities": [[{start, end, label, score}]]}
    GET /health, GET /metrics, POST /reload

Programs call it, browsers may not: a page of any site could. Nothing but a program of
this machine may ask for a reload.
"""

import asyncio
import ipaddress
import logging
import signal
import socket
from contextlib import asynccontextmanager, suppress
from typing import Any, AsyncIterator, Dict, List, Optional

from .batches import Batches, Late, QueueFull
from .limits import Limits
from .pool import ReaderPool
from .reader import Failure

try:
    import uvicorn
    from fastapi import FastAPI, HTTPException, Request, Response
    from fastapi.responses import JSONResponse
    from pydantic import StrictStr, ValidationError
    from starlette.requests import ClientDisconnect

    from .http import HOST, Body, body_size, listen, one_line, server_config
    from .metrics import Metrics
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "Serving needs FastAPI and prometheus-client: pip install '.[serve]' in the "
        "clone"
    ) from error

logger = logging.getLogger(__name__)

# After SIGTERM: for so long, connections that are kept open are told with their next
# answer that they end. What is sent into one while it is closed would be lost.
FAREWELL_SECONDS = 2.0
FAREWELL_STEP = 0.05
# Longer than clients and load balancers keep one that rests: they should close it.
KEEP_ALIVE_SECONDS = 75
# For the last answers on their way, on top of the limit for an answer.
SLOW_SECONDS = 5
RETRY = {"Retry-After": "1"}


class Texts(Body):
    """What is asked."""

    texts: List[StrictStr]


class Service:
    """Answers calls with a reader."""

    def __init__(self, reader: ReaderPool, limits: Limits) -> None:
        self.reader = reader
        self.limits = limits
        self.metrics = Metrics(lambda: self.batches.n_waiting)
        note = self.metrics.batches.observe
        self.batches = Batches(reader.read, limits, note, reader.n_copies)
        self.is_stopping = False
        self._reloading = asyncio.Lock()

    async def entities(self, request: Request) -> Response:
        """Entities of texts."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        code = 200
        headers: Dict[str, str] = {}
        try:
            content = await self._answer(request, start + self.limits.seconds)
        except HTTPException as error:
            code, content = error.status_code, {"detail": error.detail}
            headers |= error.headers or {}
        if self.is_stopping:
            headers["Connection"] = "close"
        self.metrics.requests.labels(str(code)).inc()
        self.metrics.seconds.observe(loop.time() - start)
        return JSONResponse(content, code, headers)

    async def _answer(self, request: Request, end: float) -> Dict[str, Any]:
        """RAISES (HTTPException): If there is no answer."""
        texts = await self._read_body(request, end)
        try:
            seconds = end - asyncio.get_running_loop().time()
            answers = await self.batches.ask(texts, seconds)
        except QueueFull as error:
            raise HTTPException(429, "Too many texts wait: try later", RETRY) from error
        except Late as error:
            if error.was_read:
                raise HTTPException(504, "Not read in time: send less") from error
            raise HTTPException(503, "Too busy: try later", RETRY) from error
        except Exception as error:
            logger.exception("A batch failed")
            problem = one_line(f"{type(error).__name__}: {error}")
            raise HTTPException(500, problem) from error
        for number, answer in enumerate(answers, 1):
            if isinstance(answer, Failure):
                problem = f"Text {number} cannot be read: {answer.problem}"
                raise HTTPException(500, one_line(problem))
            self.metrics.entities.inc(len(answer))
        self.metrics.texts.inc(len(texts))
        self.metrics.characters.inc(sum(map(len, texts)))
        return {"entities": answers}

    async def _read_body(self, request: Request, end: float) -> List[str]:
        limits, size = self.limits, body_size(request)
        if "origin" in request.headers:
            raise HTTPException(403, "Pages of a browser may not ask")
        if size is None:
            raise HTTPException(411, "Send the Content-Length")
        if size > limits.bytes:
            raise HTTPException(413, f"More than {limits.bytes:,} bytes: send less")
        try:
            seconds = end - asyncio.get_running_loop().time()
            body = await asyncio.wait_for(request.body(), seconds)
            texts = Texts.model_validate_json(body).texts
        except (asyncio.TimeoutError, ClientDisconnect) as error:
            raise HTTPException(408, "The request did not come in time") from error
        except ValidationError as error:
            raise HTTPException(422, _first_problem(error)) from error
        if len(texts) > limits.texts:
            raise HTTPException(413, f"More than {limits.texts:,} texts: send less")
        for number, text in enumerate(texts, 1):
            if len(text) > limits.characters:
                problem = f"has more than {limits.characters:,} characters: divide it"
                raise HTTPException(413, f"Text {number} {problem}")
        return texts

    async def reload(self) -> Optional[str]:
        """Load the pipeline again while the old one goes on answering.
        RETURNS (Optional[str]): What went wrong: then the old one stays."""
        async with self._reloading:
            try:
                await asyncio.to_thread(self.reader.load)
            except Exception as error:
                problem = one_line(f"{type(error).__name__}: {error}")
                logger.warning("Not reloaded: %s", problem)
                self.metrics.reloads.labels("failed").inc()
                return problem
        self.metrics.reloads.labels("done").inc()
        return None


def make_app(service: Service) -> FastAPI:
    """The application."""

    @asynccontextmanager
    async def reading(app: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(service.batches.run())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await asyncio.to_thread(service.reader.close)

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=reading)
    app.post("/entities")(service.entities)

    @app.get("/health")
    async def health() -> Response:
        """503 from the moment that it stops."""
        state = "stopping" if service.is_stopping else "ok"
        return JSONResponse(
            {"status": state, "waiting": service.batches.n_waiting},
            503 if service.is_stopping else 200,
        )

    @app.get("/metrics")
    async def metrics() -> Response:
        """For Prometheus."""
        content, kind = service.metrics.render()
        return Response(content, headers={"Content-Type": kind})

    @app.post("/reload")
    async def reload(request: Request) -> Response:
        """As SIGHUP; the answer comes when the new pipeline reads."""
        if "origin" in request.headers or not _is_from_here(request):
            raise HTTPException(403, "Ask for a reload on the server's own machine")
        problem = await service.reload()
        if problem is not None:
            raise HTTPException(500, f"The old pipeline goes on: {problem}")
        return JSONResponse({"status": "ok"})

    return app


class Server(uvicorn.Server):
    """Ends without a lost request: nobody new, a farewell, then the last answers."""

    def __init__(self, service: Service) -> None:
        longest = int(service.limits.seconds) + SLOW_SECONDS
        app = make_app(service)
        config = server_config(
            app,
            timeout_graceful_shutdown=longest,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
        super().__init__(config)
        self.service = service

    async def shutdown(self, sockets: Optional[List[socket.socket]] = None) -> None:
        """As uvicorn's, which closes connections that are kept open at once."""
        for _ in range(2):  # turns of the loop: who has connected is accepted
            await asyncio.sleep(0)
        for server in self.servers:
            server.close()
        # Only now: whoever is told of the end connects anew, and must be refused then.
        self.service.is_stopping = True
        loop = asyncio.get_running_loop()
        end = loop.time() + FAREWELL_SECONDS
        while self.server_state.connections and loop.time() < end:
            await asyncio.sleep(FAREWELL_STEP)
        await super().shutdown(sockets)


def serve(reader: ReaderPool, limits: Limits, port: int, host: str = HOST) -> None:
    """Serve until SIGTERM or an interrupt; the address is printed.
    RAISES (DataError): If the port is taken."""
    listening = listen(port, host)
    name, port = listening.getsockname()[:2]
    name = f"[{name}]" if ":" in name else name
    print(f"http://{name}:{port}", flush=True)
    asyncio.run(_serve(reader, limits, listening))


async def _serve(reader: ReaderPool, limits: Limits, listening: socket.socket) -> None:
    service = Service(reader, limits)
    reloads = set()

    def reload() -> None:
        task = asyncio.create_task(service.reload())
        reloads.add(task)  # asyncio alone would forget it
        task.add_done_callback(reloads.discard)

    if hasattr(signal, "SIGHUP"):  # not on Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    await Server(service).serve([listening])


def _is_from_here(request: Request) -> bool:
    try:
        client = ipaddress.ip_address(request.client.host if request.client else "")
    except ValueError:
        return False
    return client.is_loopback


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    form = 'send {"texts": ["..."]}'
    return one_line(": ".join(filter(None, [place, first["msg"], form])))
