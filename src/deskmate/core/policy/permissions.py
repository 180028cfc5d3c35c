"""Permission rules, modes, and the function that says allow, ask or deny.

`decide` asks it about every open call of every agent. It looks at tools, paths and commands, never at the text of
messages. What cannot be determined is not allowed.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from deskmate.core.policy.patterns import (
    HOLE,
    allows,
    is_resolved,
    may_name,
    names,
    path_matches,
    spellings,
    text_matches,
)
from deskmate.core.policy.tool_table import NETWORK, PLANNING, TOOLS, WEB_TOOLS, ToolTraits
from deskmate.core.values import frozen
from deskmate.errors import BadInput


class Mode(StrEnum):
    """What happens to a call that no rule decides."""

    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    PLAN = "plan"
    DONT_ASK = "dontAsk"
    BYPASS = "bypass"

    def wider_than(self, other: "Mode") -> bool:
        """Tell whether this mode lets an agent do more."""
        return NARROW_TO_WIDE.index(self) > NARROW_TO_WIDE.index(other)


NARROW_TO_WIDE = (Mode.PLAN, Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.DONT_ASK, Mode.BYPASS)


class Effect(StrEnum):
    """What happens to a call, weakest first: the strongest effect that applies wins."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


_OFFERED_CHARS = 200
# Completing a task runs its verify command, if it has one. The tool's traits do not say so.
_RUNS_AT_TIMES = frozenset({"TaskUpdate"})
_STRENGTH = {effect: strength for strength, effect in enumerate(Effect)}
_TOOL = re.compile(r"[A-Za-z0-9_.*-]+")
_RULE = re.compile(r"(?P<tool>[^()]*)(?:\((?P<pattern>.*)\))?", re.DOTALL)


@frozen
class PermissionRule:
    """One line of a policy: an effect for a tool, or only for what a pattern matches.

    In `tool`, `*` matches anything. In patterns it matches as `patterns` says. Everything else is literal. `str` gives
    the text that `parse` reads.
    """

    effect: Effect
    tool: str
    pattern: str | None = None

    def __post_init__(self) -> None:
        if not _TOOL.fullmatch(self.tool) or self.pattern == "" or HOLE in (self.pattern or ""):
            raise BadInput(
                f"{ascii(str(self))[:80]} is not a rule",
                "Write a tool, such as bash or mcp__server__*, "
                "or a tool with a pattern, such as bash(git diff *) or write_file(src/**)",
            )

    @classmethod
    def parse(cls, effect: Effect, text: str) -> "PermissionRule":
        """Return the rule written as `tool` or `tool(pattern)`; raise BadInput for any other text."""
        return cls(effect, *parts_of(text))

    def __str__(self) -> str:
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern})"


def parts_of(text: str) -> tuple[str, str | None]:
    """Return the tool and the pattern of a rule; the whole text as the tool if it has stray brackets."""
    found = _RULE.fullmatch(text)
    # No tool has brackets in its name, so such a text is refused as a whole.
    return (found["tool"], found["pattern"]) if found else (text, None)


def known_rule(effect: Effect, text: str) -> PermissionRule:
    """Return the rule that a person wrote; raise BadInput also if there is no such tool.

    Such a rule would never apply, and one that denies would fail silently.
    """
    rule = PermissionRule.parse(effect, text)
    named = (*TOOLS, *WEB_TOOLS, NETWORK)
    if rule.tool.startswith("mcp__") or any(text_matches(rule.tool, tool) for tool in named):
        return rule
    near = difflib.get_close_matches(rule.tool, named, n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'?" if near else f"There are {', '.join(named)} and mcp__server__tool"
    raise BadInput(f"'{rule.tool[:80]}' is not a tool", hint)


@frozen
class Attempt:
    """A call as the rules see it.

    `subjects`: what patterns are compared with. For a file tool: its path, resolved, separated by `/`, relative to the
    workspace or, outside it, absolute. For bash: every command it would run, with HOLE for text known only at run time.
    For tools of the web: the host. Empty for a tool that has none, None if they are unknown. `inside`: whether what it
    edits is in the workspace. `flawed`: its arguments cannot be read, so it does nothing. `command`: what it would run,
    if its arguments do not say so. `hints`: more commands to compare with rules that ask or deny, such as those that
    are clear although others are not; no rule allows by them. `autorun`: it edits a file from which a program of the
    user runs commands by itself.
    """

    tool: str
    subjects: tuple[str, ...] | None
    inside: bool
    flawed: bool = False
    command: str | None = None
    hints: tuple[str, ...] = ()
    autorun: bool = False

    @classmethod
    def untold(cls, tool: str) -> "Attempt":
        """Return a call about which nothing is known: the rules see the most it could run."""
        return cls("bash" if tool in _RUNS_AT_TIMES else tool, None, inside=False)


@frozen
class Verdict:
    """What happens to a call, and why, in words for the model or the person."""

    effect: Effect
    reason: str


def judge(
    attempt: Attempt,
    *,
    mode: Mode,
    rules: Iterable[PermissionRule],
    traits: Mapping[str, ToolTraits],
    confined: bool,
    attended: bool,
) -> Verdict:
    """Return what happens to a call.

    `confined`: commands run in a sandbox. `attended`: a person can answer; otherwise nothing is ever asked.
    """
    if attempt.flawed:
        return Verdict(Effect.ALLOW, "it does nothing but return its error")
    verdict = _judge(attempt, mode, rules, traits.get(attempt.tool), confined)
    if verdict.effect is not Effect.ASK:
        return verdict
    if mode is Mode.DONT_ASK:
        return Verdict(
            Effect.DENY, f"Denied: {verdict.reason}, and mode dontAsk never asks. Continue without this call."
        )
    if not attended:
        return Verdict(
            Effect.DENY,
            f"Denied: {verdict.reason}, and nobody is here to answer. Continue without this call. "
            "The user can allow more with another --permission-mode.",
        )
    return verdict


def standing_rule(
    attempt: Attempt, *, mode: Mode, rules: Iterable[PermissionRule], traits: Mapping[str, ToolTraits], confined: bool
) -> PermissionRule | None:
    """Return the rule that would allow a call that asks, and little else; None if a person must be asked.

    For a command it allows exactly that command. For an edit it allows edits below the same folder or, at the top, of
    files there. For a file from which programs run commands it allows only that file.
    """
    rules = tuple(rules)
    rule = _narrow_rule(attempt, rules, traits.get(attempt.tool))
    if rule is None:
        return None
    with_it = judge(attempt, mode=mode, rules=(*rules, rule), traits=traits, confined=confined, attended=True)
    return rule if with_it.effect is Effect.ALLOW else None


def _narrow_rule(
    attempt: Attempt, rules: tuple[PermissionRule, ...], known: ToolTraits | None
) -> PermissionRule | None:
    if known is None or not (known.edits or known.runs or known.visits):
        # It is not known what it touches, so a pattern has nothing to match.
        return PermissionRule(Effect.ALLOW, attempt.tool)
    allowing = [rule for rule in rules if rule.effect is Effect.ALLOW and text_matches(rule.tool, attempt.tool)]
    asking = [
        one
        for one in set(attempt.subjects or ())
        if attempt.autorun or not _fitting(allowing, one, is_path=not known.runs)
    ]
    if len(asking) != 1:
        return None
    (subject,) = asking
    is_whole = known.runs or known.visits or attempt.autorun
    literal = subject if is_whole else subject.rpartition("/")[0]
    # A rule is one line that a person can read, and it cannot express a literal `*`.
    if not subject or "*" in literal or not literal.isprintable() or len(literal) > _OFFERED_CHARS:
        return None
    if is_whole:
        return PermissionRule(Effect.ALLOW, attempt.tool, subject)
    return PermissionRule(Effect.ALLOW, attempt.tool, f"{literal}/**" if literal else "*")


def _judge(
    attempt: Attempt,
    mode: Mode,
    rules: Iterable[PermissionRule],
    known: ToolTraits | None,
    confined: bool,
) -> Verdict:
    """Return the verdict if a person can be asked."""
    if mode is Mode.PLAN and not _may_plan(attempt.tool, known):
        return Verdict(
            Effect.DENY,
            f"{attempt.tool} does not work in plan mode. Read what you need, then submit your plan with ExitPlanMode. "
            "When it is approved, you have all your tools again.",
        )
    rules = [rule for rule in rules if mode is not Mode.BYPASS or rule.effect is Effect.DENY]
    ruling = _by_rules(attempt, rules, known)
    if ruling and ruling.effect is not Effect.ALLOW:
        return ruling
    if mode is Mode.BYPASS:
        return Verdict(Effect.ALLOW, "mode bypass allows what no rule denies")
    # No rule replaces the person here: a pattern written for the workspace must not apply outside it.
    if known and known.edits and not attempt.inside:
        return Verdict(Effect.ASK, f"{attempt.tool} would edit outside the workspace")
    if known and known.edits and attempt.autorun and not _is_named(attempt, rules):
        return Verdict(
            Effect.ASK, f"{attempt.tool} would edit a file that the user's own tools run commands from without asking"
        )
    return ruling or _by_mode(attempt.tool, mode, known, confined)


def _is_named(attempt: Attempt, rules: Iterable[PermissionRule]) -> bool:
    """Tell whether a rule allows exactly the file that a call edits. A rule with a `*` does not count."""
    named = {rule.pattern for rule in rules if rule.effect is Effect.ALLOW and text_matches(rule.tool, attempt.tool)}
    return attempt.subjects is not None and named.issuperset(attempt.subjects)


def _may_plan(tool: str, known: ToolTraits | None) -> bool:
    return tool in PLANNING and known is not None and not (known.edits or known.runs)


def barred_tools(
    tools: Iterable[str],
    *,
    mode: Mode,
    rules: Iterable[PermissionRule],
    traits: Mapping[str, ToolTraits],
    confined: bool,
    attended: bool,
) -> tuple[str, ...]:
    """Return the tools whose every call is denied, whatever it touches."""
    asks = attended and mode is not Mode.DONT_ASK
    known = [(tool, [rule for rule in rules if text_matches(rule.tool, tool)]) for tool in tools]
    return tuple(tool for tool, own in known if _is_barred(tool, own, mode, traits.get(tool), confined, asks=asks))


def _is_barred(
    tool: str, rules: list[PermissionRule], mode: Mode, known: ToolTraits | None, confined: bool, *, asks: bool
) -> bool:
    whole = {rule.effect for rule in rules if rule.pattern is None}
    if Effect.DENY in whole or mode is Mode.BYPASS or asks:
        return Effect.DENY in whole
    if Effect.ASK in whole:
        return True
    allowed = any(rule.effect is Effect.ALLOW for rule in rules)
    return not allowed and _by_mode(tool, mode, known, confined).effect is Effect.ASK


def edits_files(tool: str) -> str:
    """Return the reason for asking before an edit that nothing else is special about."""
    return f"{tool} edits files"


def _by_mode(tool: str, mode: Mode, known: ToolTraits | None, confined: bool) -> Verdict:
    if known is None:
        return Verdict(Effect.ASK, f"{tool} is not one of Deskmate's own tools")
    if known.edits and mode is Mode.DEFAULT:
        return Verdict(Effect.ASK, edits_files(tool))
    if known.visits:
        return Verdict(Effect.ASK, f"{tool} asks a host of the web")
    if known.runs and mode is not Mode.DONT_ASK and not confined:
        return Verdict(Effect.ASK, f"{tool} runs a command outside a sandbox")
    return Verdict(Effect.ALLOW, f"mode {mode} allows {tool}")


def _by_rules(attempt: Attempt, rules: Iterable[PermissionRule], known: ToolTraits | None) -> Verdict | None:
    """Return the strongest verdict of the rules; None if no rule applies."""
    mine = [rule for rule in rules if text_matches(rule.tool, attempt.tool)]
    is_path = known is not None and not known.runs
    told = _told(attempt.subjects, is_path)
    seen = told or ()
    if not is_path:
        seen = tuple(form for command in (*seen, *attempt.hints) for form in spellings(command))
    limits = [limit for rule in mine if (limit := _limit(rule, seen, is_path, untold=told is None))]
    return max(limits, key=lambda limit: _STRENGTH[limit.effect], default=None) or _allowance(mine, told, is_path)


def _limit(rule: PermissionRule, seen: tuple[str, ...], is_path: bool, *, untold: bool) -> Verdict | None:
    """Return what a rule that asks or denies says of a call. It applies if any part of the call matches."""
    if rule.effect is Effect.ALLOW:
        return None
    name = f"the rule '{rule.effect} {rule!s:.120}'"
    fits = path_matches if is_path else names
    if rule.pattern is None or any(fits(rule.pattern, one) for one in seen):
        if rule.effect is Effect.DENY:
            return Verdict(Effect.DENY, f"Denied by {name}. Continue without this call.")
        return Verdict(Effect.ASK, f"{name} says to ask first")
    if untold:
        return Verdict(Effect.ASK, f"{name} may apply, and what this call touches is not known")
    if not is_path and any(may_name(rule.pattern, one) for one in seen):
        return Verdict(Effect.ASK, f"{name} may apply to this call")
    return None


def _allowance(rules: Iterable[PermissionRule], told: tuple[str, ...] | None, is_path: bool) -> Verdict | None:
    """Return that the rules allow a call: one allows its whole tool, or each of its subjects is allowed by one."""
    allowing = [rule for rule in rules if rule.effect is Effect.ALLOW]
    rule = next((rule for rule in allowing if rule.pattern is None), None)
    # A call without subjects is not allowed by patterns: nobody wrote one for a call that touches nothing.
    for subject in () if rule else told or ():
        rule = _fitting(allowing, subject, is_path)
        if rule is None:
            return None
    return Verdict(Effect.ALLOW, f"the rule '{rule.effect} {rule!s:.120}' allows this call") if rule else None


def _fitting(rules: Iterable[PermissionRule], subject: str, is_path: bool) -> PermissionRule | None:
    return next((rule for rule in rules if _matches(rule, subject, is_path)), None)


def _matches(rule: PermissionRule, subject: str, is_path: bool) -> bool:
    return rule.pattern is not None and (path_matches if is_path else allows)(rule.pattern, subject)


def _told(subjects: tuple[str, ...] | None, is_path: bool) -> tuple[str, ...] | None:
    """Return the subjects; None if a path is not resolved, since it may lead anywhere."""
    if is_path and subjects is not None and not all(map(is_resolved, subjects)):
        return None
    return subjects
