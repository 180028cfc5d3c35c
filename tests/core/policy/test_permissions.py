"""Permission: every cell of the modes, how rules weigh against each other, and what they match."""

import re
from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.policy.permissions import Attempt, Effect, Mode, PermissionRule, Verdict, judge, standing_rule
from deskmate.core.policy.tool_table import PLANNING, TOOLS, ToolTraits
from deskmate.errors import BadInput

ALLOW, ASK, DENY = Effect
STRENGTH = {ALLOW: 0, ASK: 1, DENY: 2}


def bare(*tools: str) -> tuple[Attempt, ...]:
    """Return a call of each of these tools, which have no subject."""
    return tuple(Attempt(tool, (), True) for tool in tools)


READING, SEARCHING = Attempt("read_file", ("src/a.py",), True), Attempt("grep", (".",), True)
WRITING, EDITING = Attempt("write_file", ("src/a.py",), True), Attempt("edit_file", ("src/a.py",), True)
WRITING_OUTSIDE = Attempt("write_file", ("/etc/hosts",), False)
RUNNING, UNTOLD = Attempt("bash", ("git diff --stat",), True), Attempt("bash", None, True)
GIT_AND_RM, NOTHING = Attempt("bash", ("git log", "rm -r x"), True), Attempt("bash", (), True)
MAILING, FOREIGN = bare("SendMessage", "mcp__web__fetch")


def judged(attempt: Attempt, *rules: PermissionRule, **situation: Any) -> Verdict:
    """Return the verdict in default mode, unconfined and attended, unless said otherwise."""
    usual = {"mode": Mode.DEFAULT, "traits": TOOLS, "confined": False, "attended": True}
    return judge(attempt, rules=rules, **{**usual, **situation})


def rule(text: str) -> PermissionRule:
    """Return the rule in a line such as `deny bash(rm *)`."""
    effect, _, written = text.partition(" ")
    return PermissionRule.parse(Effect(effect), written)


def rules(*texts: str) -> list[PermissionRule]:
    return [rule(text) for text in texts]


# --- the modes, cell by cell: (plain, confined by a sandbox), where a person can answer

FREE, ASKS, NEVER = (ALLOW, ALLOW), (ASK, ASK), (DENY, DENY)
ALWAYS_FREE = (READING, SEARCHING, MAILING, *bare("TaskGet", "TaskList", "ExitPlanMode"))
WORK = bare("TaskCreate", "TaskUpdate", "Task", "TeamCreate", "TeamDelete", "TaskStop", "TaskOutput", "Skill")

CELLS = {
    Mode.DEFAULT: {
        **dict.fromkeys((*ALWAYS_FREE, *WORK), FREE),
        **dict.fromkeys((WRITING, EDITING, WRITING_OUTSIDE, FOREIGN), ASKS),
        RUNNING: (ASK, ALLOW),
    },
    Mode.ACCEPT_EDITS: {
        **dict.fromkeys((*ALWAYS_FREE, *WORK, WRITING, EDITING), FREE),
        **dict.fromkeys((WRITING_OUTSIDE, FOREIGN), ASKS),
        RUNNING: (ASK, ALLOW),
    },
    Mode.PLAN: {
        **dict.fromkeys(ALWAYS_FREE, FREE),
        **dict.fromkeys((*WORK, WRITING, EDITING, WRITING_OUTSIDE, RUNNING, FOREIGN), NEVER),
    },
    Mode.DONT_ASK: {
        **dict.fromkeys((*ALWAYS_FREE, *WORK, WRITING, EDITING, RUNNING), FREE),
        **dict.fromkeys((WRITING_OUTSIDE, FOREIGN), NEVER),
    },
    Mode.BYPASS: {
        **dict.fromkeys((*ALWAYS_FREE, *WORK, WRITING, EDITING, WRITING_OUTSIDE, RUNNING, FOREIGN), FREE),
    },
}


def cells() -> Iterable[object]:
    for mode, row in CELLS.items():
        for attempt, effects in row.items():
            name = f"{mode}-{attempt.tool}" + ("" if attempt.inside else "-outside")
            yield pytest.param(mode, attempt, False, effects[0], id=name)
            yield pytest.param(mode, attempt, True, effects[1], id=f"{name}-confined")


def test_the_table_of_cells_has_every_mode_and_every_kind_of_call_in_each() -> None:
    assert set(CELLS) == set(Mode)
    assert {frozenset(row) for row in CELLS.values()} == {frozenset(CELLS[Mode.DEFAULT])}


@pytest.mark.behaviour("permission", "plan")
@pytest.mark.parametrize(("mode", "attempt", "confined", "effect"), list(cells()))
def test_a_mode_settles_what_no_rule_settles_and_unattended_asks_nobody(
    mode: Mode, attempt: Attempt, confined: bool, effect: Effect
) -> None:
    unattended = DENY if effect is ASK else effect
    assert judged(attempt, mode=mode, confined=confined).effect is effect
    assert judged(attempt, mode=mode, confined=confined, attended=False).effect is unattended


@pytest.mark.behaviour("permission")
def test_a_call_denied_for_want_of_a_person_names_the_flag() -> None:
    assert judged(RUNNING, attended=False) == Verdict(
        DENY,
        "Denied: bash runs a command outside a sandbox, and nobody is here to answer. Continue without this call. "
        "The user can allow more with another --permission-mode.",
    )


def test_other_denials_say_why_and_do_not_blame_the_flag() -> None:
    assert judged(RUNNING, rule("deny bash(git *)"), attended=False) == Verdict(
        DENY, "Denied by the rule 'deny bash(git *)'. Continue without this call."
    )
    assert judged(WRITING, mode=Mode.PLAN, attended=False) == Verdict(
        DENY,
        "write_file does not work in plan mode. Read what you need, then submit your plan with ExitPlanMode. "
        "When it is approved, you have all your tools again.",
    )
    assert judged(FOREIGN, mode=Mode.DONT_ASK) == Verdict(
        DENY,
        "Denied: mcp__web__fetch is not one of Deskmate's own tools, and mode dontAsk never asks. "
        "Continue without this call.",
    )


def test_a_reason_stays_short_however_long_the_rule() -> None:
    long = PermissionRule(DENY, "bash", "git *" + "*" * 10_000)
    assert len(judged(RUNNING, long).reason) < 250


# --- rules against rules and modes


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize(
    ("attempt", "policy", "mode", "effect"),
    [
        pytest.param(RUNNING, rules("allow bash(git *)"), Mode.DEFAULT, ALLOW, id="allow lifts the mode"),
        pytest.param(RUNNING, rules("allow bash", "ask bash"), Mode.DEFAULT, ASK, id="ask beats allow"),
        pytest.param(RUNNING, rules("deny bash", "ask bash"), Mode.DEFAULT, DENY, id="deny beats ask"),
        pytest.param(RUNNING, rules("allow bash", "deny bash(git *)"), Mode.DEFAULT, DENY, id="deny wins"),
        pytest.param(READING, rules("deny read_file(src/**)"), Mode.DEFAULT, DENY, id="even for reading"),
        pytest.param(READING, rules("ask read_file(src/**)"), Mode.PLAN, ASK, id="ask while planning"),
        pytest.param(MAILING, rules("deny SendMessage"), Mode.BYPASS, DENY, id="deny holds in bypass"),
        pytest.param(RUNNING, rules("ask bash"), Mode.BYPASS, ALLOW, id="ask does not in bypass"),
        pytest.param(WRITING, rules("ask write_file"), Mode.DONT_ASK, DENY, id="ask is no in dontAsk"),
        pytest.param(FOREIGN, rules("allow mcp__web__*"), Mode.DONT_ASK, ALLOW, id="a server in dontAsk"),
        pytest.param(FOREIGN, rules("allow mcp__we__*"), Mode.DEFAULT, ASK, id="another server"),
        pytest.param(WRITING, rules("allow write_file(docs/**)"), Mode.DEFAULT, ASK, id="another path"),
        pytest.param(WRITING_OUTSIDE, rules("allow write_file"), Mode.DEFAULT, ASK, id="outside"),
        pytest.param(WRITING_OUTSIDE, rules("allow *(/etc/*)"), Mode.DONT_ASK, DENY, id="out, dontAsk"),
        pytest.param(WRITING_OUTSIDE, rules("deny *(/etc/*)"), Mode.BYPASS, DENY, id="out, denied"),
        pytest.param(GIT_AND_RM, rules("allow bash(git *)"), Mode.DEFAULT, ASK, id="allow needs all"),
        pytest.param(GIT_AND_RM, rules("allow bash(*)"), Mode.DEFAULT, ALLOW, id="all are allowed"),
        pytest.param(GIT_AND_RM, rules("deny bash(rm *)"), Mode.DEFAULT, DENY, id="deny needs one"),
        pytest.param(NOTHING, rules("allow bash(*)"), Mode.DEFAULT, ASK, id="no command"),
        pytest.param(NOTHING, rules("deny bash(*)"), Mode.DONT_ASK, ALLOW, id="no command to deny"),
        pytest.param(NOTHING, rules("allow bash"), Mode.DEFAULT, ALLOW, id="no command, no pattern"),
        pytest.param(UNTOLD, rules("allow bash(*)"), Mode.DEFAULT, ASK, id="untold"),
        pytest.param(UNTOLD, rules("allow bash"), Mode.DEFAULT, ALLOW, id="untold, no pattern"),
        pytest.param(UNTOLD, rules("deny bash"), Mode.DEFAULT, DENY, id="untold, denied"),
        pytest.param(UNTOLD, rules("allow bash", "deny bash(x)"), Mode.DEFAULT, ASK, id="may be denied"),
        pytest.param(UNTOLD, rules("allow bash", "ask bash(x)"), Mode.DEFAULT, ASK, id="may be asked"),
        pytest.param(UNTOLD, rules("deny bash(x)"), Mode.BYPASS, ASK, id="may be denied in bypass"),
        pytest.param(UNTOLD, rules("deny bash(x)"), Mode.DONT_ASK, DENY, id="may be denied in dontAsk"),
        pytest.param(UNTOLD, rules("deny grep(x)"), Mode.BYPASS, ALLOW, id="untold, another tool"),
    ],
)
def test_rules_come_before_the_mode_and_the_strongest_wins(
    attempt: Attempt, policy: list[PermissionRule], mode: Mode, effect: Effect
) -> None:
    assert judged(attempt, *policy, mode=mode).effect is effect


@pytest.mark.parametrize(
    "path", ["", "/", "src/", "./x", "../x", "src/..", "src/../.env", "a//b", "a/./b", "/etc/../x"]
)
def test_a_path_that_is_not_resolved_matches_no_allow_rule_and_may_match_any_other(path: str) -> None:
    unresolved = Attempt("write_file", (path,), True)
    assert judged(unresolved, rule("allow write_file(**)")).effect is ASK
    assert judged(unresolved, rule("deny write_file(x)"), mode=Mode.BYPASS).effect is ASK


def test_a_tool_that_poses_as_one_for_planning_does_not_work_in_plan_mode() -> None:
    traits = {"grep": ToolTraits("grep", "base", runs=True), "peek": TOOLS["grep"]}
    verdicts = [
        judged(Attempt(tool, (), True), rule("allow *"), mode=Mode.PLAN, traits=traits).effect
        for tool in ("grep", "peek", "glob")
    ]
    assert verdicts == [DENY, DENY, DENY]


# --- properties, over calls and rules that meet often


def joined(*pieces: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), min_size=1, max_size=6).map("".join)


WORDS, PATTERNS = joined("a", "b", "/", " ", "ab"), joined("a", "b", "/", " ", "*", "**", "**/")
TOOL_NAMES = st.sampled_from([*TOOLS, "mcp__web__fetch", "mcp__disk__write", "bash2"])
SUBJECTS = st.none() | st.lists(WORDS, max_size=3).map(tuple)


def rules_that(*effects: Effect) -> st.SearchStrategy[PermissionRule]:
    tools = TOOL_NAMES | st.sampled_from(["*", "*_file", "mcp__*"])
    return st.builds(PermissionRule, st.sampled_from(effects), tools, st.none() | PATTERNS)


class Case(NamedTuple):
    attempt: Attempt
    policy: list[PermissionRule]
    mode: Mode
    confined: bool
    attended: bool

    def effect(self, *more: PermissionRule, **other: Any) -> Effect:
        situation = {"mode": self.mode, "confined": self.confined, "attended": self.attended, **other}
        return judged(self.attempt, *self.policy, *more, **situation).effect


RULES = rules_that(*Effect)
CASES = st.builds(
    Case,
    st.builds(Attempt, TOOL_NAMES, SUBJECTS, st.booleans()),
    st.lists(RULES, max_size=6),
    *(st.sampled_from(Mode), st.booleans(), st.booleans()),
)


@given(CASES, rules_that(ASK, DENY))
def test_a_further_rule_that_asks_or_denies_never_permits_more(case: Case, more: PermissionRule) -> None:
    assert STRENGTH[case.effect(more)] >= STRENGTH[case.effect()]


@given(CASES, rules_that(ALLOW))
def test_a_further_rule_that_allows_never_permits_less(case: Case, more: PermissionRule) -> None:
    assert STRENGTH[case.effect(more)] <= STRENGTH[case.effect()]


@given(CASES, st.lists(rules_that(ALLOW, ASK)), st.lists(WORDS, min_size=1), st.booleans())
def test_no_rule_overrides_a_denial(case: Case, more: list[PermissionRule], run: list[str], exact: bool) -> None:
    case = case._replace(attempt=Attempt("bash", tuple(run), True))
    assert case.effect(PermissionRule(DENY, "bash", run[-1] if exact else None), *more) is DENY


@given(CASES, st.randoms())
def test_the_order_of_rules_does_not_matter(case: Case, random: Random) -> None:
    shuffled = random.sample(case.policy, len(case.policy))
    assert case._replace(policy=shuffled).effect() is case.effect()


@pytest.mark.behaviour("plan", "permission")
@given(CASES.filter(lambda case: case.attempt.tool not in PLANNING))
def test_no_rules_let_anything_but_the_tools_for_planning_through_plan_mode(case: Case) -> None:
    assert case.effect(mode=Mode.PLAN) is DENY


@pytest.mark.behaviour("permission")
@given(CASES)
def test_nobody_is_asked_unattended_or_in_dont_ask(case: Case) -> None:
    assert case.effect(attended=False) is not ASK
    assert case.effect(mode=Mode.DONT_ASK) is not ASK


@pytest.mark.behaviour("permission")
@given(CASES, WORDS, st.sampled_from(sorted(set(Mode) - {Mode.BYPASS})))
def test_no_rule_lets_an_edit_outside_the_workspace_pass_unasked(case: Case, path: str, mode: Mode) -> None:
    assert case._replace(attempt=Attempt("edit_file", (path,), False)).effect(mode=mode) is not ALLOW


# --- what a rule looks like


AUTORUN = Attempt("write_file", (".vscode/tasks.json",), True, autorun=True)


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize(
    ("mode", "texts", "effect"),
    [
        (Mode.DEFAULT, (), ASK),
        (Mode.ACCEPT_EDITS, (), ASK),
        (Mode.ACCEPT_EDITS, ("allow write_file",), ASK),
        (Mode.ACCEPT_EDITS, ("allow write_file(**)", "allow write_file(.vscode/*)"), ASK),
        (Mode.ACCEPT_EDITS, ("allow edit_file(.vscode/tasks.json)",), ASK),
        (Mode.ACCEPT_EDITS, ("allow write_file(.vscode/tasks.json)",), ALLOW),
        (Mode.DEFAULT, ("allow write_file(.vscode/tasks.json)",), ALLOW),
        (Mode.DEFAULT, ("allow write_file(.vscode/tasks.json)", "ask write_file(.vscode/**)"), ASK),
        (Mode.DEFAULT, ("allow write_file(.vscode/tasks.json)", "deny write_file(.vscode/**)"), DENY),
        (Mode.DONT_ASK, (), DENY),
        (Mode.DONT_ASK, ("allow write_file(**)",), DENY),
        (Mode.DONT_ASK, ("allow write_file(.vscode/tasks.json)",), ALLOW),
        (Mode.BYPASS, (), ALLOW),
        (Mode.PLAN, ("allow write_file(.vscode/tasks.json)",), DENY),
    ],
)
def test_a_file_from_which_tools_run_commands_is_edited_only_where_a_person_named_it(
    mode: Mode, texts: tuple[str, ...], effect: Effect
) -> None:
    assert judged(AUTORUN, *rules(*texts), mode=mode, confined=True).effect is effect
    unattended = judged(AUTORUN, *rules(*texts), mode=mode, confined=True, attended=False)
    assert unattended.effect is (DENY if effect is ASK else effect)


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize("texts", [(), ("allow write_file(**)",)])
def test_for_a_file_from_which_tools_run_commands_always_means_that_file_alone(texts: tuple[str, ...]) -> None:
    found = standing_rule(AUTORUN, mode=Mode.ACCEPT_EDITS, rules=rules(*texts), traits=TOOLS, confined=True)
    assert str(found) == "write_file(.vscode/tasks.json)"


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize(
    ("text", "tool", "pattern"),
    [
        ("bash", "bash", None),
        ("bash(git diff *)", "bash", "git diff *"),
        ("write_file(src/**)", "write_file", "src/**"),
        ("mcp__server__*", "mcp__server__*", None),
        ("bash(echo (a) (b))", "bash", "echo (a) (b)"),
        ("bash())", "bash", ")"),
        ("bash( x )", "bash", " x "),
        ("bash(a\nb)", "bash", "a\nb"),
        ("read_file(文件/\u2028*)", "read_file", "文件/\u2028*"),
    ],
)
def test_a_rule_is_read_and_printed_as_it_stands(text: str, tool: str, pattern: str | None) -> None:
    parsed = PermissionRule.parse(ALLOW, text)
    assert (parsed, str(parsed)) == (PermissionRule(ALLOW, tool, pattern), text)


PATTERNS = st.text(st.characters(exclude_characters="\0"), min_size=1)


@given(RULES | st.builds(PermissionRule, st.sampled_from(Effect), st.just("bash"), PATTERNS))
def test_every_rule_survives_being_printed_and_read(original: PermissionRule) -> None:
    assert PermissionRule.parse(original.effect, str(original)) == original


@given(st.text())
def test_any_text_is_a_rule_that_prints_as_that_text_or_is_refused(text: str) -> None:
    try:
        parsed = PermissionRule.parse(DENY, text)
    except BadInput:
        return
    assert str(parsed) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "()", "(x)", "bash(", "bash)", "bash()", "bash(x", "bash x)", "bash(x) ", "bash(x)y"),
        *(" bash", "bash ", "bash (x)", "ba sh", "bash\n", "bash\x00", "bаsh", "bash,grep", "bash(a)(b)c"),
        *("[a-z]+", "^bash$", "a|b", "../bash", "\u202ebash", "\ud800", "\x1b[31mbash" * 100),
    ],
)
def test_a_malformed_rule_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(BadInput, match=re.escape("bash(git diff *)")) as refused:
        PermissionRule.parse(DENY, text)
    message = str(refused.value)
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 300


# --- what a pattern matches


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("a.py", ["a.py"], ["axpy", "A.py", "src/a.py", "a.py\n"]),
        ("*.py", ["a.py", ".py", "a\n.py"], ["src/a.py", "apy"]),
        ("src/*", ["src/a"], ["src/a/b", "src", "src2/a"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "src2/a", "a/src/b"]),
        ("**/.env", [".env", "a/.env", "a/b/.env"], ["b.env", "a/b.env", ".env/a"]),
        ("src/**/a.py", ["src/a.py", "src/x/y/a.py"], ["srca.py", "src/xa.py"]),
        ("src/**.py", ["src/x.py", "src/x/y.py"], ["x/src/y.py"]),
        ("a**/b", ["a/b", "ax/y/b"], ["ab"]),
        ("**a*b", ["ab", "a/ab", "a/axb"], ["a/b"]),
        ("/etc/*", ["/etc/hosts"], ["etc/hosts", "/etc/a/b"]),
        ("**", ["a", "a/b", "/a", "."], []),
        (".*", [".a"], ["ab"]),
        ("[ab]?(a|b)+", ["[ab]?(a|b)+"], ["a", "aa", "bab"]),
    ],
)
def test_in_a_path_one_star_stays_in_its_folder_and_two_do_not(
    pattern: str, fitting: list[str], others: list[str]
) -> None:
    deny = PermissionRule(DENY, "read_file", pattern)
    verdicts = {path: judged(Attempt("read_file", (path,), True), deny).effect for path in fitting + others}
    assert verdicts == {**dict.fromkeys(fitting, DENY), **dict.fromkeys(others, ALLOW)}


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("git diff *", ["git diff a/b", "git diff "], ["git diff", "git diff\tx", "Git diff x"]),
        ("* --force", ["git push --force"], ["git push --force x", "--force"]),
        ("a*a", ["aa", "aba", "a\na"], ["a", "ab", "ba"]),
        ("a*b*c", ["abc", "a-b-c"], ["a-c-b", "ac"]),
        ("a*b*b", ["abb", "a-b-b-b"], ["ab"]),
        ("a**c", ["ac", "a/b\nc"], ["a"]),
        ("*", ["", "a", "a/b"], []),
        ("git .*", ["git .x"], ["git log"]),
        ("a\\*", ["a\\", "a\\b"], ["a*"]),
    ],
)
def test_in_a_command_a_star_stands_for_anything(pattern: str, fitting: list[str], others: list[str]) -> None:
    allow = PermissionRule(ALLOW, "bash", pattern)
    verdicts = {it: judged(Attempt("bash", (it,), True), allow).effect for it in fitting + others}
    assert verdicts == {**dict.fromkeys(fitting, ALLOW), **dict.fromkeys(others, ASK)}


def path_regex(pattern: str) -> str:
    """Return what a pattern for paths means, said in another way; right, but slow for hostile ones."""
    meaning = {"*": "[^/]*", "**/": "(?:.*/)?"}
    pieces = re.findall(r"(?<![^/])\*\*/|\*{2,}|\*|[^*]+", pattern)
    return "".join(meaning.get(it, ".*" if it.startswith("**") else re.escape(it)) for it in pieces)


RESOLVED = st.lists(st.sampled_from(["a", "b", "ab", "ba"]), min_size=1, max_size=4).map("/".join)


@given(PATTERNS, RESOLVED)
def test_a_path_matches_as_the_regular_expression_of_the_same_meaning(pattern: str, path: str) -> None:
    verdict = judged(Attempt("glob", (path,), True), PermissionRule(DENY, "glob", pattern))
    assert (verdict.effect is DENY) == bool(re.fullmatch(path_regex(pattern), path, re.DOTALL))


@given(PATTERNS, WORDS)
def test_a_command_matches_as_the_regular_expression_of_the_same_meaning(pattern: str, command: str) -> None:
    verdict = judged(Attempt("bash", (command,), True), PermissionRule(DENY, "bash", pattern), confined=True)
    expected = ".*".join(re.escape(part) for part in pattern.split("*"))
    assert (verdict.effect is DENY) == bool(re.fullmatch(expected, command, re.DOTALL))


@pytest.mark.parametrize("tool", ["bash", "read_file"])
def test_a_hostile_pattern_comes_to_an_end(tool: str) -> None:
    hostile = Attempt(tool, ("a" * 2000 + "b",), True)
    assert judged(hostile, PermissionRule(DENY, tool, "*a" * 100 + "*c"), mode=Mode.DONT_ASK).effect is ALLOW
