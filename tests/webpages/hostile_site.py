"""A site on this machine that answers as it is told, and a network in which it is the only public one."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

from deskmate.webpages.page_client import PageClient

Headers: TypeAlias = Mapping[str, str]


@dataclass
class Answer:
    """What a path is answered with. `pieces`: sent until the reader goes."""

    body: bytes = b""
    status: int = 200
    headers: Headers = field(default_factory=lambda: {"content-type": "text/html; charset=utf-8"})
    pieces: Iterator[bytes] | None = None


def redirect(location: str) -> Answer:
    return Answer(status=302, headers={"location": location})


def page(html: str) -> Answer:
    return Answer(f"<html><body>{html}</body></html>".encode())


@dataclass
class Site:
    """A running site. `asked`: the paths and the hosts that were asked for, in order."""

    port: int
    asked: list[tuple[str, str]] = field(default_factory=list)
    sent: int = 0
    resolved: dict[str, int] = field(default_factory=dict)

    def url(self, path: str = "/", host: str = "site.example") -> str:
        return f"http://{host}:{self.port}{path}"

    def client(self, numbers: Mapping[str, Sequence[list[str]]] | None = None, **limits: float) -> PageClient:
        """Return a client for which the site is public, under every name but those in `numbers`.

        `numbers`: what a name has at the first question, at the second and so on.
        """

        async def resolver(host: str, port: int) -> list[str]:
            turn = self.resolved.get(host, 0)
            self.resolved[host] = turn + 1
            known = (numbers or {}).get(host)
            return known[min(turn, len(known) - 1)] if known else ["127.0.0.1"]

        return PageClient(resolver, lambda number, port: (number, port) == ("127.0.0.1", self.port), **limits)  # type: ignore[arg-type]


@contextmanager
def site(answers: Mapping[str, Answer | Callable[[], Answer]]) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            running.asked.append((self.path, self.headers["host"]))
            found = answers.get(self.path, Answer(status=404))
            answer = found() if callable(found) else found
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for piece in answer.pieces or iter([answer.body]):
                    self.wfile.write(piece)
                    running.sent += len(piece)
            except OSError:
                # The reader has seen enough.
                pass

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    running = Site(server.server_port)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
