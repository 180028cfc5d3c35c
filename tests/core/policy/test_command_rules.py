"""Rules for commands: several at once, those known only in part, and the rule that is offered for a call that asks."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.agent.actions import Act, Ask, Settle
from deskmate.core.agent.rules.decide import decide
from deskmate.core.policy.patterns import HOLE, words_of
from deskmate.core.policy.permissions import Attempt, Effect, Mode, PermissionRule, judge, known_rule, standing_rule
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.team import roster_records
from deskmate.errors import BadInput
from tests.core.agent.rules.test_decide import idle, says

ALLOW, ASK, DENY = Effect
SUBJECTS = st.lists(st.sampled_from(["git", "diff", "log", "a b", "(", ")", "*", HOLE, "é", "\n", ""]), min_size=1)


def running(*commands: str) -> Attempt:
    return Attempt("bash", commands, inside=False)


def editing(path: str, *, inside: bool = True) -> Attempt:
    return Attempt("edit_file", (path,), inside)


def effect(attempt: Attempt, *rules: str) -> Effect:
    known = [roster_records.parse_rule(text) for text in rules]
    return judge(attempt, mode=Mode.DEFAULT, rules=known, traits=TOOLS, confined=False, attended=True).effect


def offered(attempt: Attempt, *rules: str) -> str | None:
    known = [roster_records.parse_rule(text) for text in rules]
    rule = standing_rule(attempt, mode=Mode.DEFAULT, rules=known, traits=TOOLS, confined=False)
    return f"{rule.effect} {rule}" if rule else None


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
        (f"git diff src/{HOLE}", "git diff src/*", ASK),
        (f"git diff src/{HOLE}", "git diff *", ALLOW),
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
        (f"git --no-pager {HOLE}", "git push *", ASK),
        (f"git -c {HOLE} push", "git push *", DENY),
        (f"docker --host {HOLE}", "docker push *", ASK),
        (f"docker --host=a {HOLE} push", "docker push *", ASK),
        (f"> {HOLE}", "> .env", ASK),
    ],
)
def test_a_rule_asks_where_it_depends_on_what_is_known_only_then(command: str, rule: str, expected: Effect) -> None:
    assert effect(running(command), "allow bash", f"deny bash({rule})") is expected


# -- wide where it asks or denies, narrow where it allows ---------------------------------------------


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("git push *", "git push", DENY),
        ("git push **", "git push", DENY),
        ("git push *", "/usr/bin/git push origin", DENY),
        ("rm *", "//bin/rm x", DENY),
        ("rm *", "../../bin/rm x", DENY),
        ("git push *", "git -C . push", DENY),
        ("git push *", "git --no-pager push x", DENY),
        ("git push *", "git -c k=v -c a=b --git-dir .git -P push", DENY),
        ("git push *", "/usr/lib/git-core/git-push origin", DENY),
        ("git push * --force", "git -C . push origin --force", DENY),
        ("git push * --force", "git -C . push origin", ALLOW),
        ("git * --force *", "git push --force", DENY),
        ("git push *", "GIT push x", DENY),
        ("/usr/bin/git push *", "git push x", DENY),
        ("/usr/bin/git push *", "/bin/git -C . push", DENY),
        ("/bin/*", "/bin/rm x", DENY),
        ("/bin/*", "rm x", ALLOW),
        ("git push *", "git -c alias.p=push p", ASK),
        ("git push *", "git -c Alias.p=!x --no-pager p", ASK),
        ("> .env", "> ./.env", DENY),
        ("> .env*", "> a/../.env.local", DENY),
        # The syntax of these is not known: the rule may apply.
        ("docker push *", "docker --host tcp://a push x", ASK),
        ("docker push *", "docker -D push x", ASK),
        ("docker compose down*", "docker compose -f x.yml down", ASK),
        ("kubectl delete *", "kubectl -n prod --context=a delete pod x", ASK),
        ("npm publish", "npm --prefix web publish", ASK),
        ("cargo publish *", "cargo +nightly publish", ASK),
        ("make deploy*", "make -C infra deploy-all", ASK),
        ("make deploy", "make ENV=prod -j4 deploy", ASK),
        ("systemctl stop *", "systemctl --user stop x", ASK),
        ("gh pr merge *", "gh pr -R a/b merge 1", ASK),
        # These are about something else.
        ("git push *", "git log --grep push", ALLOW),
        ("git push *", "git commit -m push", ALLOW),
        ("git push", "git push origin", ALLOW),
        ("git push", "git pushx", ALLOW),
        ("rm *", "echo rm x", ALLOW),
        ("docker push *", "docker run push", ALLOW),
        ("docker push *", "docker --host tcp://a run x", ALLOW),
        ("npm publish", "npm --prefix web publish --dry-run", ALLOW),
    ],
)
def test_a_rule_that_denies_fits_the_plain_forms_of_its_command(pattern: str, command: str, expected: Effect) -> None:
    assert effect(running(command), "allow bash", f"deny bash({pattern})") is expected
    asked = ASK if expected is DENY else expected
    assert effect(running(command), "allow bash", f"ask bash({pattern})") is asked


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("git diff *", ["git diff x"], ["git diff", "/tmp/evil/git diff x", "git -C . diff x", "git-diff x"]),
        ("git status*", ["git status", "git status -s"], ["git status-x", "git statusx -s", f"git status{HOLE}"]),
        ("ls*", ["ls", "ls -l a/b"], ["lsof", "lsblk -f"]),
        ("git log* -p", ["git log -p", "git log x -p"], ["git log-x -p", "git logs -p"]),
        ("npm run test:*", ["npm run test:unit", "npm run test:unit -- --ci"], ["npm run test", "npm run testx"]),
        ("pytest -k=*", ["pytest -k=a"], ["pytest -k"]),
        ("cat src/*", ["cat src/a", "cat src/a/b.py src/c"], ["cat src/../../etc/shadow", "cat src/a /etc/shadow"]),
        ("cat src/*", ["cat src/..a", "cat src/a..b", "cat src/a -n"], ["cat src/..", "cat src", "cat ../src/a"]),
        ("cat src/.*", ["cat src/.env"], ["cat src/..", "cat src/../x"]),
        ("cat */a", ["cat b/a", "cat b/c/a"], ["cat /etc/a", "cat ../a", "cat b/../../a"]),
        ("cat ../docs/*", ["cat ../docs/a"], ["cat ../docs/../a", "cat ../docs/.."]),
        ("cat /var/log/*", ["cat /var/log/a"], ["cat /var/log/../x", "cat var/log/a"]),
        ("cc -Isrc/* *", ["cc -Isrc/a x.c"], ["cc -Isrc/../.. x.c", "cc -Isrc/a"]),
        ("tool --out=*/x", ["tool --out=a/x"], ["tool --out=/etc/x", "tool --out=../x"]),
        ("tool -o*/x", ["tool -oa/x"], ["tool -o/etc/x", "tool -o../x"]),
        ("curl https://a.org/*", ["curl https://a.org/b"], ["curl https://a.org/../b", "curl https://a.org.evil/b"]),
        ("./scripts/*", ["./scripts/a", "./scripts/a --x /y"], ["./scripts/../../bin/rm x", "./scripts"]),
        ("./gradlew*", ["./gradlew", "./gradlew build x/y"], ["./gradlew-evil", "./gradlew/../rm"]),
        ("./scripts/* src/*", ["./scripts/a src/b"], ["./scripts/a", "./scripts/a /etc/x src/b"]),
        ("* src/*", ["cat src/a", "cat -n src/a"], ["cat src/../a", "src/a"]),
        ("cat * src/*", ["cat -n src/a"], ["cat src/a", "cat -n src/.."]),
        ("> build/*", ["> build/a", "> build/a/b"], ["> build/../a", "> /build/a", "> a", f"> {HOLE}", "< build/a"]),
        ("> *", ["> a", "> a/b"], ["> /etc/x", "> ../x", "> a/../../x", f"> {HOLE}", "< a", "> a//b", "> ./a"]),
        ("> ./out", ["> out"], ["> out2", "> ../out"]),
        ("> /tmp/*", ["> /tmp/a"], ["> /tmp/../etc/x", "> tmp/a"]),
        ("< *.txt", ["< a.txt", "< a/b.txt"], ["< /a.txt", "> a.txt"]),
        ("echo *", ["echo > x"], ["> x", "> echo x"]),
        ("*", ["> /etc/x", "git push"], []),
    ],
)
def test_a_rule_that_allows_fits_no_more_than_it_says(pattern: str, fitting: list[str], others: list[str]) -> None:
    effects = {command: effect(running(command), f"allow bash({pattern})") for command in fitting + others}
    assert effects == {**dict.fromkeys(fitting, ALLOW), **dict.fromkeys(others, ASK)}


PIECES = ["git", "push", "a", "-C", "--x=a", "*", "**", "src/", "..", "/", ".", " ", " ", ">", "=", "\\ ", HOLE]
COMMANDS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
PATTERNS = COMMANDS.map(lambda text: text.replace(HOLE, "") or "*")


def said(pattern: str, command: str) -> bool:
    """Tell whether a command is the pattern with anything in place of each star."""
    return bool(re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), command, re.DOTALL))


@pytest.mark.behaviour("permission")
@given(PATTERNS, COMMANDS)
def test_an_allow_never_fits_more_and_a_deny_never_less_than_the_text_of_its_pattern(
    pattern: str, command: str
) -> None:
    resolved = pattern.replace("> ./", "> ").replace(">  ./", ">  ")
    if effect(running(command), f"allow bash({pattern})") is ALLOW:
        assert said(pattern, command) or said(" ".join(words_of(resolved)), " ".join(words_of(command)))
    if said(pattern, command):
        assert effect(running(command), "allow bash", f"deny bash({pattern})") is DENY


@pytest.mark.parametrize("pattern", ["a*a " * 60 + "*b", "a/* " * 60 + "*b", "* " * 60 + "a/*b", "*/a*" * 60 + "b"])
@pytest.mark.parametrize("command", ["a " * 5_000, "-a a " * 2_000, "a/a " * 2_500, "a" * 10_000])
def test_hostile_patterns_and_commands_come_to_an_end(pattern: str, command: str) -> None:
    for rule in (f"allow bash({pattern})", f"deny bash({pattern})"):
        assert effect(running(command.strip()), rule) is ASK


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
    allowing = replace(view, rules=(PermissionRule(ALLOW, "bash", "git diff"),))
    assert decide(allowing) == Act((call,))
    world.note(roster_records.PolicySet(by="user", at=0, add_rules=("deny bash(git *)",)))
    assert isinstance(decide(replace(allowing, roster=world.roster)), Settle)


@pytest.mark.behaviour("permission")
def test_a_rule_of_the_user_counts_when_one_is_offered() -> None:
    world = idle()
    (call,) = says(world, "bash")
    view = replace(
        world.view, attempts={call: running("git diff", "head")}, rules=(PermissionRule(ALLOW, "bash", "head"),)
    )
    action = decide(view)
    assert isinstance(action, Ask)
    assert (action.call, action.rule) == (call, "allow bash(git diff)")


@pytest.mark.parametrize("text", ["bash", "bash(git *)", "Task*", "*", "mcp__web__fetch", "mcp__*(x)"])
def test_a_rule_for_a_tool_that_there_is_or_may_be_is_known(text: str) -> None:
    assert known_rule(DENY, text) == PermissionRule.parse(DENY, text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("bsh(rm *)", "'bsh' is not a tool. Did you mean 'bash'?"),
        ("Bash(rm *)", "'Bash' is not a tool. Did you mean 'bash'?"),
        ("write(src/**)", "'write' is not a tool. Did you mean 'write_file'?"),
        ("curl_*", "'curl_*' is not a tool. There are bash, read_file, write_file"),
        ("bash(a\0)", "is not a rule"),
    ],
)
def test_a_rule_for_no_tool_is_refused_naming_the_nearest(text: str, why: str) -> None:
    with pytest.raises(BadInput) as refused:
        known_rule(DENY, text)
    assert why in str(refused.value)
