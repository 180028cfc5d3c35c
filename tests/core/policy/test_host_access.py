"""Whether a command may reach a host that is not on the list: every cell of modes, rules and attendance."""

import pytest

from deskmate.core.policy.host_access import host_rule, judge_host, may_open
from deskmate.core.policy.permissions import Effect, Mode, PermissionRule, known_rule
from deskmate.core.team.roster_records import parse_rule

pytestmark = pytest.mark.behaviour("network-asks")

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY


def rules(*texts: str) -> tuple[PermissionRule, ...]:
    return tuple(map(parse_rule, texts))


@pytest.mark.parametrize(
    ("mode", "attended", "effect"),
    [
        (Mode.DEFAULT, True, ASK),
        (Mode.ACCEPT_EDITS, True, ASK),
        (Mode.PLAN, True, ASK),
        (Mode.DONT_ASK, True, DENY),
        (Mode.BYPASS, True, DENY),
        (Mode.DEFAULT, False, DENY),
        (Mode.BYPASS, False, DENY),
    ],
)
def test_no_mode_opens_the_network(mode: Mode, attended: bool, effect: Effect) -> None:
    assert judge_host("pypi.example", mode=mode, rules=(), attended=attended).effect is effect
    assert may_open(mode, (), attended=attended) is (effect is ASK)


@pytest.mark.parametrize(
    ("texts", "host", "effect"),
    [
        (["allow network(pypi.example)"], "pypi.example", ALLOW),
        (["allow network(pypi.example)"], "pypi.example:8080", DENY),
        (["allow network(pypi.example)"], "evil-pypi.example", DENY),
        (["allow network(*.example)"], "a.b.example", ALLOW),
        (["allow network"], "pypi.example:8080", ALLOW),
        (["allow *"], "pypi.example", DENY),
        (["allow net*"], "pypi.example", DENY),
        (["allow network", "deny network(*.evil.example)"], "a.evil.example", DENY),
        (["allow network", "ask network(pypi.example)"], "pypi.example", DENY),
        (["allow web_fetch(pypi.example)"], "pypi.example", DENY),
    ],
)
def test_a_rule_opens_it_only_if_it_names_the_network(texts: list[str], host: str, effect: Effect) -> None:
    assert judge_host(host, mode=Mode.DONT_ASK, rules=rules(*texts), attended=True).effect is effect


def test_a_rule_that_asks_asks_although_another_allows() -> None:
    known = rules("allow network", "ask network(pypi.example)")
    assert judge_host("pypi.example", mode=Mode.DEFAULT, rules=known, attended=True).effect is ASK


def test_the_rule_of_an_answer_allows_exactly_that_host() -> None:
    known = rules(host_rule("pypi.example"))
    assert judge_host("pypi.example", mode=Mode.DEFAULT, rules=known, attended=False).effect is ALLOW
    assert judge_host("a.pypi.example", mode=Mode.DEFAULT, rules=known, attended=False).effect is DENY
    assert may_open(Mode.BYPASS, known, attended=False)


def test_settings_may_have_such_rules() -> None:
    assert str(known_rule(ALLOW, "network(pypi.example)")) == "network(pypi.example)"
