"""Whether a confined command may reach a host that is not on the user's list.

A rule such as `network(pypi.org)` says so, or a person is asked, if one is there.
"""

from collections.abc import Iterable

from deskmate.core.policy.patterns import path_matches, text_matches
from deskmate.core.policy.permissions import Effect, Mode, PermissionRule, Verdict
from deskmate.core.policy.tool_table import NETWORK

_UNLISTED = "the user can allow it with --network HOST or the setting 'network'"


def judge_host(host: str, *, mode: Mode, rules: Iterable[PermissionRule], attended: bool) -> Verdict:
    """Return whether a command may reach a host. `host`: with its port, if that is not a usual one.

    No mode opens the network: dontAsk and bypass only mean that nobody is asked.
    """
    mine = {rule.effect: rule for rule in rules if _is_about(rule, host)}
    if Effect.DENY in mine:
        return Verdict(Effect.DENY, f"the rule '{Effect.DENY} {mine[Effect.DENY]!s:.120}' denies it")
    if Effect.ALLOW in mine and Effect.ASK not in mine:
        return Verdict(Effect.ALLOW, f"the rule '{Effect.ALLOW} {mine[Effect.ALLOW]!s:.120}' allows it")
    asks = attended and mode not in (Mode.DONT_ASK, Mode.BYPASS)
    return Verdict(Effect.ASK if asks else Effect.DENY, _UNLISTED)


def _is_about(rule: PermissionRule, host: str) -> bool:
    """Tell whether a rule applies to a host. One that allows must name the network, so `*` does not open it."""
    named = rule.tool == NETWORK if rule.effect is Effect.ALLOW else text_matches(rule.tool, NETWORK)
    return named and (rule.pattern is None or path_matches(rule.pattern, host))


def may_open(mode: Mode, rules: Iterable[PermissionRule], *, attended: bool) -> bool:
    """Tell whether there can be any host that a command may reach because of a rule or an answer."""
    asks = attended and mode not in (Mode.DONT_ASK, Mode.BYPASS)
    return asks or any(rule.effect is Effect.ALLOW and rule.tool == NETWORK for rule in rules)


def host_rule(host: str) -> str:
    """Return the rule that would allow a host from now on."""
    return f"{Effect.ALLOW} {PermissionRule(Effect.ALLOW, NETWORK, host)}"
