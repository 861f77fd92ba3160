"""The server: five fixed routes behind a token, for this machine alone.

An address is ``http://127.0.0.1:PORT/TOKEN/``. Other machines cannot connect; other users and pages do not know the
token, without which every request is refused; requests for another host name (DNS rebinding) are refused too. No path
of a request is ever looked up on the disk.
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets
import socket
from collections.abc import Callable
from importlib.resources import files
from threading import Lock
from typing import Any

from ..errors import DataError, SoftgroundError
from ..files import typed
from ..model import Model
from ..report.facts import Facts
from ..report.html.page import SIFT, render
from ..runs import RunFolder
from . import live
from .reading import read, readers

HERE = "127.0.0.1"
LARGEST = 2**25  # bytes of a request: a board of photographs
WAITING = 64  # connections without a request
POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
HEADERS = {
    "content-security-policy": f"{POLICY}; frame-ancestors 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}


def serve(folder: RunFolder, model: Callable[[], Model], port: int, ready: Callable[[str], None]) -> None:
    """Serve until interrupted; ``ready`` is called with the address. Port 0 takes any free port."""
    token = secrets.token_urlsafe(18)
    app = application(folder, model, token)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HERE, port))
        except (OSError, OverflowError) as error:
            raise SoftgroundError(
                f"Port {port} cannot be used ({error}). Choose another, or 0 for any free one."
            ) from error
        listening.listen()
        running = server(app)
        ready(f"http://{HERE}:{listening.getsockname()[1]}/{token}/")
        running.run(sockets=[listening])


def server(app: Any) -> Any:
    """A server of the application. It closes the oldest of too many connections without a complete request."""
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    waiting: list[Any] = []  # the oldest first

    class Connection(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            waiting[:] = [each for each in (*waiting, self) if not (each.cycle or each.transport.is_closing())]
            if len(waiting) > WAITING:
                waiting[0].transport.abort()

    return uvicorn.Server(uvicorn.Config(app, http=Connection, log_level="warning", ws="none", lifespan="off"))


def application(folder: RunFolder, model: Callable[[], Model], token: str) -> Any:
    """The pages of one run, as an ASGI application; ``model`` loads the network of the last checkpoint."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Mount, Route

    latest = Latest(folder, model)

    def page(request: Request) -> Response:
        return HTMLResponse(render("window.html", policy=POLICY, facts=Facts.read(folder)))

    def script(request: Request) -> Response:
        text = files("softground.report.html").joinpath("templates", "window.js").read_text(encoding="utf-8")
        return Response(SIFT + text, media_type="text/javascript")

    def changes(request: Request) -> Response:
        now = live.version(folder)
        if request.query_params.get("seen") == now:
            return Response(status_code=204)
        return JSONResponse({"version": now, "html": live.fragment(folder)})

    def sizes(request: Request) -> Response:
        return JSONResponse({"counts": sorted(readers(latest()))})

    async def drawn(request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > LARGEST:
                raise DataError(f"More than {LARGEST:,} bytes of pictures were sent; send smaller ones.")
        return JSONResponse(await run_in_threadpool(lambda: read(latest(), *_asked(bytes(body)))))

    def complain(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, status_code=422)

    routes = [
        Route("/", page),
        Route("/window.js", script),
        Route("/live", changes),
        Route("/sizes", sizes),
        Route("/read", drawn, methods=["POST"]),
    ]
    guards = [
        Middleware(TrustedHostMiddleware, allowed_hosts=[HERE, "localhost"], www_redirect=False),
        Middleware(Guard, token=token),
    ]
    return Starlette(
        routes=[Mount(f"/{token}", routes=routes)], middleware=guards, exception_handlers={SoftgroundError: complain}
    )


class Guard:
    """Refuses requests without the token, and puts the headers on every answer."""

    def __init__(self, app: Any, token: str) -> None:
        self.app, self.token = app, token.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request (ASGI)."""
        from starlette.responses import PlainTextResponse

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            await send(message)

        given = str(scope["path"]).split("/")[1:2]
        known = bool(given) and secrets.compare_digest(given[0].encode(), self.token)
        words = "This address lacks the window's token. Open the one that softground open printed."
        await (self.app if known else PlainTextResponse(words, 403))(scope, receive, with_headers)


class Latest:
    """The network of a run's last checkpoint: loaded at the first request, and again when there is a newer one."""

    def __init__(self, folder: RunFolder, model: Callable[[], Model]) -> None:
        self.folder, self.load, self.lock = folder, model, Lock()
        self.seen: list[str] = []
        self.model: Model | None = None

    def __call__(self) -> Model:
        """The model."""
        with self.lock:
            now = sorted(path.name for path in self.folder.path.glob("checkpoint-*"))  # which have their digests
            if self.model is None or now != self.seen:
                self.model, self.seen = self.load(), now
            return self.model


def _asked(body: bytes) -> tuple[list[bytes], str]:
    """The pictures, and the answer or nothing."""
    try:
        found = json.loads(body)
        pictures = [base64.b64decode(text, validate=True) for text in typed(list[str], found["pictures"])]
        return pictures, typed(str, found.get("answer", ""))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, binascii.Error) as error:
        raise DataError(
            f"A request could not be read ({type(error).__name__}); expected pictures in base64 and perhaps an answer."
        ) from error
