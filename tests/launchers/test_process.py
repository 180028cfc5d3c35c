"""Teammates in processes of their own, with real ones: they work, they die and are started again, none is left."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from deskmate.app import Feed, run
from deskmate.app.teammate_process import TeammateOrder
from deskmate.core.agent.entries import Said
from deskmate.core.log.names import BOARD, LEAD, ROSTER, mail
from deskmate.core.prompt.prompts import TextDelta
from deskmate.core.team.messages import ShutdownRequest
from deskmate.core.team.status import Idle, Parked, Working
from deskmate.errors import PlayerFailed
from deskmate.runtime.events import Arrived, Changed, Recorded, Streamed, TeamEvent
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.testing import Asked, FakeClock, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from tests.launchers.process_team import (
    ALICE,
    SOON,
    ProcessTeam,
    builds,
    environment,
    fact,
    number_in,
    process_team,
    running,
    story,
    told,
    typed,
)
from tests.launchers.process_team import lead as plain_lead
from tests.scenarios.app_harness import TEAM, AppHarness

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="what runs is looked up in /proc"),
]
ASK = ShutdownRequest(request_id="r1", content="enough")


@asynccontextmanager
async def playing(process_team: ProcessTeam) -> AsyncIterator[list[Exception]]:
    """Have alice played meanwhile, bounded; what that raises is listed once it has ended."""
    raised: list[Exception] = []

    async def play() -> None:
        try:
            await process_team.launcher.play(ALICE)
        except Exception as error:
            raised.append(error)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(play)
            yield raised


async def its_process(harness: AppHarness) -> int:
    """Return the process that plays alice, once it sits in her seat."""
    seat = harness.place / f".teams/{TEAM}/{ALICE}.seat"
    await fact(lambda: seat.exists() and seat.read_text().startswith("process "))
    return int(seat.read_text().split()[1])


# -- working --------------------------------------------------------------------------------------


async def test_a_teammate_claims_works_mails_and_leaves_in_a_process_of_its_own(harness: AppHarness) -> None:
    (harness.place / "anyio.py").write_text("raise SystemExit('the workspace brought a module along')")
    events: list[TeamEvent] = []
    feed = Feed()
    feed.listen(events.append)
    who = "echo $PPID > pid; tr '\\0' ' ' < /proc/$PPID/cmdline > words"
    async with FakeProvider(story(builds(who))) as provider:
        outcome = await harness.run(provider, "anthropic", feed, launcher="process", model="claude-haiku-4-5")
    assert (outcome.end, outcome.text, provider.complaints) == (
        "answered",
        "I wait for Alice.\n\nAlice has built it.",
        [],
    )
    assert int(harness.files["pid"]) != os.getpid()
    words = f"-P -m deskmate -C {harness.place} play {ALICE} --team {TEAM}"
    assert harness.files["words"].strip().endswith(f" {words}")
    assert {(asked.model, asked.headers["x-api-key"]) for asked in provider.requests} == {
        ("claude-haiku-4-5", "sk-test")
    }
    kinds = [record["type"] for record in await harness.records(BOARD)]
    assert kinds == ["task_created", "task_claimed", "task_completed"]
    assert [record["sender"] for record in await harness.records(mail(LEAD))][1:] == [ALICE, ALICE]
    assert not running(int(harness.files["pid"]))
    seen = [event for event in events if not isinstance(event, Recorded)]
    # A word at a time: half of one may be the beginning of a secret.
    assert [Streamed(ALICE, TextDelta(text)) in seen for text in ("I ", "build.")] == [True, True]
    assert Changed(ALICE, Working()) in seen
    assert Arrived(ALICE, LEAD, "shutdown_request") in seen
    entries = [event.entry for event in events if isinstance(event, Recorded)]
    assert "I build." in [entry.text for entry in entries if isinstance(entry, Said)]


async def test_what_a_teammates_process_warns_of_is_told_where_the_lead_plays(
    harness: AppHarness, caplog: pytest.LogCaptureFixture
) -> None:
    subprocess.run(["git", "init", "-q", str(harness.place)], check=True)
    async with FakeProvider(story(builds("ln -s /etc/passwd .git/FETCH_HEAD"))) as provider:
        await harness.run(provider, "anthropic", launcher="process")
    link = harness.place / ".git/FETCH_HEAD"
    told = f"'{ALICE}': After a command in {harness.place}: Deskmate removed the symbolic link {link} to /etc/passwd "
    assert told in caplog.text


async def test_a_reader_that_does_not_read_does_not_hold_up_the_teammate(harness: AppHarness) -> None:
    essay = "word " * 20_000
    async with FakeProvider([Say(essay)]) as provider, process_team(harness, provider) as team:
        process = subprocess.Popen(
            typed("-C", str(harness.place), "play", ALICE, "--team", TEAM),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(harness.home, provider),
        )
        assert process.stdin is not None
        assert process.stdout is not None
        with process:
            process.stdin.write(team.launcher.order().encode() + b"\n")
            process.stdin.flush()
            await Mailbox(LEAD, team.team_state.writer, team.team_state.roster).send(ALICE, ASK)
            with anyio.fail_after(SOON):
                while (await team.member()).here:
                    await team.team_state.writer.store.changed({ROSTER: team.team_state.roster.state.number})
            lines = await anyio.to_thread.run_sync(process.stdout.readlines)
        assert process.returncode == 0
    deltas = [line for line in lines if b'"streamed"' in line]
    assert 0 < len(deltas) < len(essay) / 16
    assert sum(b'"recorded"' in line and b"word word" in line for line in lines) == 1
    assert lines[0] == b'{"type": "beat"}\n'


@pytest.mark.behaviour("budget")
async def test_the_cap_on_time_counts_what_the_run_took_before_the_teammate_was_started(harness: AppHarness) -> None:
    provider = FakeProvider([])
    async with provider, process_team(harness, provider, max_time=600.0) as team:
        orders = [TeammateOrder.model_validate_json(team.launcher.order()) for _ in range(2)]
        # Told to each process that starts, also to one that is started again.
        assert 0.0 < orders[0].seconds < orders[1].seconds < 600.0
        late = orders[0].model_copy(update={"seconds": 600.0}).model_dump_json()
        async with playing(replace(team, launcher=replace(team.launcher, order=lambda: late))):
            while not isinstance((await team.member()).status, Parked):
                await team.team_state.writer.store.changed({ROSTER: team.team_state.roster.state.number})
            await Mailbox(LEAD, team.team_state.writer, team.team_state.roster).send(ALICE, ASK)
    assert "600" in (await harness.records(ROSTER))[-2]["reason"]
    assert provider.requests == []


# -- dying ----------------------------------------------------------------------------------------


@pytest.mark.behaviour("supervise")
async def test_a_killed_process_is_started_again_and_goes_on(harness: AppHarness) -> None:
    async def kill() -> None:
        os.kill(await number_in(harness.place / "pid"), signal.SIGKILL)

    alice = builds("echo $$ > shell; echo $PPID > pid; exec sleep 600")
    async with FakeProvider(story(alice)) as provider, anyio.create_task_group() as tasks:
        tasks.start_soon(kill)
        outcome = await harness.run(provider, "anthropic", launcher="process")
    assert (outcome.end, outcome.text, provider.complaints) == (
        "answered",
        "I wait for Alice.\n\nAlice has built it.",
        [],
    )
    assert not running(int(harness.files["shell"]))
    assert any(
        "Interrupted. Its outcome is unknown." in result.text for asked in provider.requests for result in asked.results
    )


@pytest.mark.behaviour("resume", "P2")
async def test_a_killed_lead_leaves_nothing_running_and_is_resumed(harness: AppHarness) -> None:
    async with FakeProvider(story(builds("echo $$ > shell; echo $PPID > pid; exec sleep 600"))) as provider:
        # By its number a process can be found from outside only without a sandbox.
        words = ["run", "build it", "--permission-mode", "dontAsk", "--no-sandbox", "--launcher", "process"]
        process = subprocess.Popen(
            typed("-C", str(harness.place), *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(harness.home, provider),
        )
        with process:
            shell, pid = await number_in(harness.place / "shell"), await number_in(harness.place / "pid")
            process.kill()
        # At once: the teammate of before may still sit in its seat.
        with anyio.fail_after(SOON):
            outcome = await run(replace(harness.wanted(provider, "anthropic", None), continues=True), Feed())
        await fact(lambda: not running(pid) and not running(shell))
    assert (outcome.end, outcome.text, provider.complaints) == (
        "answered",
        "I wait for Alice.\n\nAlice has built it.",
        [],
    )


@pytest.mark.behaviour("P2")
async def test_nothing_outlives_a_killed_lead_though_nobody_resumes_it(harness: AppHarness) -> None:
    async with FakeProvider(story(builds("trap '' TERM; echo $$ > shell; echo $PPID > pid; sleep 600"))) as provider:
        # By its number a process can be found from outside only without a sandbox.
        words = ["run", "build it", "--permission-mode", "dontAsk", "--no-sandbox", "--launcher", "process"]
        process = subprocess.Popen(
            typed("-C", str(harness.place), *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(harness.home, provider),
        )
        with process:
            shell, pid = await number_in(harness.place / "shell"), await number_in(harness.place / "pid")
            process.kill()
        await fact(lambda: not running(pid) and not running(shell))


@pytest.mark.behaviour("supervise", "P7")
async def test_one_that_fails_four_times_in_a_minute_is_parked_and_the_lead_is_told(harness: AppHarness) -> None:
    def lead(asked: Asked) -> Say:
        return Say("Alice cannot be played.") if "failed 4 times within a minute" in told(asked) else plain_lead(asked)

    def alice(asked: Asked) -> Say:
        deadly = Use("bash", {"command": "echo $PPID >> pids; echo $$ >> shells; kill -9 $PPID; sleep 600"})
        return Say(calls=[deadly]) if "is yours now" in told(asked) else Say("Ready.")

    script = {**story(alice), "the lead of team": lead}
    async with FakeProvider(script) as provider:
        outcome = await harness.run(provider, "anthropic", launcher="process")
    assert (outcome.text, provider.complaints) == ("I wait for Alice.\n\nAlice cannot be played.", [])
    pids = harness.files["pids"].split()
    left = [pid for pid in (*pids, *harness.files["shells"].split()) if running(int(pid))]
    assert (len(pids), len(set(pids)), left) == (4, 4, [])
    (parked,) = [record for record in await harness.records(ROSTER) if record["type"] == "member_parked"]
    reason = (
        "failed 4 times within a minute, the last time with PlayerFailed: The process of 'alice' was ended by signal 9"
    )
    assert parked["reason"] == reason
    # Its task is on the board again.
    assert (await harness.records(BOARD))[-1]["type"] == "task_released"


async def test_a_silent_process_is_ended_and_told(harness: AppHarness) -> None:
    clock = FakeClock()
    async with FakeProvider([Say("Ready.")]) as provider, process_team(harness, provider) as team:
        launched = replace(team, launcher=replace(team.launcher, clock=clock))
        async with playing(launched) as raised:
            pid = await its_process(harness)
            await fact(lambda: Changed(ALICE, Idle()) in team.events)
            os.kill(pid, signal.SIGSTOP)
            while not raised:
                clock.advance(10)
                await anyio.lowlevel.checkpoint()
        assert [(type(error), str(error)) for error in raised] == [
            (PlayerFailed, "The process of 'alice' sent nothing for 60 s and was ended")
        ]
        assert not running(pid)


async def test_time_that_this_process_was_stopped_is_nobodys_silence(harness: AppHarness) -> None:
    clock = FakeClock()
    async with FakeProvider([Say("Ready.")]) as provider, process_team(harness, provider) as team:
        launched = replace(team, launcher=replace(team.launcher, clock=clock))
        async with playing(launched) as raised:
            await fact(lambda: Changed(ALICE, Idle()) in team.events)
            for seconds in (10, 3600):
                clock.advance(seconds)
                await fact(lambda: clock.sleeping == 1)
            await Mailbox(LEAD, team.team_state.writer, team.team_state.roster).send(ALICE, ASK)
        assert raised == []
        assert not (await team.member()).here


# -- ending ---------------------------------------------------------------------------------------


async def test_who_is_cancelled_is_gone_with_all_it_ran_and_has_not_left(harness: AppHarness) -> None:
    script = [Say(calls=[Use("bash", {"command": "echo $$ > shell; sleep 600 & wait"})])]
    async with FakeProvider(script) as provider, process_team(harness, provider) as team:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(team.launcher.play, ALICE)
            shell, pid = await number_in(harness.place / "shell"), await its_process(harness)
            tasks.cancel_scope.cancel()
        assert (running(pid), running(shell)) == (False, False)
        assert isinstance((await team.member()).status, Working)


STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("stubborn", flush=True)
time.sleep(600)
"""
LOUD = """
import os, sys
sys.stdin.readline()
sys.stdout.write("x" * 9_000_000 + "\\nheard\\n")
sys.stdout.flush()
os.write(2, b"noise\\n" * 100_000 + b"the last words\\n")
sys.exit(7)
"""


def stub(harness: AppHarness, team: ProcessTeam, source: str, heard: list[bytes]) -> ProcessTeam:
    """Return the team with something else than ours in place of the process."""
    path = harness.place / "stub.py"
    path.write_text(source)
    return replace(team, launcher=replace(team.launcher, deskmate=(sys.executable, str(path)), hear=heard.append))


async def test_one_that_does_not_stop_when_asked_is_killed(harness: AppHarness) -> None:
    heard: list[bytes] = []
    async with FakeProvider([]) as provider, process_team(harness, provider) as team:
        stubborn = replace(stub(harness, team, STUBBORN, heard).launcher, grace_seconds=0.1)
        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stubborn.play, ALICE)
                await fact(lambda: heard == [b"stubborn"])
                (pid,) = children(harness.place / "stub.py")
                tasks.cancel_scope.cancel()
        assert not running(pid)


def children(script: Path) -> list[int]:
    """Return the processes that run a script."""
    words = {int(path.parent.name): path.read_bytes().split(b"\0") for path in Path("/proc").glob("[0-9]*/cmdline")}
    return [pid for pid, said in words.items() if os.fsencode(script) in said]


async def test_how_it_failed_is_told_with_its_last_words_and_no_flood_of_output_matters(harness: AppHarness) -> None:
    heard: list[bytes] = []
    async with FakeProvider([]) as provider, process_team(harness, provider) as team:
        async with playing(stub(harness, team, LOUD, heard)) as raised:
            pass
        (error,) = raised
    assert str(error) == "The process of 'alice' ended with exit code 7: noise / noise / the last words"
    assert heard[-1] == b"heard"
    assert max(map(len, heard)) < 5_000_000


async def test_a_process_that_cannot_be_started_is_told(harness: AppHarness) -> None:
    async with FakeProvider([]) as provider, process_team(harness, provider) as team:
        nowhere = replace(team.launcher, deskmate=(str(harness.place / "nothing"),))
        with pytest.raises(PlayerFailed, match=r"Cannot start a process for 'alice': .*No such file"):
            await nowhere.play(ALICE)


# -- the command ----------------------------------------------------------------------------------


async def play(harness: AppHarness, provider: FakeProvider, *words: str, stdin: str = "{}\n") -> tuple[int, str, str]:
    """Type `deskmate play`, stdin staying open where there is any; return its exit code, its stdout and its stderr."""
    process = await anyio.open_process(
        typed("-C", str(harness.place), "play", *words), env=environment(harness.home, provider)
    )
    async with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        if stdin:
            await process.stdin.send(stdin.encode())
        else:
            await process.stdin.aclose()
        with anyio.fail_after(SOON):
            stdout = b"".join([data async for data in process.stdout])
            stderr = b"".join([data async for data in process.stderr])
            return await process.wait(), stdout.decode(), stderr.decode()


@pytest.mark.parametrize(
    ("words", "stdin", "code", "complaint"),
    [
        (["bob", "--team", TEAM], "{}\n", 2, "deskmate: There is no teammate 'bob' in team 'main'"),
        ([LEAD, "--team", TEAM], "{}\n", 2, "deskmate: There is no teammate 'lead' in team 'main'"),
        ([ALICE, "--team", "other"], "{}\n", 2, "deskmate: There is no team 'other' in {place}"),
        (
            [ALICE, "--team", TEAM],
            '{"settings": {"max_steps": 0}}\n',
            2,
            "deskmate: The option --max-steps must be a whole number of at least 1",
        ),
        (
            [ALICE, "--team", TEAM],
            '{"key": "sk-secret"}\n',
            2,
            "deskmate: The first line on stdin must be a JSON object with settings",
        ),
        ([ALICE, "--team", TEAM], "", 130, ""),
    ],
)
async def test_what_cannot_be_played_is_told_in_a_line(
    harness: AppHarness, words: list[str], stdin: str, code: int, complaint: str
) -> None:
    async with FakeProvider([]) as provider, process_team(harness, provider):
        ended = await play(harness, provider, *words, stdin=stdin)
    told = [line for line in ended[1].splitlines() if line != '{"type": "beat"}']
    assert (ended[0], told, ended[2].partition("\n")[0]) == (code, [], complaint.format(place=harness.place))
    assert "sk-secret" not in ended[2]


@pytest.mark.behaviour("supervise")
async def test_a_second_process_is_told_who_sits_there(harness: AppHarness) -> None:
    provider = FakeProvider([Say("Ready.")])
    async with provider, process_team(harness, provider) as team, anyio.create_task_group() as tasks:
        tasks.start_soon(team.launcher.play, ALICE)
        pid = await its_process(harness)
        code, _, complaint = await play(harness, provider, ALICE, "--team", TEAM)
        assert running(pid)
        tasks.cancel_scope.cancel()
    assert (code, complaint) == (
        3,
        f"deskmate: The seat 'alice' is held by process {pid}\nStop that process first.\n",
    )


async def test_the_end_of_stdin_stops_it_and_records_nothing(harness: AppHarness) -> None:
    async with FakeProvider([Say("Ready.")]) as provider, process_team(harness, provider) as team:
        process = await anyio.open_process(
            typed("-C", str(harness.place), "play", ALICE, "--team", TEAM),
            env=environment(harness.home, provider),
        )
        async with process:
            assert process.stdin is not None
            await process.stdin.send(b"{}\n")
            while not isinstance((await team.member()).status, Idle):
                await team.team_state.writer.store.changed({ROSTER: team.team_state.roster.state.number})
            before = await harness.records(ROSTER)
            await process.stdin.aclose()
            with anyio.fail_after(SOON):
                assert await process.wait() == 130
        assert await harness.records(ROSTER) == before


def test_people_are_not_shown_the_command() -> None:
    shown = subprocess.run(typed("--help"), capture_output=True, text=True, check=True).stdout
    assert "resume" in shown
    assert "play" not in shown.partition("Commands:")[2].partition("Examples:")[0]


async def test_who_has_left_is_let_leave_again(harness: AppHarness) -> None:
    async with FakeProvider([Say("Ready.")]) as provider, process_team(harness, provider) as team:
        await Mailbox(LEAD, team.team_state.writer, team.team_state.roster).send(ALICE, ASK)
        with anyio.fail_after(SOON):
            await team.launcher.play(ALICE)
            before = await harness.records(ROSTER)
            await team.launcher.play(ALICE)
        assert await harness.records(ROSTER) == before
