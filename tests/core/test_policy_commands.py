"""Rules for commands: several at once, those known only in part, and the rule that is offered for a call that asks."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core import members
from deskmate.core.actions import Act, Ask, Settle
from deskmate.core.decide import decide
from deskmate.core.policy import HOLE, Attempt, Effect, Mode, Rule, judge, known_rule, standing_rule
from deskmate.core.roles import TOOLS
from deskmate.errors import BadInput
from tests.core.test_decide import idle, says

ALLOW, ASK, DENY = Effect
SUBJECTS = st.lists(st.sampled_from(["git", "diff", "log", "a b", "(", ")", "*", HOLE, "é", "\n", ""]), min_size=1)


def running(*commands: str) -> Attempt:
    return Attempt("bash", commands, inside=False)


def editing(path: str, *, inside: bool = True) -> Attempt:
    return Attempt("edit_file", (path,), inside)


def effect(attempt: Attempt, *rules: str) -> Effect:
    known = [members.parse_rule(text) for text in rules]
    return judge(attempt, mode=Mode.DEFAULT, rules=known, traits=TOOLS, confined=False, attended=True).effect


def offered(attempt: Attempt, *rules: str) -> str | None:
    known = [members.parse_rule(text) for text in rules]
    rule = standing_rule(attempt, mode=Mode.DEFAULT, rules=known, traits=TOOLS, confined=False)
    return rule and f"{rule.effect} {rule}"


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize(
    ("commands", "rules", "expected"),
    [
        (("git diff", "head -5"), ("allow bash(git *)", "allow bash(head *)"), ALLOW),
        (("git diff", "head -5", "rm x"), ("allow bash(git *)", "allow bash(head *)"), ASK),
        (("git diff", "> x"), ("allow bash(git diff*)",), ASK),
        (("git diff", "> x"), ("allow bash(git diff*)", "allow bash(> x)"), ALLOW),
        (("git diff", "rm x"), ("allow bash", "deny bash(rm *)"), DENY),
        (("git diff", "rm x"), ("allow bash(*)", "ask bash(rm *)"), ASK),
    ],
)
def test_each_command_needs_a_rule_that_allows_it_and_none_that_denies_it(
    commands: tuple[str, ...], rules: tuple[str, ...], expected: Effect
) -> None:
    assert effect(running(*commands), *rules) is expected


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize(
    ("command", "rule", "expected"),
    [
        (f"git diff {HOLE}", "git diff *", ALLOW),
        (f"git diff src/{HOLE}", "git diff src/*", ALLOW),
        (f"git diff {HOLE}", "git diff src/*", ASK),
        (f"git {HOLE}", "git diff", ASK),
        (f"git {HOLE} log", "git * log", ALLOW),
    ],
)
def test_what_is_known_only_when_it_runs_is_allowed_by_nothing_but_a_star(
    command: str, rule: str, expected: Effect
) -> None:
    assert effect(running(command), f"allow bash({rule})") is expected


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize(
    ("command", "rule", "expected"),
    [
        (f"git {HOLE}", "git push *", ASK),
        (f"git push {HOLE}", "git push *", DENY),
        (f"git push {HOLE}", "git push", ASK),
        (f"git push{HOLE}", "git push --force", ASK),
        (f"rm {HOLE}", "* -rf *", ASK),
        (f"git diff {HOLE}", "git push *", ALLOW),
        (f"git diff {HOLE}", "git", ALLOW),
    ],
)
def test_a_rule_asks_where_it_depends_on_what_is_known_only_then(command: str, rule: str, expected: Effect) -> None:
    assert effect(running(command), "allow bash", f"deny bash({rule})") is expected


# -- the rule that is offered ---------------------------------------------------------------------


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize(
    ("attempt", "rules", "expected"),
    [
        (running("git diff --stat"), (), "allow bash(git diff --stat)"),
        (running("echo (a) )"), (), "allow bash(echo (a) ))"),
        (running("git diff", "head -5"), (), None),
        (running("git diff", "head -5"), ("allow bash(head *)",), "allow bash(git diff)"),
        (running("git diff", "rm x"), ("allow bash(git *)", "ask bash(rm *)"), None),
        (running("find . -name *.py"), (), None),
        (running(f"git diff {HOLE}"), (), None),
        (running("echo a\\\nb"), (), None),
        (running("echo \u202e"), (), None),
        (running("e" * 200), (), f"allow bash({'e' * 200})"),
        (running("e" * 201), (), None),
        (running(), (), None),
        (running(""), (), None),
        (Attempt("bash", None, inside=False), (), None),
        (editing("src/core/a.py"), (), "allow edit_file(src/core/**)"),
        (editing("src/*.py"), (), "allow edit_file(src/**)"),
        (editing("a.py"), (), "allow edit_file(*)"),
        (editing("s*c/a.py"), (), None),
        (editing("s\nc/a.py"), (), None),
        (editing("/etc/hosts", inside=False), (), None),
        (editing("src/a.py"), ("ask edit_file(src/**)",), None),
        (Attempt("mcp__files__read", None, inside=True), (), "allow mcp__files__read"),
    ],
)
def test_the_rule_that_is_offered_allows_the_call_and_little_else(
    attempt: Attempt, rules: tuple[str, ...], expected: str | None
) -> None:
    assert offered(attempt, *rules) == expected


@pytest.mark.behaviour("permission")
@given(SUBJECTS.map(" ".join), SUBJECTS.map(" ".join))
def test_a_rule_that_is_offered_for_a_command_allows_no_other(command: str, other: str) -> None:
    rule = offered(running(command))
    if rule is not None:
        assert effect(running(command), rule) is ALLOW
        assert effect(running(other), rule) is (ALLOW if other == command else ASK)


# -- the user's own rules -------------------------------------------------------------------------


@pytest.mark.behaviour("permission")
def test_the_rules_of_the_user_hold_beside_those_of_the_team() -> None:
    world = idle()
    (call,) = says(world, "bash")
    view = replace(world.view, attempts={call: running("git diff")})
    assert isinstance(decide(view), Ask)
    allowing = replace(view, rules=(Rule(ALLOW, "bash", "git diff"),))
    assert decide(allowing) == Act((call,))
    world.note(members.PolicySet(by="user", at=0, add_rules=("deny bash(git *)",)))
    assert isinstance(decide(replace(allowing, roster=world.roster)), Settle)


@pytest.mark.behaviour("permission")
def test_a_rule_of_the_user_counts_when_one_is_offered() -> None:
    world = idle()
    (call,) = says(world, "bash")
    view = replace(world.view, attempts={call: running("git diff", "head")}, rules=(Rule(ALLOW, "bash", "head"),))
    action = decide(view)
    assert isinstance(action, Ask)
    assert (action.call, action.rule) == (call, "allow bash(git diff)")


@pytest.mark.parametrize("text", ["bash", "bash(git *)", "Task*", "*", "mcp__web__fetch", "mcp__*(x)"])
def test_a_rule_for_a_tool_that_there_is_or_may_be_is_known(text: str) -> None:
    assert known_rule(DENY, text) == Rule.parse(DENY, text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("bsh(rm *)", "'bsh' is no tool; did you mean 'bash'?"),
        ("Bash(rm *)", "'Bash' is no tool; did you mean 'bash'?"),
        ("write(src/**)", "'write' is no tool; did you mean 'write_file'?"),
        ("curl_*", "'curl_*' is no tool; there are bash, read_file, write_file"),
        ("bash(a\0)", "is no rule; write a tool"),
    ],
)
def test_a_rule_for_no_tool_is_refused_naming_the_nearest(text: str, why: str) -> None:
    with pytest.raises(BadInput) as refused:
        known_rule(DENY, text)
    assert why in str(refused.value)
