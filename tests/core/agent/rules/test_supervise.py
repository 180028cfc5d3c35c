"""What becomes of a teammate's process is a rule: a table, and what holds in every life."""

import math
import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from deskmate.core.agent.inbox import Inbox
from deskmate.core.agent.rules.supervise import (
    GIVEN_UP,
    LOOK_SECONDS,
    RECORDS_CHANGED,
    RESTART_SECONDS,
    RESTARTS,
    SHUTDOWN_SECONDS,
    START_SECONDS,
    Await,
    Crashed,
    Cut,
    Deed,
    Finish,
    GiveUp,
    Launch,
    LetGo,
    RecordsChanged,
    Revive,
    StartedLate,
    Supervised,
    Tries,
    ended,
    looked,
    started,
    supervise,
)
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.tool_table import AgentKind, AgentType
from deskmate.core.team.members import Member
from deskmate.core.team.status import Left, Parked, Working

ALICE = Member("alice", AgentKind.TEAMMATE, AgentType.GENERAL, "", "", None, Working())
PARKED = replace(ALICE, status=Parked("failed"), known=4)
CUT_OFF = replace(PARKED, only_user=True)
NEW, RUNS = Tries(), Tries(running=True)
STOPS: dict[str, Any] = {"inbox": Inbox(number=5, asks=5, asks_by={LEAD: 5}, stops={"r": LEAD})}
CRASHED = Crashed("RuntimeError: boom")
FORCED = LetGo("forced: still running 185 s after a shutdown request")
STRANDED = LetGo("forced: asked to shut down while it could not run")


def words(number: int, sender: str = LEAD) -> dict[str, Any]:
    return {"inbox": Inbox(number=number, asks=number, asks_by={sender: number})}


def seen(tries: Tries = NEW, member: Member = ALICE, **more: Any) -> Supervised:
    return Supervised(**{"member": member, "here": member.here, "tries": tries, "inbox": Inbox(), **more})


@pytest.mark.behaviour("supervise")
@pytest.mark.parametrize(
    ("supervised", "deed"),
    [
        # Running, or not yet.
        (seen(), Launch()),
        (seen(RUNS), Await(math.inf)),
        (seen(replace(RUNS, starting=0.0)), Await(LOOK_SECONDS)),
        (seen(replace(RUNS, starting=START_SECONDS - 3.0)), Await(3.0)),
        (seen(replace(RUNS, starting=START_SECONDS)), Cut(StartedLate())),
        # Gone.
        (seen(RUNS, replace(ALICE, status=Left("agreed"))), Await(math.inf)),
        (seen(Tries(failure=CRASHED), replace(ALICE, status=Left("agreed"))), Finish()),
        (seen(RUNS, here=False), Await(math.inf)),
        (seen(here=False), Finish()),
        # Failed.
        (seen(Tries(failure=CRASHED, crashes=(1.0,) * RESTARTS)), Launch()),
        (
            seen(Tries(failure=CRASHED, crashes=(1.0,) * (RESTARTS + 1))),
            GiveUp("failed 4 times within a minute, the last time with RuntimeError: boom", only_user=False),
        ),
        (seen(Tries(failure=StartedLate())), GiveUp("it did not start within 120 s", only_user=False)),
        (seen(Tries(failure=RecordsChanged("cut at 3"))), GiveUp(f"{RECORDS_CHANGED}: cut at 3", only_user=True)),
        (
            seen(Tries(failure=StartedLate()), CUT_OFF),
            GiveUp(f"{RECORDS_CHANGED}; it did not start within 120 s", only_user=True),
        ),
        # Parked.
        (seen(GIVEN_UP, PARKED), Await(math.inf)),
        (seen(GIVEN_UP, PARKED, **words(4)), Await(math.inf)),
        (seen(GIVEN_UP, PARKED, **words(5, "bob")), Await(math.inf)),
        (seen(GIVEN_UP, PARKED, **words(5)), Revive(shows=True)),
        (seen(GIVEN_UP, CUT_OFF, **words(5)), Await(math.inf)),
        (seen(GIVEN_UP, CUT_OFF, **words(5, USER)), Revive(shows=False)),
        # Asked to stop.
        (seen(RUNS, **STOPS, waited={"r": 1.0}), Await(SHUTDOWN_SECONDS - 1.0)),
        (seen(replace(RUNS, starting=0.0), **STOPS, waited={"r": 1.0}), Await(LOOK_SECONDS)),
        (seen(RUNS, **STOPS, waited={"r": SHUTDOWN_SECONDS}), Cut()),
        (seen(**STOPS, waited={"r": SHUTDOWN_SECONDS}), FORCED),
        (seen(RUNS, **STOPS, waited={"r": SHUTDOWN_SECONDS}, refused={"r"}), Await(math.inf)),
        (seen(RUNS, **STOPS, waited={"r": SHUTDOWN_SECONDS}, here=False), Await(math.inf)),
        (seen(Tries(failure=CRASHED, crashes=(1.0,)), **STOPS, waited={"r": 1.0}), Launch()),
        (seen(GIVEN_UP, PARKED, **STOPS), STRANDED),
        (seen(GIVEN_UP, CUT_OFF, **STOPS), STRANDED),
        (seen(GIVEN_UP, replace(PARKED, known=5), **STOPS, refused={"r"}), Await(math.inf)),
    ],
)
def test_what_is_done_about_a_teammate(supervised: Supervised, deed: Deed) -> None:
    assert supervise(supervised) == deed


@pytest.mark.behaviour("P7")
@pytest.mark.parametrize(("apart", "kept"), [(RESTART_SECONDS / 3 - 0.1, 4), (RESTART_SECONDS / 3, 3)])
def test_crashes_count_for_a_minute(apart: float, kept: int) -> None:
    tries = Tries()
    for number in range(4):
        tries = ended(started(tries), CRASHED, number * apart)
    assert len(tries.crashes) == kept


def test_a_run_that_ends_well_or_late_is_no_crash() -> None:
    for failure in (None, StartedLate(), RecordsChanged("cut")):
        assert ended(RUNS, failure, 5.0) == Tries(failure=failure)


def test_time_in_which_this_process_was_suspended_counts_as_one_look() -> None:
    tries = looked(started(Tries()), 3600.0, starting=True)
    assert tries.starting == LOOK_SECONDS
    assert looked(tries, 3.0, starting=True).starting == LOOK_SECONDS + 3.0
    assert looked(tries, 3.0, starting=False).starting is None


def life(rng: random.Random) -> list[Deed]:
    """Let a teammate be supervised while it fails, hangs, is written to and is asked to stop. Return what was done."""
    member, tries, inbox, now, asked = ALICE, Tries(), Inbox(), 0.0, math.inf
    deeds: list[Deed] = []
    while not deeds or not isinstance(deeds[-1], Finish):
        assert len(deeds) < 2_000, deeds[-10:]
        waited = dict.fromkeys(inbox.stops, now - asked)
        deed = supervise(Supervised(member, member.here, tries, inbox, waited=waited))
        deeds.append(deed)
        match deed:
            case Launch():
                tries = started(tries)
            case Cut(failure=failure):
                tries = ended(tries, failure, now)
            case GiveUp(reason=reason, only_user=only_user):
                member = replace(member, status=Parked(reason), known=inbox.number, only_user=only_user)
                tries = GIVEN_UP
            case Revive():
                member, tries = replace(member, status=Working(), known=0, only_user=False), Tries()
            case LetGo(reason=reason):
                member = replace(member, status=Left(reason))
            case Await(seconds=seconds):
                now += min(seconds, rng.choice((0.5, 5.0, 50.0)))
                failure = rng.choice((CRASHED, CRASHED, RecordsChanged("cut"), None))
                if tries.running and rng.random() < 0.4:
                    tries = ended(tries, failure, now)
                else:
                    tries = looked(tries, 5.0, starting=rng.random() < 0.5)
                number = inbox.number + 1
                if rng.random() < 0.2:
                    inbox = replace(inbox, number=number, asks_by={**inbox.asks_by, rng.choice((USER, LEAD)): number})
                if rng.random() < 0.02:
                    inbox, asked = replace(inbox, number=number, stops={"r": LEAD}), min(asked, now)
    return deeds


@pytest.mark.behaviour("supervise", "shutdown", "P1")
def test_every_life_ends_once_it_is_asked_to_and_nothing_is_started_twice() -> None:
    met: set[type[Deed]] = set()
    for seed in range(300):
        deeds = life(random.Random(seed))
        met |= {type(deed) for deed in deeds}
        assert isinstance(deeds[-2], LetGo), seed
        active = [deed for deed in deeds if not isinstance(deed, Await)]
        for deed, following in pairwise(active):
            if isinstance(deed, GiveUp):
                assert isinstance(following, Revive | LetGo), seed
            if isinstance(deed, Revive):
                assert isinstance(following, Launch | LetGo), seed
    assert met == {Launch, Cut, GiveUp, Revive, LetGo, Await, Finish}
