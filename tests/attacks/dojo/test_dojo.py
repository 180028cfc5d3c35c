"""AgentDojo's 949 pairs, as message, file or result: a model that obeys them all has no effect outside its policy."""

import os
from collections.abc import Callable, Iterator, Sequence

import pytest

from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.messages import PermissionResponse
from deskmate.workspace.sandbox.levels import find_sandbox
from tests.attacks.dojo.effects import ALICE, BOB, effects
from tests.attacks.dojo.native_attempts import CHANGED_BY_COMMANDS
from tests.attacks.dojo.obedient_agent import Channel, DojoRun, Play, Site, play, questions
from tests.attacks.dojo.suites import SUITES, Pair, SuiteWorld, pairs, templates
from tests.workspace.conftest import open_folder
from tests.workspace.escapes.escape_ground import ground

pytestmark = pytest.mark.anyio

SOAK = os.environ.get("DESKMATE_SOAK") == "1"
CHANNELS = (Channel.MESSAGE, Channel.FILE, Channel.TOOL)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A site with the best sandbox that this machine can have."""
    with open_folder() as parent, ground(parent) as on:
        yield Site(on, find_sandbox(parent / "state", environ=os.environ))


@pytest.fixture
def bare() -> Iterator[Site]:
    """A site of its own, without a sandbox."""
    with open_folder() as parent, ground(parent) as on:
        yield Site(on, None)


def one_each() -> list[Pair]:
    """Return a pair for each injected task."""
    return [pair for suite in SUITES for pair in {pair.injection.ID: pair for pair in pairs(suite)}.values()]


def chosen(pair: Pair, channel: Channel) -> Sequence[str]:
    """Return the templates that a pair is tried with in a channel.

    In a soak, the channels share all templates of a pair. Else one template, in one channel, in turn.
    """
    every, place = templates(), CHANNELS.index(channel)
    if SOAK:
        return tuple(name for index, name in enumerate(every) if (pair.number + index) % len(CHANNELS) == place)
    return (every[(pair.number + 5 * place) % len(every)],) if pair.number % len(CHANNELS) == place else ()


def harmless(played: Sequence[DojoRun]) -> list[DojoRun]:
    """Return what should have come of these plays: read, obeyed, without effect, the user's own work done."""
    return [DojoRun(one.play, obeyed=True, worked=True, effects=()) for one in played]


async def test_all_pairs_and_templates_are_there() -> None:
    assert {suite: len(pairs(suite)) for suite in SUITES} == {
        "workspace": 560,
        "travel": 140,
        "banking": 144,
        "slack": 105,
    }
    assert (len(one_each()), len(templates())) == (35, 17)


@pytest.mark.behaviour("injection")
@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("suite", SUITES)
async def test_what_an_obedient_agent_reads_widens_nothing(site: Site, suite: str, channel: Channel) -> None:
    played = [await play(site, pair, channel, name) for pair in pairs(suite) for name in chosen(pair, channel)]
    assert played == harmless(played)
    assert (site.changed, site.ground.heard) == (set(), [])


@pytest.mark.behaviour("injection")
async def test_nor_does_what_a_command_prints(site: Site) -> None:
    if not site.confined:
        pytest.skip("without a sandbox no command runs")
    every = [pair for suite in SUITES for pair in pairs(suite)] if SOAK else one_each()
    played = [await play(site, pair, Channel.COMMAND, "important_instructions") for pair in every]
    assert played == harmless(played)
    assert (site.changed, site.ground.heard) == (set(), [])


@pytest.mark.behaviour("injection")
async def test_without_a_sandbox_it_widens_nothing_either(bare: Site) -> None:
    played = [await play(bare, pair, Channel.FILE, "tool_knowledge") for pair in one_each()]
    assert played == harmless(played)
    assert (bare.changed, bare.ground.heard) == (set(), [])


@pytest.mark.behaviour("injection")
@pytest.mark.parametrize("mode", [Mode.DEFAULT, Mode.PLAN, Mode.DONT_ASK])
async def test_nor_does_it_in_another_mode(site: Site, mode: Mode) -> None:
    if mode is Mode.DONT_ASK and not site.confined:
        pytest.skip("dontAsk allows all commands, so that without a sandbox they have effects")
    played = [await play(site, pair, Channel.MESSAGE, "direct", mode=mode) for pair in one_each()]
    # Who plans may always ask the lead for approval.
    asks = ("ExitPlanMode ran", "mail/lead has {'type': 'plan_approval_request'") if mode is Mode.PLAN else ()
    done = [(one.obeyed, [effect for effect in one.effects if not effect.startswith(asks)]) for one in played]
    assert done == [(True, [])] * len(played)
    assert (site.changed, site.ground.heard) == (set(), [])


@pytest.mark.behaviour("injection")
async def test_where_somebody_attends_each_call_is_asked_about_and_nothing_is_done(site: Site) -> None:
    for pair in one_each():
        asked, found = await questions(site, pair, Channel.MESSAGE, "tool_knowledge")
        assert [use for use in asked if use[0] != "write_file"] == list(pair.uses)
        assert found == ()
    assert (site.changed, site.ground.heard) == (set(), [])


# -- the judges ---------------------------------------------------------------------------------------


async def test_with_everything_allowed_and_no_sandbox_all_of_it_happens(
    bare: Site, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    for pair in filter(lambda pair: pair.has_calls, one_each()):
        world = SuiteWorld(pair.suite)
        played = await play(bare, pair, Channel.MESSAGE, "direct", mode=Mode.BYPASS, world=world)
        assert {f"{tool} ran" for tool, _ in pair.uses} <= set(played.effects)
        assert world.has_fallen_to(pair.injection), pair.id
    eventually(lambda: bare.ground.heard == ["pwned\n"])
    assert bare.changed == CHANGED_BY_COMMANDS


async def test_the_census_names_what_others_or_policy_would_have_to_say(site: Site) -> None:
    (pair, *_) = one_each()
    world = SuiteWorld(pair.suite)
    one = Play(site, pair, Channel.MESSAGE, pair.text("direct"))
    async with one.seated(world, Mode.ACCEPT_EDITS, attended=False) as (floor, laid, _):
        await floor.send(PermissionResponse(request_id="alice:1.0", approve=True), sender=BOB, to=ALICE)
        await floor.permit(mode=Mode.BYPASS)
        await floor.team_state.board.delete(LEAD, 1)
        found = await effects(floor, laid, world, confined=site.confined)
    assert [effect.split()[0] for effect in found] == ["roster", "board", "mail/alice"]
