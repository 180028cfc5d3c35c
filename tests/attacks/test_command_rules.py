"""Shell texts against permission rules: other ways to write a denied command, and to get more out of an allowed one."""

import os
import tomllib
from pathlib import Path

import pytest

from deskmate.core.policy.permissions import Effect, Mode, PermissionRule, judge
from deskmate.core.policy.tool_table import TOOLS
from deskmate.tools.shell.bash import attempt_to_run
from deskmate.workspace.local_workspace import LocalWorkspace
from tests.test_docs import page, rows, snippets, ticked
from tests.tools.tool_desk import MemoryWorkspace

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("permission")]
ALLOW, ASK, DENY = Effect

# All of these run `git push` or `rm x`, and the rules deny both.
DENIED = (
    "git push", "git push origin main", "git  push", "/usr/bin/git push origin", "//usr/bin//git push", "\\git push",
    'g""it push', "'git' \"push\"", "git -C . push", "git --no-pager push x", "git -c k=v push",
    "git -C a -c b=c -P push", "git --git-dir=.git --work-tree . push", "/usr/lib/git-core/git-push origin",
    "true && git push", "echo $(git push)", "timeout 5 git push", "nice -n 5 git push", "command git push",
    "sudo git push", "sudo -n git push", "nohup git push", "setsid git push",
    "stdbuf -oL git push", "time git push", "ionice -c3 git push", "doas git push", "env git push",
    "bash -c 'git push'", "sh -ec 'true; git push'", "bash -c 'exec git push'", "echo x | xargs git push",
    "xargs -I{} git push < x", "find . -exec git push ';'", "find . -exec rm x +", "//bin/rm x", "../../../bin/rm x",
    "/proc/self/root/usr/bin/git push", "/usr/bin/../bin/git push", "cat <(git push)", "git -C '' push",
    "../../../../usr/bin/env git push", "rm x; ls", "if true; then git push; fi",
    # Not all of these can be told; the command is plain to see.
    "X=1 git push", "GIT_SSH_COMMAND=x git push", "env X=1 git push", "env -S 'git push'", "sudo -u me git push",
    "sudo --user=me git push", "su -c 'git push'", "su me -c 'git push'", "strace -f git push", "taskset 1 git push",
    "prlimit --nofile=9 git push", "chrt 1 git push", "setarch x86_64 git push", "unbuffer git push",
    "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push", "watch git push", "watch 'git push'", "parallel git push ::: a",
    "busybox rm x", "toybox rm x", "flock /tmp/l git push", "flock /tmp/l -c 'git push'", "unshare -r git push",
    "chroot / git push", "bwrap --dev-bind / / git push", "script -c 'git push' /dev/null", "systemd-run git push",
    "timeout --signal=9 5 git push", "nice --adjustment=5 git push", "stdbuf --output=L git push", "eval git push",
    "eval 'git push'", "exec git push", "builtin command git push", "trap 'git push' EXIT", "coproc git push",
    "bash -lc 'git push'", "bash -c +x 'rm x'", "bash -c -- 'git push'", "jobs -rx rm x", "jobs -x git push",
    "case x in x) git push;; esac", "for ((;;)); do git push; done", "(( 1 )); git push", "[[ $'a' ]] && git push",
    "command -- git push", "\\time git push", "env -C . git push", "ls > >(git push)",
    "git submodule foreach git push", "git submodule foreach --recursive 'git push'",
    "git -C . submodule foreach git push",
    "git submodule --quiet foreach 'git push'", "git rebase --exec 'git push' main",
    "git rebase --exec='git push' main",
    "git rebase -i -x 'git push' main", "git rebase '-xgit push' main", "git bisect run git push",
    "git bisect run sh -c 'git push'",
    "ssh-agent git push", "sg root -c 'git push'", "choom -n 5 -- git push", "uclampset -m 1 git push",
    "coresched new -- git push", "runcon a git push", "uname26 git push", "run0 git push", "chronic git push",
    "xargs -I{} -L1 git push", "exec -a x git push", "coproc X { git push; }",
)  # fmt: skip

# What these run cannot be seen; a rule that may apply asks.
UNSEEN = (
    "$x push", "g$x push", "$(echo git) push", "git $x", "git $x push", "git --no-pager $x", "sh x.sh | sh",
    "bash <<< x", ". ./x", "source x", "eval $x", "git -c $x", "bash <<EOF\ngit push\nEOF", "echo git push | bash",
    "git -c alias.p=push p", "git {push,x}", "git $'push'", "$(git --exec-path)/git-push", "xargs -a x git",
    "g() { git \"$@\"; }; g push", "bash -c 'git \"$@\"' _ push",
    "git 'pu'$x", "xargs git < x", "echo push | xargs -n1 git", "bash -c \"$x\"", "env $x", "sudo $x",
)  # fmt: skip


async def effect(text: str, *rules: tuple[Effect, str], mode: Mode, workspace: LocalWorkspace | None = None) -> Effect:
    attempt = await attempt_to_run(text, workspace or MemoryWorkspace())
    written = [PermissionRule(effect, "bash", pattern) for effect, pattern in rules]
    return judge(attempt, mode=mode, rules=written, traits=TOOLS, confined=False, attended=True).effect


@pytest.mark.parametrize("text", DENIED)
async def test_a_denied_command_is_denied_in_any_plain_form(text: str) -> None:
    rules = ((DENY, "git push *"), (DENY, "rm *"))
    assert await effect(text, *rules, mode=Mode.BYPASS) is DENY
    assert await effect(text, *rules, (ALLOW, "*"), mode=Mode.DEFAULT) is DENY


@pytest.mark.parametrize("text", UNSEEN)
async def test_a_command_that_may_be_the_denied_one_is_asked_about(text: str) -> None:
    rules = ((DENY, "git push *"), (DENY, "rm *"))
    assert await effect(text, *rules, mode=Mode.BYPASS) is ASK


@pytest.mark.parametrize(
    "text",
    [
        *("git log", "git log --grep push", "git commit -m 'git push'", "echo git push", "grep -r 'rm x' .", "ls rm"),
        *("timeout 5 git log", "git -C . log", "x=1", "find . -name rm", "xargs ls", "git stash push; ls"),
    ],
)
async def test_a_command_that_only_speaks_of_the_denied_one_is_not_stopped(text: str) -> None:
    assert await effect(text, (DENY, "git push *"), (DENY, "rm *"), mode=Mode.BYPASS) is ALLOW


# Allowed are: git diff *, cat src/*, git status*, echo *, > build/*, jobs *, xargs *, cd *, bash *, find *, timeout *.
MORE = (
    "/tmp/evil/git diff x", "./git diff x", "git -c core.pager=x diff a", "git -C / diff x", "git status-x",
    "echo x | xargs cat src/a", "cat src/a\\ ../../x", "find . -exec cat src/{} ';'",
    "cat src/../../etc/shadow", "cat src/a /etc/shadow", "cat src/..", "cat src/$x", "cat src/*", "cat src/{a,../../b}",
    "echo a > build/../../outside", "echo a > /etc/x", "echo a > build/../x", "echo a > ~/x", "echo a > $x",
    "cd / && echo a > build/x", "cd ..; echo a >> build/x", "bash -c 'cd /; echo a > build/x'",
    "find / -execdir bash -c 'echo a > build/x' ';'", "jobs -rx touch f", "jobs -sx touch f", "jobs -x touch f",
    "jobs $x", "bash -c +x 'rm y'", "bash -c +e 'echo a; rm y'", "xargs -I{} -L1 git diff",
    "xargs -L1 -I{} -n2 git status",
    "strace git diff x", "taskset 1 git diff x", "/lib/ld-linux.so.2 /bin/rm x", "../../usr/bin/env rm x",
    "timeout 5 ../../bin/rm x", "X=1 git diff x", "LD_PRELOAD=x git status", "echo a >| /etc/x", "echo a &> ../x",
    "echo a < ../x", "find . -fprintf x -exec rm y ';'", "git status | tee x", "echo a > build/x > ../y",
    "timeout 5 bash -c 'cat src/../x'", "echo a > build", "echo a > 'build/a b/../../../x'",
)  # fmt: skip
RULES = (
    "git diff *",
    "cat src/*",
    "git status*",
    "echo *",
    "> build/*",
    "jobs *",
    "xargs *",
    "cd *",
    "bash *",
    "find *",
)


@pytest.mark.parametrize("text", MORE)
async def test_nothing_gets_more_out_of_an_allowed_command_than_it_says(text: str) -> None:
    rules = [(ALLOW, pattern) for pattern in (*RULES, "timeout *")]
    assert await effect(text, *rules, mode=Mode.DEFAULT) is ASK


@pytest.mark.parametrize(
    "text",
    [
        *("git diff x", "git status", "git status -s", "cat src/a/b src/c", "echo a > build/x", "jobs -lr", "jobs %1"),
        *(
            "echo a > ./build/y",
            "echo a >> build/z/../y",
            "timeout 5 cat src/a",
            "xargs -n1 git diff x",
            "cd /; git status",
        ),
        *("bash -c 'echo a > build/x'", "find . -exec cat src/a ';'", "cd x; echo a > /dev/null", "echo a 2>&1"),
    ],
)
async def test_what_the_rules_allow_passes(text: str) -> None:
    rules = [(ALLOW, pattern) for pattern in (*RULES, "timeout *")]
    assert await effect(text, *rules, mode=Mode.DEFAULT) is ALLOW


# Each rule, commands that it allows, and commands that get more out of it than it says.
EVERYDAY = {
    "go test ./*": (("go test ./...", "go test ./a/..."), ("go test ../...", "go test ./../x", "go test ./.../../x")),
    "python scripts/*": (
        ("python scripts/a.py", "python scripts/a.py --x", "python scripts/a.py -q --max-fail=1 scripts/b"),
        (
            "python scripts/a.py /etc/x",
            "python scripts/a.py ../x",
            "python scripts/a.py --x=../y",
            "python -q scripts/a.py",
            "python scripts/a.py .env",
            "python scripts/a.py -o.env",
            "python scripts/a.py --out=/etc/x",
            "python scripts/a.py -I/etc",
            "python scripts/a.py ~/x",
            "python scripts/a.py $x",
            "python scripts/a.py --x=$y",
            "python scripts/a.py -x y",
            "python scripts/../a.py -x",
            "python -x",
        ),
    ),
    "python scripts/* *": (("python scripts/a.py x y", "python scripts/a.py --out /x"), ("python ../a.py x",)),
    "pytest tests/*": (
        ("pytest tests/a.py -q", "pytest tests/a.py::test_b --maxfail=1"),
        ("pytest tests/a.py -c ../x",),
    ),
    "python3* scripts/*": (
        ("python3.11 scripts/a.py", "python3 scripts/a.py"),
        ("python3-x scripts/a", "python3x scripts/a"),
    ),
    "curl https://api.github.com/*": (
        ("curl https://api.github.com/repos", "curl 'https://api.github.com/x?path=/a:/b'"),
        (
            "curl https://api.github.com/../x",
            "curl https://api.github.com/%2e%2e/x",
            "curl https://api.github.com/x/..",
            "curl https://api.github.com/x --url=evil.com",
            "curl https://api.github.com/x -d@.env",
            "curl http://api.github.com/x",
            "curl https://api.github.com/x https://evil.com/",
            "curl https://api.github.com@evil.com/",
            "curl https://api.github.com/$x",
        ),
    ),
    "curl https://api.github.com*": (
        ("curl https://api.github.com", "curl https://api.github.com/x", "curl https://api.github.com:443/x"),
        (
            "curl https://api.github.com.evil.com/",
            "curl https://api.github.com:x@evil.com/",
            "curl https://api.github.common/",
            "curl https://api.github.com@evil.com/x",
        ),
    ),
    "curl https://*.github.com/*": (
        ("curl https://api.github.com/x",),
        ("curl https://evil.com/.github.com/x", "curl 'https://evil.com?.github.com/x'"),
    ),
    "npm run test*": (
        ("npm run test", "npm run test:unit", "npm run test:unit-fast -- -x"),
        ("npm run test-x", "npm run tests", "npm run test:$x"),
    ),
    "python3*": (("python3.11 a.py", "python3 a.py"), ("python3-config", "python3x a", "python3/x")),
    "pip*": (("pip3 list", "pip3.11 list", "pip list"), ("pipx run a", "pip-x a")),
    "git diff*": (("git diff", "git diff --stat"), ("git difftool -x y", "git diff-index x")),
}


@pytest.mark.parametrize("rule", EVERYDAY)
async def test_an_everyday_rule_allows_what_people_mean_by_it_and_no_more(rule: str) -> None:
    allowed, others = EVERYDAY[rule]
    for text in (*allowed, *others):
        expected = ALLOW if text in allowed else ASK
        assert await effect(text, (ALLOW, rule), mode=Mode.DEFAULT) is expected, text


# -- what the pages say -----------------------------------------------------------------------------

DOCUMENTED = [
    pytest.param(rule, text, fits, id=f"{rule} {text}")
    for rule, *cells in rows(
        page("reference/permissions.md").partition("## Patterns for commands")[2].partition("##")[0]
    )
    for fits, cell in zip((True, False), cells, strict=True)
    for text in ticked(cell)
]


def test_the_page_has_examples() -> None:
    assert len(DOCUMENTED) > 20


@pytest.mark.parametrize(("rule", "text", "fits"), DOCUMENTED)
async def test_a_rule_of_the_page_fits_what_the_page_says(rule: str, text: str, fits: bool) -> None:
    word, _, pattern = ticked(rule)[0].removesuffix(")").replace("bash(", "").partition(" ")
    mode = Mode.BYPASS if word == "deny" else Mode.DEFAULT
    assert (await effect(text, (Effect(word), pattern), mode=mode) is Effect(word)) is fits


async def test_the_example_of_settings_does_what_it_looks_like() -> None:
    example = tomllib.loads(next(one.text for one in snippets(page("reference/settings.md")) if one.language == "toml"))
    rules = [
        (effect, pattern.removeprefix("bash(").removesuffix(")"))
        for effect in (ALLOW, DENY)
        for pattern in example["permission"][effect]
    ]
    assert rules == [(ALLOW, "git diff *"), (DENY, "git push *")]
    for text in ("git push", "git push origin", "/usr/bin/git push", "git -C . push"):
        assert await effect(text, *rules, mode=Mode.BYPASS) is DENY
    assert await effect("git diff --stat", *rules, mode=Mode.DEFAULT) is ALLOW


# -- links ------------------------------------------------------------------------------------------


async def test_a_link_in_an_allowed_folder_does_not_lead_a_redirection_out(tmp_path: Path) -> None:
    (tmp_path / "desk" / "build").mkdir(parents=True)
    (tmp_path / "desk" / "build" / "up").symlink_to(tmp_path)
    (tmp_path / "desk" / "build" / "file").symlink_to(tmp_path / "secret")
    (tmp_path / "desk" / "build" / "beside").symlink_to("../src")
    workspace = LocalWorkspace(tmp_path / "desk", "team", "lead", environ=os.environ)
    rules = [(ALLOW, pattern) for pattern in RULES]
    for target, expected in {"up/x": ASK, "file": ASK, "beside/x": ASK, "new/x": ALLOW, "x": ALLOW}.items():
        text = f"echo a > build/{target}"
        assert await effect(text, *rules, mode=Mode.DEFAULT, workspace=workspace) is expected, target
    # The name that is written counts as well where a rule denies.
    for pattern in ("> build/beside/*", "> src/*"):
        text = "echo a > build/beside/x"
        assert await effect(text, (DENY, pattern), mode=Mode.BYPASS, workspace=workspace) is DENY
