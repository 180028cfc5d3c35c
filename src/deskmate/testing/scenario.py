"""Scenario: a whole team on this machine whose models follow scripts.

    async with Scenario(folder, {"lead": lead, "alice": alice}) as team:
        run = await team.run("Build it.")
    assert run.owners == {"parse": "alice"}

The product runs as in real use: its settings, files, tools and, if you choose them, processes. Only the models are
scripted. They answer through a `FakeProvider`, which refuses whatever a real provider would refuse.
`team_scripts` has what most scripts are made of, and `team_run` what is left to look at.
"""

from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, closing, contextmanager
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import anyio

from deskmate.app import Feed, Listener, RunRequest, environment, load, run
from deskmate.core.log.names import mail
from deskmate.core.team.messages import Envelope, envelope_in
from deskmate.models.scripted import Say
from deskmate.stores.engines.engine_table import engine_of
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.provider_faults import Plan
from deskmate.testing.scripts import Asked
from deskmate.testing.team_run import FIRST_TEAM, TeamRun, TeamStreams, read_streams
from deskmate.testing.team_scripts import MemberScript, member_of

_NO_FAULTS: Plan = MappingProxyType({})
# What the user of this machine may have set, and what a scenario must not see.
_UNSET = (
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "CLAUDE_CONFIG_DIR",
    "DESKMATE_MODEL",
    "DESKMATE_STORE",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
_SETTINGS = {"permission_mode": "dontAsk", "sandbox": False}


class Scenario:
    """A team in `folder`, which gets a workspace and a home. Open it with `async with`.

    `scripts`: what each member's model says, by name, or one function for all. `launcher`: "inline" or "process".
    `faults`: what goes wrong at the provider. `seconds`: how long a run may take. `settings`: as in the settings file.

    While it is open, the environment of this process has its home and its provider, because teammates in processes of
    their own inherit it. Closing it raises AssertionError if the provider had to refuse a request.
    """

    def __init__(
        self,
        folder: Path,
        scripts: Mapping[str, MemberScript] | MemberScript,
        *,
        launcher: str = "inline",
        faults: Plan = _NO_FAULTS,
        seconds: float = 50,
        **settings: object,
    ) -> None:
        self.workspace, self.home = folder / "work", folder / "home"
        self.provider = FakeProvider(scripts if callable(scripts) else _by_member(scripts), faults=faults)
        self._seconds = seconds
        store = settings.get("store")
        self._url = None if store is None else str(store)
        self._settings = {**_SETTINGS, "launcher": launcher, **settings}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Make the folders and start the provider."""
        for folder in (self.workspace, self.home):
            folder.mkdir(parents=True, exist_ok=True)
        await self._stack.enter_async_context(self.provider)
        self._stack.enter_context(_environment(self.home, self.provider))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the provider. Raises AssertionError if it refused a request and nothing else went wrong."""
        await self._stack.__aexit__(kind, error, trace)
        if error is None and self.provider.complaints:
            raise AssertionError("\n".join(self.provider.complaints))

    # -- what the team does -----------------------------------------------------------------------

    async def run(self, goal: str = "Go.", *listeners: Listener, team: str = FIRST_TEAM) -> TeamRun:
        """Give a goal to a new team and let it work to the end.

        `listeners` are called with every event. `team`: whose streams to return, if the lead founds another team.
        Raises TimeoutError if it takes too long.
        """
        return await self._run(goal, listeners, team, continues=False)

    async def resume(self, words: str | None = None, *listeners: Listener) -> TeamRun:
        """Continue the team of an earlier scenario in this folder, with a new message or without."""
        return await self._run(words, listeners, FIRST_TEAM, continues=True)

    async def _run(self, goal: str | None, listeners: tuple[Listener, ...], team: str, *, continues: bool) -> TeamRun:
        feed = Feed()
        for listener in listeners:
            feed.listen(listener)
        request = RunRequest(self.workspace, goal, None, load(environment(), self._settings), continues)
        with anyio.fail_after(self._seconds):
            outcome = await run(request, feed)
        return TeamRun(outcome, tuple(self.provider.requests), await self.streams(team), goal)

    # -- what is left -----------------------------------------------------------------------------

    async def streams(self, team: str = FIRST_TEAM) -> TeamStreams:
        """Return what a team has written so far."""
        return await read_streams(self.workspace, team, self._url)

    async def mailbox(self, name: str) -> list[Envelope]:
        """Return everything in a member's mailbox, read or not."""
        with closing(engine_of(self._url, self.workspace)) as engine, closing(engine.open(FIRST_TEAM)) as store:
            found = [envelope_in(item) for item in await store.read(mail(name))]
        return [envelope for envelope in found if envelope]

    def file(self, path: str) -> str:
        """Return the text of a file in the workspace."""
        return (self.workspace / path).read_text(encoding="utf-8")


def _by_member(scripts: Mapping[str, MemberScript]) -> MemberScript:
    def answer(asked: Asked) -> Say:
        return scripts[member_of(asked)](asked)

    return answer


@contextmanager
def _environment(home: Path, provider: FakeProvider) -> Iterator[None]:
    environ = environment()
    before = dict(environ)
    for name in _UNSET:
        environ.pop(name, None)
    environ.update(HOME=str(home), ANTHROPIC_API_KEY="sk-test", ANTHROPIC_BASE_URL=provider.url)
    try:
        yield
    finally:
        environ.clear()
        environ.update(before)
