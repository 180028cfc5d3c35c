"""AppHarness: one agent run by the app, against a provider on this machine, in a folder and home of its own.

The story that most tests use is here, too. For a team, use `deskmate.testing.scenario`.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from deskmate.app import Feed, Outcome, RunRequest, Settings, load, run, state_folder
from deskmate.app.build import team_parts_of
from deskmate.app.parts.asked_models import client_of
from deskmate.core.agent.actions import Rest, Stop
from deskmate.core.agent.entries import Did, Entry, Said, read_entry
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import LEAD, ROSTER, USER, log
from deskmate.core.log.records import Record
from deskmate.core.policy.permissions import Mode
from deskmate.core.prompt.compaction import summary_request
from deskmate.core.prompt.prompts import Spoke
from deskmate.core.team.caps import Caps
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import PolicySet
from deskmate.runtime.agent import Agent
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.team_state import TeamState
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing import Asked, FakeClock, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.scripts import Format
from deskmate.testing.team_scripts import Called, called, calls_in
from deskmate.trust.team_signature import Signing
from deskmate.workspace.sandbox.mounts import Level, Sandbox

TEAM = "main"
SOON = 240
FORMATS: tuple[Format, ...] = ("anthropic", "openai")
MODELS: dict[Format, str] = {"anthropic": "anthropic:claude-sonnet-4-5", "openai": "openai:gpt-5"}

# -- the story ------------------------------------------------------------------------------------

GOAL = "write mul.sh, which multiplies, until check.sh is content"
CHECK = '[ "$(sh mul.sh 2 3)" = 6 ] || { echo "2 times 3 came to $(sh mul.sh 2 3)"; exit 1; }\n'
STORY = (
    Say("Let me look.", [Use("read_file", {"path": "check.sh"}), Use("glob", {"pattern": "*.sh"})], thinking="Well…"),
    Say(calls=[Use("write_file", {"path": "mul.sh", "content": "echo $(($1 + $2))\n"})]),
    Say("Is it content?", [Use("bash", {"command": "sh check.sh"})]),
    Say("I added.", [Use("edit_file", {"path": "mul.sh", "old_text": "+", "new_text": "*"})], thinking="Oh."),
    Say("And now?", [Use("bash", {"command": "sh check.sh"})]),
    Say("mul.sh multiplies, and check.sh is content."),
)
WORDS = STORY[-1].text
FILES = {"check.sh": CHECK, "mul.sh": "echo $(($1 * $2))\n"}
# Whether each call of each step comes to something: the first check fails, as it should.
SUCCESSES = ((True, True), (True,), (False,), (True,), (True,), ())


def tell(asked: Asked) -> Say:
    """Play the story: look at the conversation for how far it has come, and say what is next, as a model would."""
    step = steps_told(asked)
    return Say(f"{step} steps are done.") if summary_request() in asked.texts else STORY[step]


def steps_told(asked: Asked) -> int:
    """Return how many steps of the story a conversation holds, those that a summary tells of included."""
    passages = asked.prompt.passages
    summary = re.search(r"(\d+) steps are done", str(passages[0]))
    step = int(summary[1]) if summary else 0
    for passage in passages:
        wanted = called(STORY[step])
        if isinstance(passage, Spoke) and wanted and calls_in(passage)[: len(wanted)] == wanted:
            step += 1
    return step


# -- where it is played ---------------------------------------------------------------------------


@dataclass(frozen=True)
class AppHarness:
    """Runs and resumes one agent with the settings of a user whose models are at a fake provider."""

    place: Path
    home: Path

    @classmethod
    def at(cls, place: Path, home: Path) -> "AppHarness":
        """Return a harness with the one file that the story begins with."""
        place.mkdir()
        (place / "check.sh").write_text(CHECK)
        return cls(place, home)

    def settings(self, provider: FakeProvider, format_: Format, **flags: object) -> Settings:
        """Return the settings of a user whose models are all at that provider, and who has no sandbox."""
        environ = {
            "HOME": str(self.home),
            "DESKMATE_MODEL": MODELS[format_],
            "ANTHROPIC_API_KEY": "sk-test",
            "ANTHROPIC_BASE_URL": provider.url,
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_BASE_URL": f"{provider.url}/v1",
        }
        return load(environ, {"permission_mode": "dontAsk", "sandbox": False, **flags})

    def wanted(self, provider: FakeProvider, format_: Format, goal: str | None, **flags: object) -> RunRequest:
        """Return what a face would want of the app."""
        return RunRequest(self.place, goal, None, self.settings(provider, format_, **flags))

    async def run(self, provider: FakeProvider, format_: Format, feed: Feed | None = None, **flags: object) -> Outcome:
        """Let the app run the story, bounded."""
        with anyio.fail_after(SOON):
            return await run(self.wanted(provider, format_, GOAL, **flags), feed or Feed())

    async def resume(
        self, provider: FakeProvider, format_: Format, words: str | None = None, **flags: object
    ) -> Outcome:
        """Let the app go on with it, bounded."""
        with anyio.fail_after(SOON):
            return await run(replace(self.wanted(provider, format_, words, **flags), continues=True), Feed())

    async def play(self, provider: FakeProvider, format_: Format, clock: FakeClock, **flags: object) -> Rest | Stop:
        """Let a lead play to its rest as the app does, by another clock, bounded; return how it ended."""
        with anyio.fail_after(SOON):
            return await self._play(self.settings(provider, format_, **flags), clock)

    def sign(self, team: str = TEAM) -> None:
        """Have a team that was made by hand be the user's own."""
        Signing(state_folder({"HOME": str(self.home)}), self.place).sign(team)

    async def _play(self, settings: Settings, clock: FakeClock) -> Rest | Stop:
        store = JsonlStore.open(self.place, TEAM, create=True)
        self.sign()
        with closing(store):
            async with store.hold(LEAD, "a scenario"):
                writer = LogWriter(store, clock)
                roster = Roster(writer)
                team_state = TeamState(writer, roster, Board(writer, roster), Budget(writer, Caps()), Feed())
                await team_state.roster.found(TEAM)
                policy = PolicySet(by=LEAD, mode=Mode.DONT_ASK, attended=False, at=clock.timestamp())
                await team_state.roster.permit(policy)
                await Mailbox(USER, writer, team_state.roster).send(LEAD, Plain(content=GOAL))
                async with client_of(settings) as client:
                    team_parts = team_parts_of(self.place, TEAM, settings, team_state, client, Sandbox(Level.NONE))
                    agent = await Agent.seat(team_state, team_parts.started(), team_parts.lead)
                    return await agent.play(until_rest=True)

    # -- what can be told of it -------------------------------------------------------------------

    @property
    def files(self) -> dict[str, str]:
        """Every file outside the team's own folders, with its content."""
        found = (path for path in self.place.rglob("*") if path.is_file())
        named = {str(path.relative_to(self.place)): path for path in sorted(found)}
        return {name: path.read_text() for name, path in named.items() if not name.startswith((".teams/", ".tasks/"))}

    async def records(self, stream: str) -> list[Mapping[str, Any]]:
        """Return what stands in a stream; nothing in it may be damaged."""
        with closing(JsonlStore.open(self.place, TEAM)) as store:
            items = await store.read(stream)
        bodies = [item.body for item in items if isinstance(item, Record)]
        assert len(bodies) == len(items)
        return bodies

    async def entries(self) -> list[Entry]:
        """Return the lead's transcript."""
        entries = [read_entry(body) for body in await self.records(log(LEAD))]
        assert not any(isinstance(entry, Foreign) for entry in entries)
        return [entry for entry in entries if not isinstance(entry, Foreign)]

    async def statuses(self) -> list[tuple[str, str]]:
        """Return what the roster says of the lead, one after the other, with the reason where there is one."""
        bodies = [body for body in await self.records(ROSTER) if body.get("name") == LEAD]
        details = [str(body.get("reason") or body.get("on") or "") for body in bodies]
        return [(body["type"].removeprefix("member_"), detail) for body, detail in zip(bodies, details, strict=True)]

    async def steps(self) -> list["Step"]:
        """Return the lead's steps; each of its calls must have exactly one result."""
        return list(_steps(await self.entries()))

    async def words(self) -> str:
        """Return the lead's last words."""
        return (await self.steps())[-1].text


@dataclass(frozen=True)
class Step:
    """What the model said and whether each of its calls came to something."""

    text: str
    calls: tuple[Called, ...] = ()
    ok: tuple[bool, ...] = ()


TOLD = [Step(say.text, called(say), ok) for say, ok in zip(STORY, SUCCESSES, strict=True)]


def _steps(entries: list[Entry]) -> Iterator[Step]:
    results = [entry for entry in entries if isinstance(entry, Did)]
    assert len({did.call for did in results}) == len(results)
    for number, entry in enumerate(entries, 1):
        if isinstance(entry, Said):
            ok = {did.call: did.ok for did in results}
            ids = [f"{LEAD}:{number}.{index}" for index in range(len(entry.calls))]
            calls = tuple((call.tool, call.arguments) for call in entry.calls)
            yield Step(entry.text, calls, tuple(ok[id_] for id_ in ids))
