"""What a model must know when it is asked, checked: K1 to K8 of docs/promises.md.

    violations(prompt, truth)             # ["K1: bob (tester) is on the team, and nothing names it with its role"]

A scripted model says what it was told to say, whether or not it was told what it needs. So the fakes of this package
read every prompt like a model that has nothing else: is each fact it needs there, and is what it is told so?

The checks look for facts (names, ids, task texts, statuses), not for sentences, so that wording may change. What was
told and may be out of date is judged by the record it was made from, so that a race is never reported.
"""

import re
from collections.abc import Callable, Iterator

from deskmate.core.frames import clean
from deskmate.core.members import Member, is_planning
from deskmate.core.names import LEAD
from deskmate.core.prompts import Prompt
from deskmate.core.roles import PLANNING, TOOLS, AgentType, tools_of
from deskmate.core.tasks import in_progress_of
from deskmate.testing.prompt_parts import PromptParts, names, plain
from deskmate.testing.told_facts import (
    advice_that_fails,
    claims_that_are_false,
    statuses_that_were_false,
    told_twice,
)
from deskmate.testing.truth import Truth

Check = Callable[[PromptParts, Truth], Iterator[str]]

# So much of a long text must be there; the rest may be cut, if the model is told how to get it.
_BEGINNING = 200
_OPEN = re.compile(r"waiting for your answer|you may answer|needs your answer|is open", re.IGNORECASE)
_ATTENDED = re.compile(r"\b[Tt]he user is (?:here|there|present)\b"), re.compile(r"\b[Nn]obody attends\b")
_PLANNING = re.compile(r"\bplan mode\b(?! is over)", re.IGNORECASE), re.compile(r"\bplan mode is over\b", re.IGNORECASE)
_READ_ONLY = re.compile(r"\bread-only\b|\bonly reads?\b"), re.compile(r"(?!)")
_DELEGATING = re.compile(r"\b[Yy]ou delegate\b"), re.compile(r"\bno longer delegate\b")


# What was found in this process, for a fixture to fail on: an agent only parks on what its model raises.
FOUND: list[str] = []


class Uninformed(AssertionError):
    """A model was asked without being told what it needs, or was told what is not so."""


def take_found() -> list[str]:
    """Return what was found in this process since the last time somebody asked."""
    found = FOUND[:]
    FOUND.clear()
    return found


def violations(prompt: Prompt, truth: Truth) -> list[str]:
    """Return every way in which a prompt breaks a promise about what models are told, each with its id first."""
    parts = PromptParts(prompt, truth.entries)
    return [f"{id_}: {flaw}" for id_, check in CHECKS for flaw in check(parts, truth)]


# -- K1: the team ---------------------------------------------------------------------------------


def _team(parts: PromptParts, truth: Truth) -> Iterator[str]:
    if not truth.on_a_team or parts.was_cut:
        return
    for member in truth.roster.members.values():
        if member.name != truth.me.name and member.here and _is_known(member, truth) and not _is_named(member, parts):
            role = f" ({plain(member.role)})" if member.role else ""
            yield f"{member.name}{role} is on the team, and nothing names it with its role"
    for section in parts.sections:
        for line in section.lines if "team" in section.title else ():
            name = line.removeprefix("- ").partition(" ")[0].rstrip(":,")
            member_there = truth.roster.members.get(name)
            if member_there and not member_there.here and member_there.status.number <= truth.noticed_in_summary:
                yield f"{name} has left, and a list of the team names it"


def _is_known(member: Member, truth: Truth) -> bool:
    """Tell whether the asker had the time to learn of a member. A lead knows whom it added by a call."""
    if truth.me.name != LEAD:
        return member.since <= truth.joins_upto
    return member.name == LEAD or bool(member.joined and member.joined.cause)


def _is_named(member: Member, parts: PromptParts) -> bool:
    role = plain(clean(member.role))[: _BEGINNING // 2]
    return any(names(text, member.name) and (not role or role in plain(text)) for text in parts.about_the_team)


# -- K2: requests ---------------------------------------------------------------------------------


def _requests(parts: PromptParts, truth: Truth) -> Iterator[str]:
    if not truth.on_a_team or parts.was_cut:
        return
    for id_, sender in truth.memory.demands.items():
        if not names(parts.told, id_):
            yield f"the shutdown request {id_} of {sender} waits for an answer, and the prompt does not have its id"
    for id_, planner in truth.heard_plans():
        if truth.is_open_plan(id_, planner):
            if not names(parts.told, id_):
                yield f"the plan {id_} of {planner} waits for an answer, and the prompt does not have its id"
        elif not truth.was_open_in_summary(id_, planner):
            for section in parts.sections:
                if any(names(line, id_) and _OPEN.search(line) for line in section.lines):
                    yield f"the plan {id_} of {planner} is called open, and it was answered or {planner} left"


# -- K3: the task in progress ---------------------------------------------------------------------


def _task(parts: PromptParts, truth: Truth) -> Iterator[str]:
    if not truth.on_a_team or parts.was_cut:
        return
    for task in in_progress_of(truth.board, truth.me.name):
        texts = {"subject": task.subject, "description": task.description, "verify": task.verify or ""}
        for what, text in texts.items():
            beginning = plain(clean(text))[:_BEGINNING]
            if beginning and beginning[:100] not in parts.whole:
                yield f"#{task.id} is in progress, and the prompt does not have its {what}: {beginning[:80]!r}"


# -- K4: the mode ---------------------------------------------------------------------------------


def _mode(parts: PromptParts, truth: Truth) -> Iterator[str]:
    planning = is_planning(truth.roster, truth.me.name, owes_plan=truth.memory.owes_plan)
    for name, is_on, patterns in (
        ("plan mode", planning, _PLANNING),
        ("delegating", truth.delegates, _DELEGATING),
        ("that it is read-only", truth.me.agent_type is not AgentType.GENERAL, _READ_ONLY),
        ("that the user is there", truth.roster.attended, _ATTENDED),
    ):
        # Where an agent was started without a word on its environment, nobody knows what its prompt meant by default.
        if patterns is _ATTENDED and not truth.knows_environment:
            continue
        said = _last_said(parts, *patterns)
        if is_on and said is not True:
            yield f"{name}: true now, and the prompt does not say so"
        if not is_on and (said if patterns is not _ATTENDED else said is not False):
            yield f"{name}: not true now, and the prompt does not say so"
    has = {*tools_of(truth.me.kind, truth.me.agent_type, planning=planning, delegate=truth.delegates)}
    own = truth.me.agent_type is AgentType.GENERAL and not planning and not truth.delegates
    for tool in sorted(parts.offered):
        if tool not in has if tool in TOOLS else not own:
            yield f"{tool} is offered, and every call of it is refused now"
        elif planning and tool in TOOLS and tool not in PLANNING:
            yield f"{tool} is offered, and every call of it is refused in plan mode"


def _last_said(parts: PromptParts, on: re.Pattern[str], off: re.Pattern[str]) -> bool | None:
    """Return what the prompt said last of a mode: on, off, or nothing."""
    said: bool | None = None
    for part in parts.parts:
        if part.source in ("system", "start", "notice", "summary"):
            ons, offs = ([found.start() for found in pattern.finditer(part.text)] for pattern in (on, off))
            if ons or offs:
                said = max(ons, default=-1) > max(offs, default=-1)
    return said


CHECKS: tuple[tuple[str, Check], ...] = (
    ("K1", _team),
    ("K1", statuses_that_were_false),
    ("K2", _requests),
    ("K3", _task),
    ("K4", _mode),
    ("K5", advice_that_fails),
    ("K6", claims_that_are_false),
    ("K8", told_twice),
)
