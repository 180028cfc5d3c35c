"""Going on with a team: how far it may go from now on."""

from contextlib import closing

import pytest

from deskmate.app import Feed, RunRequest, run
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.trusted_files import SETTINGS, Definition
from deskmate.core.team.roster_records import Joined, PolicySet
from deskmate.core.team.task_fields import NewTask
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing import Asked, FakeClock, Say
from deskmate.testing.fake_provider import FakeProvider
from deskmate.trust.approvals import Consent
from tests.scenarios.app_harness import TEAM, AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = pytest.mark.anyio
OWN = {"alice": Mode.BYPASS, "bob": Mode.DONT_ASK, "carol": Mode.ACCEPT_EDITS, "dave": Mode.DEFAULT, "erin": None}


def waits(asked: Asked) -> Say:
    return Say("I wait.")


async def gathered(harness: AppHarness, mode: Mode, team: str = TEAM, home: str | None = None) -> None:
    """Have a team on disk that may go so far, and whose members have modes of their own."""
    with closing(JsonlStore.open(harness.place, team, create=True)) as store:
        harness.sign(team)
        roster = Roster(LogWriter(store, FakeClock()))
        await roster.found(team, home=home)
        await roster.permit(PolicySet(by=LEAD, mode=mode, attended=False, at=0.0))
        for name, own in OWN.items():
            await roster.join(Joined(name=name, prompt="begin", mode=own, at=0.0))


async def modes(harness: AppHarness, team: str = TEAM) -> dict[str, Mode]:
    """Return how far everybody may go."""
    with closing(JsonlStore.open(harness.place, team)) as store:
        state = await Roster(LogWriter(store, FakeClock())).refresh()
    return {name: state.mode_of(name) for name in (LEAD, *OWN)}


@pytest.mark.behaviour("permission", "resume")
async def test_resumed_in_a_narrower_mode_nobody_goes_further_and_who_was_narrower_stays_so(
    harness: AppHarness,
) -> None:
    await gathered(harness, Mode.BYPASS)
    async with FakeProvider(waits) as provider:
        await harness.resume(provider, "anthropic", "Go on.", permission_mode="acceptEdits")
    edits = Mode.ACCEPT_EDITS
    expected = {LEAD: edits, "alice": edits, "bob": edits, "carol": edits, "dave": Mode.DEFAULT, "erin": edits}
    assert await modes(harness) == expected


@pytest.mark.behaviour("headless", "resume")
async def test_a_run_tells_which_tasks_its_team_left_open(harness: AppHarness) -> None:
    with closing(JsonlStore.open(harness.place, TEAM, create=True)) as store:
        harness.sign(TEAM)
        writer = LogWriter(store, FakeClock())
        roster = Roster(writer)
        await roster.found(TEAM)
        board = Board(writer, roster)
        for subject in ("one", "two", "three"):
            await board.create(LEAD, NewTask(subject))
        await board.complete(LEAD, 1, 0)
        await board.delete(LEAD, 2)
    async with FakeProvider(waits) as provider:
        outcome = await harness.resume(provider, "anthropic", "Go on.")
    assert (outcome.end, [(task.id, task.status) for task in outcome.tasks]) == (
        "answered",
        [(1, "completed"), (3, "pending")],
    )


@pytest.mark.behaviour("permission", "resume")
async def test_resumed_in_a_wider_mode_nobody_with_a_mode_of_its_own_goes_further_than_before(
    harness: AppHarness,
) -> None:
    await gathered(harness, Mode.DEFAULT)
    async with FakeProvider(waits) as provider:
        await harness.resume(provider, "anthropic", "Go on.", permission_mode="bypass")
    assert await modes(harness) == {name: own or Mode.BYPASS for name, own in {LEAD: None, **OWN}.items()}


@pytest.mark.behaviour("permission", "resume")
async def test_resumed_without_a_word_on_it_everybody_goes_as_far_as_before(harness: AppHarness) -> None:
    await gathered(harness, Mode.DEFAULT)
    async with FakeProvider(waits) as provider:
        await harness.resume(provider, "anthropic", "Go on.", permission_mode=None)
    assert await modes(harness) == {name: own or Mode.DEFAULT for name, own in {LEAD: None, **OWN}.items()}


@pytest.mark.behaviour("permission", "trust")
@pytest.mark.parametrize(
    ("said", "mode", "expected"),
    [
        ("plan", None, dict.fromkeys((LEAD, *OWN), Mode.PLAN)),
        ("default", "bypass", dict.fromkeys((LEAD, *OWN), Mode.DEFAULT)),
        ("bypass", None, {name: own or Mode.DONT_ASK for name, own in {LEAD: None, **OWN}.items()}),
    ],
)
async def test_a_project_that_is_trusted_narrows_a_team_that_is_resumed_and_never_widens_it(
    harness: AppHarness, said: str, mode: str | None, expected: dict[str, Mode]
) -> None:
    await gathered(harness, Mode.DONT_ASK)
    consent = Consent((Definition(SETTINGS, f'permission_mode = "{said}"'.encode()),), trusted=True)
    async with FakeProvider(waits) as provider:
        settings = harness.settings(provider, "anthropic", permission_mode=mode)
        await run(RunRequest(harness.place, "Go on.", None, settings, continues=True).with_consent(consent), Feed())
    assert await modes(harness) == expected


@pytest.mark.behaviour("permission", "trust")
@pytest.mark.parametrize(("said", "expected"), [("plan", Mode.PLAN), ("bypass", Mode.DEFAULT)])
async def test_a_project_that_is_trusted_narrows_a_new_team_and_never_widens_it(
    harness: AppHarness, said: str, expected: Mode
) -> None:
    consent = Consent((Definition(SETTINGS, f'permission_mode = "{said}"'.encode()),), trusted=True)
    async with FakeProvider(waits) as provider:
        settings = harness.settings(provider, "anthropic", permission_mode=None)
        await run(RunRequest(harness.place, "Go.", None, settings).with_consent(consent), Feed())
    assert (await modes(harness))[LEAD] is expected


@pytest.mark.behaviour("permission", "resume", "team-create")
async def test_it_holds_for_those_of_the_team_the_lead_founded_too(harness: AppHarness) -> None:
    with closing(JsonlStore.open(harness.place, TEAM, create=True)) as store:
        harness.sign()
        await Roster(LogWriter(store, FakeClock())).found(TEAM)
    await gathered(harness, Mode.BYPASS, "web", home=TEAM)
    async with FakeProvider(waits) as provider:
        await harness.resume(provider, "anthropic", "Go on.", permission_mode="default")
    assert set((await modes(harness, "web")).values()) == {Mode.DEFAULT}
