"""A server on this machine that tells what it was asked."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Told(BaseHTTPRequestHandler):
    """Tells what it was asked."""

    def do_GET(self) -> None:
        self._tell("")

    def do_POST(self) -> None:
        self._tell(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def _tell(self, body: str) -> None:
        self.send_response(200)
        self.end_headers()
        named = [value for name, value in self.headers.items() if name.lower() in ("host", "proxy-authorization")]
        self.wfile.write(" ".join((self.command, self.path, *named, body)).strip().encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[int]:
    """A server on this machine, by its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Told) as one:
        thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield one.server_port
        one.shutdown()
        thread.join()
