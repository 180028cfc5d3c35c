"""The checks.

    violations(prompt, truth)             # ["K1: bob (tester) is on the team, and nothing names it with its role"]

A scripted model says its lines even if it was not told what it needs. So the fakes of this package read every prompt
like a model that has nothing else. Is each fact it needs there, and is what it is told true?

The checks look for facts (names, ids, task texts, statuses), not for sentences, so wording may change. A statement
that may be out of date is judged by the record it was made from, so a race is never reported.
"""

import re
from collections.abc import Callable, Iterator

from deskmate.core.agent.work_mode import RESULT_TOOL
from deskmate.core.policy.tool_table import PLANNING, TOOLS, AgentKind, AgentType
from deskmate.core.prompt.frames import clean
from deskmate.core.prompt.prompts import Prompt
from deskmate.core.team.members import RosterState, is_planning
from deskmate.core.team.tasks import in_progress_of
from deskmate.testing.knowledge.prompt_parts import PromptParts, names, plain
from deskmate.testing.knowledge.team_facts import members_untold, statuses_that_were_false, summaries_that_were_false
from deskmate.testing.knowledge.told_facts import (
    advice_that_fails,
    claims_that_are_false,
    news_that_is_false,
    news_told_twice,
    told_twice,
)
from deskmate.testing.knowledge.told_phrases import ATTENDED, MODES, mode_told
from deskmate.testing.knowledge.truth import Truth

Check = Callable[[PromptParts, Truth], Iterator[str]]

# This much of a long text must be there. The rest may be cut if the model is told how to get it.
_BEGINNING = 200
_OPEN = re.compile(r"waiting for your answer|you may answer|needs your answer|is open", re.IGNORECASE)


# What was found in this process, for a fixture to fail on: an agent only parks if its model raises.
FOUND: list[str] = []


class Uninformed(AssertionError):
    """A model was asked without being told what it needs, or was told something false."""


def take_found() -> list[str]:
    """Return what was found in this process since the last call."""
    found = FOUND[:]
    FOUND.clear()
    return found


def violations(prompt: Prompt, truth: Truth) -> list[str]:
    """Return every way in which a prompt breaks a promise about what models are told, each starting with its id."""
    parts = PromptParts(prompt, truth.entries)
    found = [f"{id_}: {flaw}" for id_, check in CHECKS for flaw in check(parts, truth)]
    home = truth.home
    return found + [f"{id_}: {flaw}" for id_, check in HOME_CHECKS if home for flaw in check(parts, home)]


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
    found = list(_mode_flaws(parts, truth, truth.roster))
    # The mode may have changed between making the prompt and reading the logs.
    if found and truth.asked_before is not None:
        found = list(_mode_flaws(parts, truth, truth.history.roster_at(truth.asked_before)))
    yield from found


def _mode_flaws(parts: PromptParts, truth: Truth, roster: RosterState) -> Iterator[str]:
    planning = is_planning(roster, truth.me.name, owes_plan=truth.memory.owes_plan)
    delegates = truth.me.kind is AgentKind.LEAD and roster.delegate
    only_reads = truth.me.agent_type is not AgentType.GENERAL
    for name, is_on in zip(MODES, (planning, delegates, only_reads, roster.attended), strict=True):
        # If an agent was started without its environment, it is unknown what the prompt meant by default.
        if name == ATTENDED and not truth.knows_environment:
            continue
        said = mode_told(parts, name)
        if is_on and said is not True:
            yield f"{name}: true now, and the prompt does not say so"
        if not is_on and (said if name != ATTENDED else said is not False):
            yield f"{name}: not true now, and the prompt does not say so"
    has = {*truth.me.tools(planning=planning, delegate=delegates)}
    own = not (only_reads or planning or delegates or truth.me.base_tools is not None)
    for tool in sorted(parts.offered):
        if tool not in has if tool in TOOLS else not own and (tool != RESULT_TOOL or planning):
            yield f"{tool} is offered, and every call of it is refused now"
        elif planning and tool in TOOLS and tool not in PLANNING:
            yield f"{tool} is offered, and every call of it is refused in plan mode"


CHECKS: tuple[tuple[str, Check], ...] = (
    ("K1", members_untold),
    ("K1", statuses_that_were_false),
    ("K1", summaries_that_were_false),
    ("K2", _requests),
    ("K3", _task),
    ("K4", _mode),
    ("K5", advice_that_fails),
    ("K6", claims_that_are_false),
    ("K6", news_that_is_false),
    ("K8", told_twice),
    ("K8", news_told_twice),
)
# What a lead must know of its home while it works elsewhere.
HOME_CHECKS: tuple[tuple[str, Check], ...] = (
    ("K1", members_untold),
    ("K1", statuses_that_were_false),
    ("K1", summaries_that_were_false),
    ("K2", _requests),
    ("K6", news_that_is_false),
    ("K8", news_told_twice),
)
