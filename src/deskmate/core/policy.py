"""Policy: permission rules, modes, and the one function that says allow, ask or deny.

`decide` asks it about every open call, whoever calls. It looks at tools, paths and commands, never at what a
message says; what cannot be told is not allowed. The table of tools in `roles` stands below.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from deskmate.core.roles import PLANNING, ToolTraits
from deskmate.errors import BadInput


class Mode(StrEnum):
    """What happens to a call that no rule settles."""

    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    PLAN = "plan"
    DONT_ASK = "dontAsk"
    BYPASS = "bypass"

    def wider_than(self, other: "Mode") -> bool:
        """Tell whether this lets an agent do more."""
        return _NARROW_TO_WIDE.index(self) > _NARROW_TO_WIDE.index(other)


_NARROW_TO_WIDE = (Mode.PLAN, Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.DONT_ASK, Mode.BYPASS)


class Effect(StrEnum):
    """What becomes of a call, in rising strength: the strongest that applies wins."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


_STRENGTH = {effect: strength for strength, effect in enumerate(Effect)}
_SAYS = {
    Effect.ALLOW: "allows this call",
    Effect.ASK: "wants this call to be asked about",
    Effect.DENY: "denies this call; do without it",
}
_TOOL = re.compile(r"[A-Za-z0-9_.*-]+")
_RULE = re.compile(r"(?P<tool>[^()]*)(?:\((?P<pattern>.*)\))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a policy: an effect for a tool, or only for what a pattern matches.

    In `tool` and in patterns for commands `*` stands for anything. In patterns for paths `*` stays within a
    folder and `**` does not. All else is literal. `str` gives the text that `parse` reads.
    """

    effect: Effect
    tool: str
    pattern: str | None = None

    def __post_init__(self) -> None:
        if not _TOOL.fullmatch(self.tool) or self.pattern == "":
            raise BadInput(
                f"{ascii(str(self))[:80]} is no rule; write a tool, as bash or mcp__server__*, "
                "or a tool with a pattern, as bash(git diff *) or write_file(src/**)"
            )

    @classmethod
    def parse(cls, effect: Effect, text: str) -> "Rule":
        """Return the rule written as `tool` or `tool(pattern)`; raise BadInput for any other text."""
        found = _RULE.fullmatch(text)
        # Stray brackets do not fit, and no tool may bear them: then the text as a whole is refused.
        return cls(effect, found["tool"], found["pattern"]) if found else cls(effect, text)

    def __str__(self) -> str:
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern})"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call as the rules see it.

    `subjects` is what patterns are held against. For a file tool: its path, resolved, parted by `/`, relative
    to the workspace or, outside of it, absolute. For bash: every command it would run. Empty for a tool that
    has none, None where they cannot be told. `inside`: whether what it edits lies in the workspace. `flawed`: its
    arguments cannot be read, so that it does nothing.
    """

    tool: str
    subjects: tuple[str, ...] | None
    inside: bool
    flawed: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a call, and why, in words for the model or the person."""

    effect: Effect
    reason: str


def judge(
    attempt: Attempt,
    *,
    mode: Mode,
    rules: Iterable[Rule],
    traits: Mapping[str, ToolTraits],
    confined: bool,
    attended: bool,
) -> Verdict:
    """Return what becomes of a call.

    `confined`: commands run in a sandbox. `attended`: a person can answer; otherwise nothing is ever asked.
    """
    if attempt.flawed:
        return Verdict(Effect.ALLOW, "run, it only gets its error")
    verdict = _judge(attempt, mode, rules, traits.get(attempt.tool), confined)
    if verdict.effect is not Effect.ASK:
        return verdict
    if mode is Mode.DONT_ASK:
        return Verdict(Effect.DENY, f"{verdict.reason}, and mode dontAsk never asks; do without it")
    if not attended:
        return Verdict(
            Effect.DENY,
            f"{verdict.reason}, and nobody is here to answer; "
            "do without it, or have the user start again with another --permission-mode",
        )
    return verdict


def standing_rule(
    attempt: Attempt, *, mode: Mode, rules: Iterable[Rule], traits: Mapping[str, ToolTraits], confined: bool
) -> Rule | None:
    """Return the rule that would allow a call that asks, and all of its tool; None where a person must be asked."""
    rule = Rule(Effect.ALLOW, attempt.tool)
    with_it = judge(attempt, mode=mode, rules=(*rules, rule), traits=traits, confined=confined, attended=True)
    return rule if with_it.effect is Effect.ALLOW else None


def _judge(
    attempt: Attempt,
    mode: Mode,
    rules: Iterable[Rule],
    known: ToolTraits | None,
    confined: bool,
) -> Verdict:
    """Return the verdict as it stands where a person can be asked."""
    if mode is Mode.PLAN and not _may_plan(attempt.tool, known):
        return Verdict(Effect.DENY, f"{attempt.tool} does not work in plan mode; submit a plan first")
    if mode is Mode.BYPASS:
        rules = [rule for rule in rules if rule.effect is Effect.DENY]
    ruling = _by_rules(attempt, rules, known)
    if ruling and ruling.effect is not Effect.ALLOW:
        return ruling
    if mode is Mode.BYPASS:
        return Verdict(Effect.ALLOW, "mode bypass allows what no rule denies")
    # No rule stands in for the person here: a pattern written for the workspace must not reach out of it.
    if known and known.edits and not attempt.inside:
        return Verdict(Effect.ASK, f"{attempt.tool} would edit outside the workspace")
    return ruling or _by_mode(attempt.tool, mode, known, confined)


def _may_plan(tool: str, known: ToolTraits | None) -> bool:
    return tool in PLANNING and known is not None and not (known.edits or known.runs)


def _by_mode(tool: str, mode: Mode, known: ToolTraits | None, confined: bool) -> Verdict:
    if known is None:
        return Verdict(Effect.ASK, f"{tool} is not one of Deskmate's own tools")
    if known.edits and mode is Mode.DEFAULT:
        return Verdict(Effect.ASK, f"{tool} edits files")
    if known.runs and mode is not Mode.DONT_ASK and not confined:
        return Verdict(Effect.ASK, f"{tool} runs a command outside a sandbox")
    return Verdict(Effect.ALLOW, f"mode {mode} allows {tool}")


def _by_rules(attempt: Attempt, rules: Iterable[Rule], known: ToolTraits | None) -> Verdict | None:
    """Return the strongest of what the rules say, None where none says anything."""
    rulings = [ruling for rule in rules if (ruling := _by_rule(attempt, rule, known))]
    return max(rulings, key=lambda ruling: _STRENGTH[ruling.effect], default=None)


def _by_rule(attempt: Attempt, rule: Rule, known: ToolTraits | None) -> Verdict | None:
    if not _text_matches(rule.tool, attempt.tool):
        return None
    name = f"the rule '{rule.effect} {rule!s:.120}'"
    match _applies(rule, attempt.subjects, is_path=known is not None and not known.runs):
        case True:
            return Verdict(rule.effect, f"{name} {_SAYS[rule.effect]}")
        case None if rule.effect is not Effect.ALLOW:
            return Verdict(Effect.ASK, f"{name} may apply, for what this call touches cannot be told")
        case _:
            return None


def _applies(rule: Rule, subjects: tuple[str, ...] | None, *, is_path: bool) -> bool | None:
    """Tell whether a rule for this tool is about these subjects; None where that cannot be told."""
    if rule.pattern is None:
        return True
    told = _told(subjects, is_path)
    if told is None:
        return None
    matches = _path_matches if is_path else _text_matches
    hits = [matches(rule.pattern, subject) for subject in told]
    # All of no subjects is no permission: nobody wrote a pattern for a call that touches nothing.
    return bool(hits) and all(hits) if rule.effect is Effect.ALLOW else any(hits)


def _told(subjects: tuple[str, ...] | None, is_path: bool) -> tuple[str, ...] | None:
    """Return the subjects; None if there is a path that is not resolved: it may lead anywhere."""
    if is_path and subjects is not None and not all(map(_is_resolved, subjects)):
        return None
    return subjects


def _is_resolved(path: str) -> bool:
    return path == "." or {"", ".", ".."}.isdisjoint(path.removeprefix("/").split("/"))


def _text_matches(pattern: str, text: str) -> bool:
    """Tell whether `text` is `pattern` with anything in place of each `*`; as fast for hostile patterns."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    *middle, last = rest
    at = len(first)
    for part in middle:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return text.startswith(first) and text.endswith(last) and at + len(last) <= len(text)


_PIECE = re.compile(r"(?<![^/])\*\*/|\*+|[^*]+")


def _path_matches(pattern: str, path: str) -> bool:
    """Tell whether a whole path fits, by the places where each piece of the pattern may end."""
    ends = {0}
    for piece in _PIECE.findall(pattern):
        ends = _ends(piece, path, ends)
        if not ends:
            return False
    return len(path) in ends


def _ends(piece: str, path: str, starts: set[int]) -> set[int]:
    match piece:
        case "*":
            return _within_folder(path, starts)
        case "**/":
            return starts | {at + 1 for at in range(min(starts), len(path)) if path[at] == "/"}
        case _ if piece.startswith("**"):
            return set(range(min(starts), len(path) + 1))
        case _:
            return {start + len(piece) for start in starts if path.startswith(piece, start)}


def _within_folder(path: str, starts: set[int]) -> set[int]:
    """Return every place reached from one of `starts` without crossing a `/`."""
    reached: set[int] = set()
    for at in range(len(path) + 1):
        if at in starts or (at - 1 in reached and path[at - 1] != "/"):
            reached.add(at)
    return reached
