"""Goals: what must be so before a lead may end its work.

A goal is a command that must succeed, or a condition that a model judges. Each time the lead would end its turn, the
goal is checked. Each check is a round, and is in the lead's transcript, so a restart continues at the same round.
"""

import hashlib
import re
from dataclasses import replace

from pydantic import BaseModel, ConfigDict

from deskmate.core.values import frozen

# A goal ends when this many rounds, one after the other, brought no result that was not there before.
ROUNDS_WITHOUT_CHANGE = 3
MOST_ROUNDS = 100
# How long a command may take, and how much of its output the lead is told.
CHECK_SECONDS, TOLD_CHARACTERS = 600.0, 6_000
# Durations and addresses in an output change without meaning.
_NOISE = r"\b0x[0-9a-fA-F]+\b|\b\d+(\.\d+)?\s?(ms|s|sec|secs|seconds)\b|\b\d\d:\d\d(:\d\d(\.\d+)?)?\b"


class GoalRound(BaseModel):
    """A goal as it was set, or one check of it. `until`: the command or the condition. Empty: the user ended the goal.

    `judge`: a model judges it. `round`: 0 if it was set. `mark`: what the result was, in short. `met`: whether it is
    met. `ended`: why it is not checked any more, although it is not met.
    """

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    until: str
    judge: bool = False
    round: int = 0
    mark: str = ""
    met: bool = False
    ended: str = ""


@frozen
class Goal:
    """A goal of a lead. `marks`: the results so far. `stale`: rounds in a row whose result was there before."""

    until: str
    judge: bool
    round: int = 0
    marks: frozenset[str] = frozenset()
    stale: int = 0
    met: bool = False
    ended: str = ""

    @property
    def summary(self) -> str:
        """What became of it, in one line."""
        rounds = f"{self.round} round{'' if self.round == 1 else 's'}"
        if self.met:
            return f"the goal is met after {rounds}"
        return f"the goal is not met after {rounds}{f': {self.ended}' if self.ended else ''}"

    def after(self, mark: str) -> "Goal":
        """Return the goal after one more round that did not meet it."""
        stale = self.stale + 1 if mark in self.marks else 0
        later = replace(self, round=self.round + 1, marks=self.marks | {mark}, stale=stale)
        if stale + 1 >= ROUNDS_WITHOUT_CHANGE:
            return replace(later, ended=f"{ROUNDS_WITHOUT_CHANGE} rounds without change")
        return replace(later, ended=f"{MOST_ROUNDS} rounds") if later.round >= MOST_ROUNDS else later


def is_open(goal: Goal | None) -> bool:
    """Tell whether there is a goal that will be checked again."""
    return goal is not None and not goal.met and not goal.ended


def remembered(goal: Goal | None, seen: GoalRound) -> Goal | None:
    """Return the goal after a record of it."""
    if not seen.until:
        return None
    if not seen.round or goal is None:
        return Goal(seen.until, seen.judge)
    if seen.met:
        return replace(goal, round=seen.round, met=True)
    return replace(goal.after(seen.mark), round=seen.round, ended=seen.ended)


def round_of(goal: Goal, mark: str, *, met: bool) -> GoalRound:
    """Return the record of the next round of a goal."""
    later = replace(goal, round=goal.round + 1, met=True) if met else goal.after(mark)
    return GoalRound(until=goal.until, judge=goal.judge, round=later.round, mark=mark, met=later.met, ended=later.ended)


def output_mark(exit_code: int, output: str) -> str:
    """Return the result of a command in short. Durations and times of day do not count."""
    plain = " ".join(re.sub(_NOISE, "", output).split())
    return hashlib.sha256(f"{exit_code} {plain}".encode(errors="replace")).hexdigest()[:16]


def goal_set_text(seen: GoalRound) -> str:
    """Return what a lead is told of a goal that was set or ended."""
    if not seen.until:
        return "The user ended the goal. End your turn when your work is done."
    how = f"this is true: {seen.until}" if seen.judge else f"this command succeeds: `{seen.until}`"
    return (
        f"The user set a goal. You are done when {how}\n"
        "It is checked each time you end your turn. Until then, you are told what is missing, and continue."
    )


def round_text(seen: GoalRound, result: str) -> str:
    """Return what a lead is told of one round."""
    if seen.met:
        return f"The goal is met (round {seen.round})."
    end = f" It is not checked any more: {seen.ended}." if seen.ended else " Continue until it is met."
    return f"The goal is not met yet (round {seen.round}).{end}\n{_cut(result)}"


def _cut(result: str) -> str:
    left_out = len(result) - TOLD_CHARACTERS
    if left_out <= 0:
        return result
    half = TOLD_CHARACTERS // 2
    return f"{result[:half]}\n… {left_out:,} characters left out\n{result[-half:]}"


def judge_question(condition: str) -> str:
    """Return the question for a model that judges whether a condition is met."""
    return (
        "Stop working for a moment, and judge strictly whether this condition is met, by what the results of tools "
        f"above show, not by what was said or intended:\n<condition>\n{condition}\n</condition>\n"
        "Call no tool. Answer with MET or NOT MET as the first words, then give the evidence, or what is missing, in "
        "at most five sentences."
    )


def judged_met(answer: str) -> bool:
    """Tell whether an answer to that question says that the condition is met."""
    return re.match(r"\W*MET\b", answer) is not None
