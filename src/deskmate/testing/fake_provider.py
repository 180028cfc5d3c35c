"""FakeProvider: a provider on this machine, in all wire formats.

    async with FakeProvider([Say("hello")]) as provider:
        ...                                     # a client of provider.url
    assert provider.complaints == []

    python -m deskmate.testing.fake_provider --script FILE.py:NAME

It can fail on purpose (`provider_faults`), and it checks every request strictly (`formats`).
"""

import argparse
import asyncio
import importlib.util
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Protocol, Self, TypeAlias

from deskmate.core.prompt.prompts import Prompt, Usage
from deskmate.errors import BadInput
from deskmate.models.scripted import Say
from deskmate.testing.formats import anthropic_format, gemini_format, openai_format, responses_format
from deskmate.testing.formats.conversations import flaws, unwelcome
from deskmate.testing.formats.prefix_caches import Counted, ExplicitCache, ImplicitCache, tokens
from deskmate.testing.formats.request_routes import route
from deskmate.testing.http_server import MAX_BODY, HttpRequest, HttpServer, Response
from deskmate.testing.knowledge.knowledge_checks import Uninformed, violations
from deskmate.testing.knowledge.team_logs import TeamLogs
from deskmate.testing.provider_faults import (
    Drop,
    DropAfter,
    ErrorEvent,
    ErrorStatus,
    Fault,
    Garbage,
    Plan,
    Slow,
    Stall,
    TooLong,
    damaged,
    first_part,
    planned,
)
from deskmate.testing.scripts import Answer, Asked, Format, Player, Script, ScriptEnded, Who


class _Wire(Protocol):
    """What a module must know about its format."""

    def read(self, body: Mapping[str, Any]) -> Prompt: ...
    def whole(self, answer: Answer) -> bytes: ...
    def events(self, answer: Answer, body: Mapping[str, Any]) -> list[bytes]: ...
    def problem(self, status: int, message: str) -> bytes: ...
    def prompt_too_long(self) -> bytes: ...
    def error_event(self, kind: str) -> bytes: ...
    def status_of(self, kind: str) -> int: ...


_Cache: TypeAlias = ExplicitCache | ImplicitCache

_WIRES: Mapping[Format, _Wire] = {
    "anthropic": anthropic_format,
    "openai": openai_format,
    "responses": responses_format,
    "gemini": gemini_format,
}
_JSON = {"content-type": "application/json"}
_STREAM = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


class FakeProvider:
    """A provider on this machine that follows a script. It has the APIs of Anthropic, OpenAI (both) and Gemini.

    `who` returns who asks. Without it, a script by agent uses the first of its keys that occurs in the system prompt.
    `faults`: by the number of the request, from 0. A reply that a fault cut off is given to the next request.
    `fragment`: how many characters come at a time. A conversation that no provider would take gets a 400 and is a
    complaint, and so does a request that the script has no reply for. An exception in a script or a plan of faults is
    printed, answered with a 400, and raised again on close.

    It reads the logs of the team whose agent asks, if they are on this machine. A prompt that breaks one of the
    promises K1 to K8 is answered, and is a complaint that is raised as Uninformed when the provider is closed.
    `check=False`: nothing is checked. `address`: where it listens. `models`: what it answers if it is asked for
    its models.
    """

    def __init__(
        self,
        script: Script,
        *,
        who: Who | None = None,
        faults: Plan = MappingProxyType({}),
        fragment: int = 16,
        port: int = 0,
        address: str = "127.0.0.1",
        check: bool = True,
        models: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.url = ""
        self.requests: list[Asked] = []
        self.usages: list[Usage] = []
        self.complaints: list[str] = []
        self._player, self._faults, self._fragment = Player(script, who), faults, fragment
        self._caches: dict[Format, ExplicitCache | ImplicitCache] = {
            "anthropic": ExplicitCache(),
            "openai": ImplicitCache(),
            "responses": ImplicitCache(),
            "gemini": ImplicitCache(),
        }
        self._models = list(models)
        self._logs = TeamLogs() if check else None
        self._uninformed: list[str] = []
        self._errors: list[Exception] = []
        self._server = HttpServer(self._respond, port, address)

    async def __aenter__(self) -> Self:
        self.url = await self._server.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.close()
        if self._errors:
            raise self._errors[0]
        if self._uninformed and kind is None:
            raise Uninformed("\n".join(self._uninformed))

    def ideal_cache_read(self, number: int) -> int:
        """Return what a perfect client would have read from the cache: everything that the same agent sent before."""
        who = self._player.who(self.requests[number])
        for before in reversed(range(number)):
            if self.usages[before].prompt and self._player.who(self.requests[before]) == who:
                return self.usages[before].prompt
        return 0

    # -- asked ------------------------------------------------------------------------------------

    def _respond(self, request: HttpRequest) -> Response:
        if request.method == "GET" and request.path.endswith("/models"):
            listed = {"object": "list", "data": self._models}
            return Response(200 if self._models else 404, (json.dumps(listed).encode(),), _JSON)
        if request.path.endswith("/apply-template"):
            # `deskmate doctor` looks for a llama.cpp server.
            return Response(404, (b"{}",), _JSON)
        found = route(request.path)
        if found is None or request.method != "POST":
            return self._refuse("openai", 404, f"{request.method} {request.path}", ["nothing is here"])
        format_ = found.format
        if request.body is None:
            return self._refuse(format_, 413, request.path, [f"the body is larger than {MAX_BODY} bytes"])
        try:
            body = json.loads(request.body)
        except (ValueError, RecursionError):
            return self._refuse(format_, 400, request.path, ["the body is not JSON"])
        headers = request.headers
        if isinstance(body, dict):
            body = {**body, **found.told}
            if found.told and (version := body.pop("anthropic_version", "")):
                # At Vertex AI, the version is in the body.
                headers = {**headers, "anthropic-version": str(version)}
        asked = Asked(len(self.requests), format_, headers, body, _WIRES[format_].read)
        self.requests.append(asked)
        self.usages.append(Usage())
        try:
            return self._checked(asked)
        except Exception as error:
            # An error of the script. A dropped connection or a 500 would be tried again for minutes.
            self._errors.append(error)
            traceback.print_exception(error)
            return _problem(format_, 400, f"the script failed: {type(error).__name__}: {error}")

    def _checked(self, asked: Asked) -> Response:
        place = f"request {asked.number}"
        if refusal := unwelcome(asked.format, asked.headers):
            return self._refuse(asked.format, refusal[0], place, [refusal[1]])
        if found := flaws(asked.format, asked.body):
            return self._refuse(asked.format, 400, place, found)
        self._look(asked.prompt, place)
        return self._troubled(asked, planned(self._faults, asked))

    def _look(self, prompt: Prompt, place: str) -> None:
        """Record what the model is not told. The request is answered anyway, so the test shows what follows from it."""
        truth = self._logs.truth_of(prompt) if self._logs else None
        found = [f"{place}: {flaw}" for flaw in violations(prompt, truth)] if truth else []
        self._uninformed += found
        self.complaints += found

    def _refuse(self, format_: Format, status: int, place: str, found: list[str]) -> Response:
        self.complaints += [f"{place}: {flaw}" for flaw in found]
        return _problem(format_, status, "; ".join(found))

    # -- answered ---------------------------------------------------------------------------------

    def _troubled(self, asked: Asked, fault: Fault | None) -> Response:
        """Answer a request as its fault allows."""
        match fault:
            case ErrorStatus(code=code, retry_after=seconds, message=message):
                return _problem(asked.format, code, message, seconds)
            case TooLong():
                return Response(400, (_WIRES[asked.format].prompt_too_long(),), _JSON)
            case Drop():
                return Response(200, (), head=False, then="drop")
            case ErrorEvent(kind=kind) if not asked.body.get("stream"):
                return _problem(asked.format, _WIRES[asked.format].status_of(kind), kind)
        return self._answered(asked, fault)

    def _answered(self, asked: Asked, fault: Fault | None) -> Response:
        counted = self._caches[asked.format].count(asked.body)
        try:
            say = self._player.next(asked, counted.digest)
        except ScriptEnded as error:
            # Not a 500, which would be tried again for minutes.
            print(f"request {asked.number}: {error}", file=sys.stderr, flush=True)
            return self._refuse(asked.format, 400, f"request {asked.number}", [str(error)])
        if fault is None or isinstance(fault, Slow):
            self._player.take(asked, counted.digest)
        self.usages[asked.number] = _usage(counted, say)
        return self._worded(
            asked, Answer(say, asked.model, _usage(counted, say), counted.digest, self._fragment), fault
        )

    def _worded(self, asked: Asked, answer: Answer, fault: Fault | None) -> Response:
        wire = _WIRES[asked.format]
        if not asked.body.get("stream"):
            response = Response(200, (wire.whole(answer),), _JSON)
        else:
            response = Response(200, wire.events(answer, asked.body), _STREAM, streamed=True)
        match fault:
            case ErrorEvent(kind=kind, part=part):
                return replace(response, pieces=(*first_part(response.pieces, part), wire.error_event(kind)))
            case DropAfter() | Stall() | Garbage() | Slow():
                return damaged(response, fault)
        return response


def _problem(format_: Format, status: int, message: str, retry_after: float | None = None) -> Response:
    headers = _JSON if retry_after is None else {**_JSON, "retry-after": f"{retry_after:g}"}
    return Response(status, (_WIRES[format_].problem(status, message),), headers)


def _usage(counted: Counted, say: Say) -> Usage:
    calls = [json.dumps(use.arguments) if use.raw is None else use.raw for use in say.calls]
    return Usage(
        input=counted.tokens - counted.read - counted.written,
        output=max(1, sum(map(tokens, [say.thinking, say.text, *calls]))),
        cache_read=counted.read,
        cache_write=counted.written,
    )


# -- as a separate process ------------------------------------------------------------------------


async def _serve(script: Script, port: int) -> list[str]:
    """Serve until stdin ends or SIGTERM arrives. Return the complaints."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    # Use a thread: stdin may be a pipe, a terminal or a file, and an event loop can watch only some of these.
    threading.Thread(target=_until_end, args=(loop, stop), daemon=True).start()
    provider = FakeProvider(script, port=port)
    # Complaints are printed at the end, with all others.
    with suppress(Uninformed):
        async with provider:
            print(provider.url, flush=True)
            await stop.wait()
    return provider.complaints


def _until_end(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    loop.call_soon_threadsafe(stop.set)


def _load(place: str) -> Script:
    """Return the script that FILE.py:NAME names."""
    path, _, name = place.rpartition(":")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if not spec or not spec.loader or not Path(path).is_file():
        raise BadInput(f"'{place}' does not name a script", "Write FILE.py:NAME.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise BadInput(f"'{path}' has no '{name}'", "Name one of its scripts.")
    script: Script = getattr(module, name)
    return script


def main() -> None:
    """Serve a script and print the URL. At the end, print what clients did wrong and exit with status 1."""
    parser = argparse.ArgumentParser(description="Serve a script as a model provider.")
    parser.add_argument("--script", required=True, metavar="FILE.py:NAME")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    try:
        script = _load(options.script)
    except BadInput as error:
        parser.error(str(error))
    sys.exit("\n".join(asyncio.run(_serve(script, options.port))) or None)


if __name__ == "__main__":
    main()
