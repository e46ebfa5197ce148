"""What servers of this package share: a port, a server, and how a call is refused."""

import socket
from typing import Any, Optional

import uvicorn
from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict

from ..files.errors import DataError

HOST = "127.0.0.1"


class Body(BaseModel):
    """Of a call; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


def listen(port: int, host: str = HOST) -> socket.socket:
    """Take a port. RAISES (DataError): If it is taken, or there is no such host."""
    listening = None
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # With the protocol named, asyncio sends at once; else answers wait for 40 ms.
        listening = socket.socket(family, kind, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()  # whoever opens the printed address at once is not refused
    except OSError as error:
        if listening is not None:
            listening.close()
        where = f"port {port}" if host == HOST else f"{host}, port {port}"
        problem = f"cannot listen on {where} ({error.strerror}): choose another"
        raise DataError(problem) from error
    return listening


def server_config(app: FastAPI, **settings: Any) -> uvicorn.Config:
    """How an application is served. settings (Any): Those of `uvicorn.Config`."""
    return uvicorn.Config(app, log_level="warning", server_header=False, **settings)


def body_size(request: Request) -> Optional[int]:
    """Bytes that a call announces, 0 if it has no body; None where they are not known
    before it is read."""
    size = request.headers.get("content-length", "0")
    is_whole = size.isdigit() and "transfer-encoding" not in request.headers
    return int(size) if is_whole else None


def one_line(error: object) -> str:
    """A message in one line."""
    return " ".join(str(error).split())
