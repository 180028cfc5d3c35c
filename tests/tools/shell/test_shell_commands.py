"""What a shell text would run: told whole, or not at all. The table holds the tricks that are known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.policy.passed_variables import PASSED
from deskmate.core.policy.patterns import HOLE
from deskmate.core.policy.permissions import Attempt, Effect, Mode, PermissionRule, judge
from deskmate.core.policy.tool_table import TOOLS
from deskmate.tools.shell.shell_commands import MAX_CHARS, commands_of
from deskmate.tools.shell.shell_programs import is_variable
from deskmate.tools.shell.shell_words import Word

H = HOLE

# -- commands wherever they stand ---------------------------------------------------------------------

TOLD = {
    "": (),
    " \n\t\n": (),
    "# rm x": (),
    "git diff": ("git diff",),
    "  git   diff\t--stat  ": ("git diff --stat",),
    "git diff # ; rm x": ("git diff",),
    "git diff #\\\nrm x": ("git diff", "rm x"),
    "git diff; rm x": ("git diff", "rm x"),
    "git diff;rm x": ("git diff", "rm x"),
    "git diff\nrm x": ("git diff", "rm x"),
    "git diff & rm x": ("git diff", "rm x"),
    "git diff&rm x": ("git diff", "rm x"),
    "git diff && rm x || ls": ("git diff", "rm x", "ls"),
    "git diff | rm x": ("git diff", "rm x"),
    "git diff |& rm x": ("git diff", "rm x"),
    "git diff |\n rm x": ("git diff", "rm x"),
    "git diff \\\n  --stat": ("git diff --stat",),
    "! git diff": ("git diff",),
    "(git diff; rm x)": ("git diff", "rm x"),
    "{ git diff; rm x; }": ("git diff", "rm x"),
    "if git diff; then rm x; elif ls; then a; else b; fi": ("git diff", "rm x", "ls", "a", "b"),
    "while git diff; do rm x; done": ("git diff", "rm x"),
    "until git diff\ndo\nrm x\ndone": ("git diff", "rm x"),
    "for x in a b; do rm $x; done": (f"rm {H}",),
    "for x in $(rm y); do ls; done": ("rm y", "ls"),
    "f() { rm x; }; f y": ("rm x", "f y"),
    "function f { rm x; }": ("rm x",),
    "git() { rm x; }; git diff": ("rm x", "git diff"),
    "git diff; git diff": ("git diff",),
    # substitutions
    "git diff $(rm x)": ("rm x", f"git diff {H}"),
    'git diff "$(rm x)"': ("rm x", f"git diff {H}"),
    "git diff `rm x`": ("rm x", f"git diff {H}"),
    'git diff "a `rm x`"': ("rm x", f"git diff a\\ {H}"),
    "git diff $(ls $(rm x))": ("rm x", f"ls {H}", f"git diff {H}"),
    "git diff <(rm x)": ("rm x", f"git diff {H}"),
    "x=$(rm y); git diff": ("rm y", "git diff"),
    "a=1 b=$(ls)": ("ls",),
    "git diff <<< $(rm x)": ("rm x", "git diff"),
    '[ -n "$(rm x)" ]': ("rm x",),
    "[[ $(rm x) == a* ]]": ("rm x",),
    # here-documents
    "cat <<EOF\n$(rm x)\nEOF": ("rm x", "cat"),
    "cat <<EOF\nrm x\nEOF\nls": ("cat", "ls"),
    "cat <<'EOF'\n$(rm x)\nEOF": ("cat",),
    "cat <<-EOF\n\trm x\n\tEOF\nls": ("cat", "ls"),
    "cat <<'EOF' | sort\nrm x\nEOF": ("sort", "cat"),
    "cat <<'EOF' > a.py && python3 a.py\nrm\nEOF": ("> a.py", "python3 a.py", "cat"),
    "git commit -m \"$(cat <<'EOF'\nit's $(rm x)\nEOF\n)\"": ("cat", f"git commit -m {H}"),
    # quotes
    "'git' \"diff\"": ("git diff",),
    "g\\it d'if'f": ("git diff",),
    "git commit -m 'a b'": ("git commit -m a\\ b",),
    'git commit -m "it\'s; rm x"': ("git commit -m it\\'s;\\ rm\\ x",),
    "git diff ''": ("git diff ''",),
    "git diff \"''\"": ("git diff \\'\\'",),
    "git diff a\\ b": ("git diff a\\ b",),
    "git diff 'a\\ b'": ("git diff a\\\\\\ b",),
    'grep "foo$" x': ("grep foo$ x",),
    'echo "a\\$b\\`c"': ("echo a$b`c",),
    "find . -name '*.py'": ("find . -name *.py",),
    "echo '$(rm x)'": ("echo $(rm\\ x)",),
    'echo "é"': ("echo é",),
    # what is known only when it runs
    "git diff $x": (f"git diff {H}",),
    "git diff a$x.py": (f"git diff a{H}",),
    'git diff "${x}"': (f"git diff {H}",),
    "git diff src/*.py": (f"git diff src/{H}",),
    "git diff {a,--output=x}": (f"git diff {H}",),
    "git diff a{1..3}": (f"git diff a{H}",),
    "git diff ~/x": (f"git diff {H}",),
    "git diff --x=~/x HEAD~1": (f"git diff --x={H} HEAD~1",),
    "git diff {}": ("git diff {}",),
    "git diff }": (f"git diff {H}",),
    # files that the shell opens
    "git diff > x": ("> x", "git diff"),
    "git diff >> 'a b'": ("> a\\ b", "git diff"),
    "> x git diff": ("> x", "git diff"),
    "git > x diff": ("> x", "git diff"),
    "git diff &> x": ("> x", "git diff"),
    "git diff >& x": ("> x", "git diff"),
    "git diff 2>x": ("> x", "git diff"),
    "git diff a2 >x": ("> x", "git diff a2"),
    "> x": ("> x",),
    "(git diff) > x": ("> x", "git diff"),
    "cat < .env": ("< .env", "cat"),
    "echo $(< .env)": ("< .env", f"echo {H}"),
    "git diff 2>&1 >/dev/null </dev/null 2>&-": ("git diff",),
    # commands that run others
    "time -p git diff": ("time -p git diff", "git diff"),
    "nice -n 5 nohup git diff": ("nice -n 5 nohup git diff", "nohup git diff", "git diff"),
    "timeout -k 5 10 git diff": ("timeout -k 5 10 git diff", "git diff"),
    "/usr/bin/env git diff": ("/usr/bin/env git diff", "git diff"),
    "env": ("env",),
    "sudo rm x": ("sudo rm x", "rm x"),
    "command git diff": ("command git diff", "git diff"),
    "command -v git": ("command -v git",),
    "ls | xargs": ("ls", "xargs"),
    "ls | xargs -0 -n 1 rm -f": ("ls", "xargs -0 -n 1 rm -f", f"rm -f {H}"),
    "xargs -I{} cp {} a/{}": ("xargs -I{} cp {} a/{}", f"cp {H} a/{H}"),
    "xargs -I{} cp \\{} b": ("xargs -I{} cp {" + H + " b", f"cp {H} b"),
    "find . -exec rm {} \\;": ("find . -exec rm {} ;", f"rm {H}"),
    "find . -execdir a {} + -ok b ';'": ("find . -execdir a {} + -ok b ;", f"a {H}", "b"),
    "find . -exec sh -c 'rm \"$1\"' _ {} ';'": (
        'find . -exec sh -c rm\\ \\"$1\\" _ {} ;',
        f'sh -c rm\\ \\"$1\\" _ {H}',
        f"rm {H}",
    ),
    "bash -c 'git diff; rm x'": ("bash -c git\\ diff;\\ rm\\ x", "git diff", "rm x"),
    "sh -ec 'rm x' a b": ("sh -ec rm\\ x a b", "rm x"),
    "sh -x check.sh a": ("sh -x check.sh a",),
    "./watch ls": ("./watch ls",),
    "./env rm x": ("./env rm x",),
    "../bin/env rm x": ("../bin/env rm x", "rm x"),
    "a/../../bin/env rm x": ("a/../../bin/env rm x", "rm x"),
    "xargs -I{} -s 99 a {}": ("xargs -I{} -s 99 a {}", f"a {H}"),
    # of the shell's own
    "/usr/bin/test -v x": ("/usr/bin/test -v x",),
    "set -euo pipefail; cd x && test -f y": ("set -euo pipefail", "cd x", "test -f y"),
    'while read -r x; do rm "$x"; done < y': ("< y", "read -r x", f"rm {H}"),
    "printf '%s' \"$x\"": (f"printf %s {H}",),
    "printf -- '%5d\\n' 1": ("printf -- %5d\\\\n 1",),
    "jobs; jobs -lr %1 2; wait %1 2 a": ("jobs", "jobs -lr %1 2", "wait %1 2 a"),
}

# -- what cannot be told ------------------------------------------------------------------------------

UNTOLD = (
    # the command itself is not known
    "$x diff", "${x} diff", '"$x" diff', "$(echo git) diff", "`echo git` diff", "g$x diff", "g{i,}t diff", "/bin/r? x",
    "~/git diff", "git$IFS'diff'", "$IFS git", "{git,diff}", "'' git diff", '"$@"', "git\\\ndiff", "'git diff'",
    # variables that others look at
    "LD_PRELOAD=x git diff", "PATH=. git diff", "x=1 git diff", "PATH=.; git diff", "PATH=$(ls)", "GIT_PAGER=x",
    "export PATH=.; git diff", "declare -x PATH=.", "readonly PATH=.", "typeset -x A=1", "local a=1", "unset PATH",
    "for PATH in .; do git diff; done", "read PATH < x", "read -a x", "read 'a[$(rm x)]'", "printf -v PATH .",
    "printf -vPATH .", 'printf "$x" a', "printf 'a%n' PATH", "printf -- '%-5.*lln' 1 PATH", 'printf "ab$x" PATH',
    "set -a", "set -k; git diff LD_PRELOAD=x", "set -o allexport", "set -- a",
    "env PATH=. git diff", "env -S 'rm x'", "sudo PATH=. git diff", "time PATH=. git diff", "getopts a PATH",
    # text that is run, or changes what is
    "eval rm x", "eval 'git diff'", ". ./x", "source x", "exec rm x", "exec > x", "trap 'rm x' EXIT", "alias git=rm",
    "builtin eval rm x", "command eval rm x", "shopt -s expand_aliases", "enable -f x.so y", "hash -p /bin/rm git",
    "mapfile -C 'rm x' a", "compgen -C 'rm x'", "complete -C 'rm x' git", "bind -x '\"a\": rm x'", "fc -s",
    "jobs -x rm x", "jobs -rx rm x", "jobs -sx rm", "jobs -rrx rm", "jobs -l -x rm", "jobs $x", "jobs -l$x", "wait $x",
    "wait -np a", "let 'a[$(rm x)]'", "coproc rm x", "BASH_CMDS[git]=/bin/rm", "x[0]=1", "x=(a b)", "x+=a",
    # what evaluates what it is given
    "((x++))", "echo $((x))", "echo $[x]", 'echo "$[x]"', "echo ${x:-$(rm y)}", "echo ${x:1}", "echo ${!x}",
    "echo ${x@P}", "echo ${x[$(rm y)]}", "[ -v 'a[$(rm x)]' ]", "test -v 'a[$(rm x)]'", "[[ -v x ]]", "[[ $x -eq 1 ]]",
    "[[ $'a' ]]", "[[ -n $'a' ]]", "[ $'a' ]",
    "[[ a || rm ]]", "[[ -f x && a == b ]]", "[ $x ]", 'test "$x" "$y"', "[ -f $x ]", 'test "$@"',
    "wait -p 'a[$(rm x)]'", "for ((;;)); do ls; done",
    # shells and programs that are not looked into
    "git diff | sh", "bash", "bash -s x", "bash -lc 'git diff'", "bash -ic ls", 'bash -c "$x"', "bash -c \"rm '\"",
    "bash <<EOF\nrm x\nEOF", "bash <<< 'rm x'", "zsh -c ls", "busybox rm x", "su -c ls", "/bin/su -c ls",
    "bash /dev/stdin", "bash --init-file x", "xargs sh -c", "xargs -I{} sh -c 'rm {}'", "xargs -I{} {} x", "xargs env",
    "xargs find", "xargs -a x rm", "xargs -i rm {}", "timeout $x git diff", "nice $x", "env $x", "sudo -u a ls",
    "time -p -p ls",
    "find $x", "find . -exec rm", "find . -exec sh -c 'rm {}' ';'", "find . -exec ';'",
    "find . -name -exec , -exec rm x ';'", "find . -name -exec -o -exec rm x {} +", "find . -name -exec , rm ';'",
    "find . -name *.py -exec rm x ';'", "command $x",
    "xargs -I{} -L1 git diff", "xargs -I {} -n 1 git diff", "xargs -L 1 -I{} git diff",
    "xargs -s -I Ig show",
    "xargs -I '' a", "bash -c +x 'rm x'", "bash -c +e ls", "sh -c -- ls", "bash -ec -x ls", "strace ls", "taskset 1 ls",
    "prlimit ls", "chrt 1 ls", "setarch x86_64 ls", "x86_64 ls", "unbuffer ls", "ld.so ls", "../bin/watch ls",
    "/lib64/ld-linux-x86-64.so.2 /bin/ls", "/lib/ld-musl-x86_64.so.1 ls", "bwrap ls", "systemd-run ls", "tmux new ls",
    # files that are not known, or none
    "git diff > $x", "git diff > ~/.bashrc", "git diff > x*", "git diff > /dev/tcp/127.0.0.1/80", "ls <> x",
    "ls > >(rm x)", "ls < /dev/udp/a/1", "ls {x}> y", "ls >&$x", ">& -ls", ">& 'a$(ls)'", "ls <& x", "ls >& 1x",
    "ls &> x a", "ls &>> x 2>&1 a", "ls 10> x", "ls >& '\u0661'", "ls > /dev/sda", "ls a2>x",
    # forms that a grammar may read otherwise than a shell
    "echo $'\\x72m'", "$'rm' x", 'echo $"a"', "git diff\r\nrm x", "git diff\x0brm x", "git\u00a0diff", "ls é",
    "echo \x00", "ls \ud800", "echo `echo \\`rm x\\``", 'echo "`echo \\"a\\"`"', 'echo "a\\\nb"', "git di\\\nff",
    "git diff;#a", "case x in x) rm y;; esac", "select x in a; do rm x; done", "echo @(a|b)", "wc -2>l", "{ls;}",
    "cat <<EOF\nx\\\nEOF\nls\nEOF", "cat <<EOF\n\\$(rm x)\nEOF", "cat <<A <<B\nA\nB", "cat <<EOF; ls\nEOF",
    "cat <<EOF\nx", "cat <<E'O'F\nEOF", "cat <<\\EOF\nEOF", "cat <<EOF 'a\nb'\nEOF", "cat <<EOF x\nEOF",
    "foo -n<<A\nx\nA", "cat <<EOF\n\\$(ls) $x\nEOF", "cat <<EOF |\nx\nEOF\nls", "cat <<EOF && 'a\nb'\nEOF",
    "cat <<EOF # 'x\nEOF", "x=\\\n ls", "x=#a", "cat <<EOF\n`ls` $x\nEOF", "cat <<EOF $(ls)\nEOF",
    "cat <<EOF \\\nEOF\nls\nEOF", "echo ```ls a`", "cat <<EOF\n`rm x\n`\nEOF", "echo \"$(cat <<EOF\nx\nEOF)\"",
    # none at all
    "git diff (", "git diff )", "git diff '", 'git diff "', "git diff `", "git diff $(", "git diff &&", "| git diff",
    "if git diff", "; git diff", "ls \\",
    # what goes deeper than anyone would write
    f"[ {'! ' * 3000}x ]", f"[[ {'! ' * 3000}x ]]", f"[ {'a = ' * 2000}x ]", f"[[ {'a == ' * 1500}x ]]",
)  # fmt: skip


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize(("text", "commands"), TOLD.items())
def test_every_command_is_told_wherever_it_stands(text: str, commands: tuple[str, ...]) -> None:
    assert commands_of(text) == commands


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize("text", UNTOLD)
def test_nothing_is_told_where_not_all_can_be(text: str) -> None:
    assert commands_of(text) is None
    assert commands_of(f"git diff\n{text}") is None


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize("text", [text for text, told in TOLD.items() if told != ("git diff",)] + [*UNTOLD])
def test_a_rule_for_one_command_lets_no_other_pass_with_it(text: str) -> None:
    told = commands_of(f"git diff; {text}")
    rules = [PermissionRule(Effect.ALLOW, "bash", "git diff"), PermissionRule(Effect.ALLOW, "bash", "git diff *")]
    attempt = Attempt("bash", told, inside=False)
    verdict = judge(attempt, mode=Mode.DEFAULT, rules=rules, traits=TOOLS, confined=False, attended=True)
    only_it = told is not None and all(command.startswith("git diff") for command in told)
    assert (verdict.effect is Effect.ALLOW) is only_it


def test_no_variable_that_a_text_may_set_is_one_that_programs_are_given() -> None:
    assert commands_of("lang=x; path=y") == ()
    assert not any(is_variable(name) for name in PASSED)


def test_a_text_that_is_too_long_or_too_deep_is_not_told() -> None:
    assert commands_of("ls " + "a" * (MAX_CHARS - 3)) is not None
    assert commands_of("ls " + "a" * (MAX_CHARS - 2)) is None
    for opened, closed in (("( ", ")"), ("echo $(", ")"), ("if ls; then ", "; fi"), ("", " && ls"), ("nice ", "")):
        assert commands_of(opened * 10 + "ls" + closed * 10) is not None
        assert commands_of(opened * 500 + "ls" + closed * 500) is None


@given(st.lists(st.text("a \\'\"\n", max_size=3)), st.lists(st.text("a \\'\"\n", max_size=3)))
def test_two_commands_are_told_alike_only_if_their_words_are_the_same(one: list[str], other: list[str]) -> None:
    told = [" ".join(str(Word(word)) for word in words) for words in (one, other)]
    assert (told[0] == told[1]) is (one == other)
