"""The only way from a confined command to those hosts.

It listens in the command's own network, which has nothing else, and connects from ours. It resolves a name itself and
connects to the address that it has checked. `allowed_hosts` decides, and `host_gate` asks about hosts not on the list.
"""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from deskmate.workspace.sandbox.network.allowed_hosts import Allowed, HostPort, endpoint, may_reach
from deskmate.workspace.sandbox.network.host_gate import HostGate
from deskmate.workspace.sandbox.network.network_words import UNLISTED

# Returns the addresses of a host, for a port, as `socket.getaddrinfo` does.
Resolve: TypeAlias = Callable[[str, int], Sequence[tuple[Any, ...]]]

PORT = 3128
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MAX_HEAD = 1 << 15
_CHUNK = 1 << 16
_MOST_AT_ONCE = 64
_MOST_TOLD = 5
_MOST_ADDRESSES = 4
_HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 10.0
_HEAD_END = b"\r\n\r\n"
_REQUEST = re.compile(r"(?P<method>[!-~]+) (?P<target>[!-~]+) HTTP/1\.[01]")
_PLAIN = re.compile(r"http://(?P<authority>[^/?#]*)(?P<rest>.*)", re.IGNORECASE)
# Headers that are only for the proxy, or that the proxy sets itself.
_NOT_PASSED_ON = ("host", "connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "upgrade")


def proxy_environ(listed: Sequence[Allowed]) -> dict[str, str]:
    """Return the variables that make programs use the proxy, except for loopback addresses that are not listed."""
    url = f"http://127.0.0.1:{PORT}"
    hosts = {str(one.host) for one in listed}
    chosen = {"http_proxy": url, "https_proxy": url, "all_proxy": url}
    chosen["no_proxy"] = ",".join(name for name in _LOOPBACK if name not in hosts)
    return {**chosen, **{key.upper(): value for key, value in chosen.items()}}


def resolve(host: str, port: int) -> Sequence[tuple[Any, ...]]:
    """Return the addresses of a host, as this machine finds them. Raises OSError."""
    # As bytes, so that nothing re-encodes the name on its way to the resolver.
    return socket.getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM)


class _Refused(Exception):
    """A request that the proxy answers itself, with a status and a sentence."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(slots=True)
class Proxy:
    """Serves one command. `refused`: the first few hosts that it wanted to reach and may not, each with the reason.

    `gate`: asks about hosts that are not listed. Without one they are refused. `resolve`: finds the addresses of a
    name.
    """

    listed: Sequence[Allowed]
    gate: HostGate | None = None
    resolve: Resolve = resolve
    refused: dict[str, str] = field(default_factory=dict)
    _open: set[socket.socket] = field(default_factory=set)
    _over: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _room: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(_MOST_AT_ONCE))

    @contextlib.contextmanager
    def serving(self, listener: socket.socket) -> Iterator[None]:
        """Serve all connections. Afterwards no connection is left, and none will be made."""
        thread = threading.Thread(target=self._accept, args=(listener,), daemon=True)
        with listener:
            thread.start()
            try:
                yield
            finally:
                with self._lock:
                    self._over = True
                    left = [listener, *self._open]
                for one in left:
                    _hang_up(one)
                self._room.release()
                thread.join()

    def _accept(self, listener: socket.socket) -> None:
        # If the socket is closed, the command is over.
        with contextlib.suppress(OSError):
            while not self._over:
                self._room.acquire()
                caller, _ = listener.accept()
                threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        try:
            # Either side may close the connection at any moment.
            with contextlib.suppress(OSError), self._held(caller):
                try:
                    self._answer(caller)
                except _Refused as refused:
                    _say(caller, refused)
        finally:
            self._room.release()

    @contextlib.contextmanager
    def _held(self, one: socket.socket) -> Iterator[None]:
        """Make sure that a connection ends no later than the command."""
        with one:
            with self._lock:
                if self._over:
                    raise ConnectionAbortedError
                self._open.add(one)
            try:
                yield
            finally:
                with self._lock:
                    self._open.discard(one)

    def _answer(self, caller: socket.socket) -> None:
        caller.settimeout(_HEAD_SECONDS)
        head, rest = _head(caller)
        wanted, first = _request(head)
        if not any(one.covers(wanted) for one in self.listed) and (why := self._asked(wanted)):
            self._refuse(wanted, why)
        with self._connected(wanted) as far, self._held(far):
            caller.settimeout(None)
            if first is None:
                caller.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            far.sendall((first or b"") + rest)
            back = threading.Thread(target=_pump, args=(far, caller), daemon=True)
            back.start()
            _pump(caller, far)
            back.join()

    def _asked(self, wanted: HostPort) -> str:
        """Return why a host that is not listed may not be reached, empty if it may."""
        return self.gate.refusal(wanted) if self.gate else UNLISTED

    def _refuse(self, wanted: HostPort, why: str) -> None:
        if len(self.refused) < _MOST_TOLD or wanted.shown in self.refused:
            self.refused[wanted.shown] = why
        raise _Refused(403, f"commands may not reach {wanted.shown}: {why}")

    def _connected(self, wanted: HostPort) -> socket.socket:
        """Return a connection to an address that was checked."""
        try:
            found = self.resolve(str(wanted.host), wanted.port)
        except OSError as error:
            raise _Refused(502, f"{wanted} cannot be found") from error
        public = [one for one in found if may_reach(self.listed, str(one[4][0]), wanted.port)]
        if not public:
            self._refuse(wanted, f"it leads to {found[0][4][0]}, which is not public, and not listed itself")
        for family, kind, protocol, _, address in public[:_MOST_ADDRESSES]:
            far = socket.socket(family, kind, protocol)
            far.settimeout(_CONNECT_SECONDS)
            try:
                far.connect(address)
            except OSError:
                far.close()
            else:
                far.settimeout(None)
                return far
        raise _Refused(502, f"{wanted} does not answer")


def _head(caller: socket.socket) -> tuple[str, bytes]:
    """Return the head of a request, and the data that came after it."""
    data = b""
    while _HEAD_END not in data:
        more = caller.recv(_CHUNK)
        if not more or len(data) > _MAX_HEAD:
            raise _Refused(400, "this is not a valid request")
        data += more
    head, _, rest = data.partition(_HEAD_END)
    return head.decode("latin-1"), rest


def _request(head: str) -> tuple[HostPort, bytes | None]:
    """Return the target of a request, and what to send there first. None means a tunnel: send nothing of our own."""
    line, *fields = head.split("\r\n")
    found = _REQUEST.fullmatch(line)
    plain = _PLAIN.fullmatch(found["target"]) if found else None
    try:
        if found and found["method"] == "CONNECT":
            return endpoint(found["target"]), None
        if found and plain:
            wanted = endpoint(plain["authority"], 80)
            return wanted, _passed_on(found["method"], wanted, plain["rest"], fields)
    except ValueError as error:
        raise _Refused(400, "this request has no valid host") from error
    raise _Refused(400, "this proxy takes CONNECT and http:// only")


def _passed_on(method: str, wanted: HostPort, rest: str, fields: Sequence[str]) -> bytes:
    path = rest if rest.startswith("/") else f"/{rest}"
    kept = [one for one in fields if one.partition(":")[0].strip().lower() not in _NOT_PASSED_ON]
    lines = [f"{method} {path} HTTP/1.1", f"Host: {str(wanted).removesuffix(':80')}", "Connection: close", *kept]
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def _say(caller: socket.socket, refused: _Refused) -> None:
    """Answer with a sentence. It is in the status line too, because many programs show nothing else."""
    body = f"{refused}\n".encode()
    head = f"HTTP/1.1 {refused.status} {refused}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    caller.sendall(head.encode() + b"Connection: close\r\n\r\n" + body)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Forward what one side sends until it ends. Then close the other side for writing."""
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _hang_up(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
