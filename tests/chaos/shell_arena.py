"""A place where shell texts are run for real and every command that comes of it is noted, and texts to run there."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from hypothesis import strategies as st

from deskmate.core.policy.patterns import HOLE
from deskmate.tools.shell.shell_words import Word

SECONDS = 5
NOTED = ("git", "ls", "rm", "cat", "wc", "make", "a", "b", "c")
REAL = ("bash", "env", "find", "ionice", "nice", "nohup", "setsid", "sh", "stdbuf", "timeout", "xargs")
FILES = {"f1": "x y\n", "f2": "x\ny\n"}
SCRIPT = re.compile(r"^(?:bash|sh)(?: -[eux]+)* (?=[^-])")
# Notes its words behind their number, prints something, and comes to something or not.
NOTER = """#!/bin/sh
printf '%s\\0' "$#" "${0##*/}" "$@" >> "$NOTES"
echo 'x y'; echo z
exit $(($$ % 2))
"""
# For names that nothing has.
UNKNOWN = 'command_not_found_handle() { printf "%s\\0" "$(($# - 1))" "$@" >> "$NOTES"; }\n'


@dataclass
class Arena:
    """A folder of programs that only note how they were called, and one to run shell texts in."""

    place: Path
    runs: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        (self.place / "bin").mkdir()
        for name in NOTED:
            (self.place / "bin" / name).write_text(NOTER)
            (self.place / "bin" / name).chmod(0o755)
        for name in REAL:
            (self.place / "bin" / name).symlink_to(shutil.which(name) or "/nonexistent")
        (self.place / "unknown.sh").write_text(UNKNOWN)

    def violations(self, text: str, told: tuple[str, ...], shell: str = "bash") -> list[str]:
        """Have a shell run a text; return what it ran and which files it made that were not told."""
        # Of its own: what outlives its run must not be taken for another's.
        notes, folder = self.place / f"notes-{next(self.runs)}", self.place / "work"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, content in FILES.items():
            (folder / name).write_text(content)
        notes.touch()
        self._run(shell, text, folder, notes)
        ran = [" ".join(str(Word(word)) for word in words) for words in _noted(notes.read_bytes())]
        made = [f"> {Word(str(path.relative_to(folder)))}" for path in folder.rglob("*") if path.name not in FILES]
        notes.unlink()
        return [one for one in ran if not _is_told(one, told)] + [one for one in made if one not in told]

    def _run(self, shell: str, text: str, folder: Path, notes: Path) -> None:
        environ = {
            "PATH": str(self.place / "bin"),
            "HOME": str(folder),
            "NOTES": str(notes),
            "BASH_ENV": str(self.place / "unknown.sh"),
            # So that no function calls itself for ever.
            "FUNCNEST": "4",
        }
        process = subprocess.Popen(
            [self.place / "bin" / shell, "-c", text],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _noted(data: bytes) -> list[list[str]]:
    parts, noted = data.decode(errors="surrogateescape").split("\0")[:-1], []
    while parts:
        words = int(parts[0]) + 2
        noted.append(parts[1:words])
        parts = parts[words:]
    return noted


def _is_told(command: str, told: tuple[str, ...]) -> bool:
    # What a shell is given as a script notes itself without the shell.
    forms = (*told, *(SCRIPT.sub("", one) for one in told))
    return any(re.fullmatch(_pattern(one), command, re.DOTALL) for one in forms)


def _pattern(told: str) -> str:
    """Return what a command may come to: a hole may be anything, as a whole word also none."""
    return re.escape(told).replace(re.escape(f" {HOLE}"), "(?: .*)?").replace(re.escape(HOLE), ".*")


# -- texts ----------------------------------------------------------------------------------------

STATEMENTS = (
    "git diff", "ls -l f1", "rm x", "a", "b c", "cat f1", "make", "wc -l", "echo hi", "a 'x y'", 'b "$x"', "c $x",
    "true", "git log *", "a {1,2}", "cat < f1", "a > out", "b 2>/dev/null", "c >&2", "x=1", "x=$(a b)", 'echo "$(b)"',
    "`c`", "$(a)", "echo `b c`", "[ -f f1 ]", "[[ -n $x ]]", "(a; b)", "{ a; b; }", "if a; then b; else c; fi",
    "f() { a; }", "for i in 1 2; do a $i; done", "while a; do b; done", "! a", "time a b", "env a b",
    "xargs -n1 rm < f2", "set -e", "xargs -I{} a {} x{} < f2", "find . -exec a {} \\;",
    "find . -name 'f*' -exec b {} +", "bash -c 'a; b c'", "cd .", 'sh -c "a b"', "timeout 5 a", "nice -n 5 b",
    "cat <<EOF\nx $(a b)\nEOF\n", "cat <<'EOF'\nrm x $(rm y)\nEOF\n", "cat <<-EOF\n\tx\n\tEOF\n", 'a <<< "$(b)"',
    "a <(b c) >(wc)", "# rm x\n", "a # rm x\n", "a \\\n  b", "command a", "read -r x < f1", "printf '%s' \"$x\"",
    "git commit -m \"$(cat <<'EOF'\nit's\nEOF\n)\"", 'y="$(rm z)"',
)  # fmt: skip
PIECES = (
    *NOTED, "x", "-f", "f1", "out", ";", "&", "&&", "||", "|", "|&", "(", ")", "{", "}", "$(", "`", "<(", ">(", ">",
    ">>", "<", "2>", "2>&1", ">&2", "&>", ">&", "/dev/null", "<<<", "\n", "\\\n", "\\", "'", '"', "$'", '$"', "$x",
    "${x}", "$1", "$@", '"$@"', "$IFS", "*", "?", "[a]", "{a,b}", "{}", "{1..3}", "~", "#", "# c", "!", "=", "x=1",
    "y=$(b)", "PATH=x", "if", "then", "else", "elif", "fi", "for i in", "in", "do", "done", "while", "until", "case",
    "esac", ";;", "a()", "function", "g", "[[", "]]", "[", "]", "==", "=~", "time", "xargs", "env", "timeout 5",
    "find . -exec", "\\;", "+", "bash -c", "sh -c", "eval", "command", "exec", "'a b'", '"a b"', "'rm x'",
    "'a; rm x'", "$((1+1))", "((", "))", "\t", "\r", "\x0b", "\u00a0", "é", "a#b", "$#", "$$", "\\ ", "\\a", "'l's",
    'a"b"', "r\\m", "<<EOF", "<<'EOF'", "<<-EOF", "\nEOF\n", "EOF", "\nx\n", "\n\tEOF\n", "\\\nEOF\n", '"$x"',
    '"$(b)"', '"`b`"', "%", "@", "^", ",", "-", "--", "1", "2", "3>", "&-", ">&-", "set -k", "read -r x", "printf %s",
    ":", "echo", "coproc", "select", "$[1]", "${x:-$(a)}", "${!x}", '"\\"', "<<A", "\nA\n", "<<A <<B", "x\\\nA\n",
    "$'a'", "jobs -r", "jobs -rx", "jobs -lx a", "wait -n", "xargs -I{}", "-L1", "-I", "+x", "bash -c +x", "setsid",
    "nice -5", "stdbuf -oL", "ionice -c3", "cd ..", "../a", "strace",
    "{a", "a}", "=a", "a=", "-c", "-n", "2>out", "{x}>out", "<>out", ">out", "<f1", "<&0", ">& out", "1>&2",
)  # fmt: skip
# Text that is only text, and would be run by whatever evaluates it.
SLEEPERS = (
    "'$(rm x)'",
    "'a[$(rm x)]'",
    "'`rm x`'",
    "\\$\\(rm\\)",
    "'{rm,x}'",
    "'; rm x'",
    "x='a[$(rm x)]'",
    "x='$(rm x)'",
)
WAKERS = (
    "[", "]", "[[", "]]", "test", "printf", "read", "wait", "type", "cd", "set", ":", "echo", "shift", "exit",
    "ulimit", "time", "umask", "pushd", "dirs", "disown", "jobs", "command", "-v", "-eq", "-n", "-t", "=", "!", "$x",
    '"$x"', ">", "<", ">&", "<<<", "%d", "%b", "-p", "-r", "1", ";", "&&", "read -r x <<<", "for x in", "; do",
    "; done", "cat <<EOF\n$x\nEOF\n",
)  # fmt: skip
# Programs that run others, and their options in any order, bundled and as values of each other.
WRAPPERS = (
    "xargs", "bash", "sh", "env", "timeout", "nice", "stdbuf", "setsid", "ionice", "nohup", "command", "find .", "jobs",
    "printf", "time", "wait", "read", "set", "\\time", "builtin", "exec",
)  # fmt: skip
OPTIONS = (
    "-I{}", "-I", "{}", "x{}", "-L1", "-L", "-n1", "-n", "-s99", "-s", "-0", "-r", "-t", "-x", "-rt", "-0I{}", "-tn1",
    "-d", "-P2", "-i", "-c", "-ec", "-cx", "-ce", "+x", "+e", "-x", "+c", "--", "-", "-u", "-k", "5", "-v", "-pv", "-p",
    "-f", "-w", "-fw", "-oL", "-o", "L", "-5", "-c2", "2", "-exec", "-execdir", "-ok", "\\;", "';'", "+", "-name",
    "-rx", "-lx", "-l", "'a b'", "'rm x'", "'a; rm {}'", "x=1", "-S", "-a", "--foreground", "--null", "--replace={}",
)  # fmt: skip
GAPS = (" ", " ", " ", "", "\n", "\\\n", " \\\n")
JOINTS = ("; ", " && ", " || ", " | ", " |& ", " & ", "\n", ";", "&&", "|", "\n\n")
AROUND = (
    "$({})",
    "({})",
    "{{ {}; }}",
    '"{}"',
    "'{}'",
    "`{}`",
    "bash -c '{}'",
    'echo "{}"',
    "if {}; then a; fi",
    "<({})",
)

_INSERTED = [one.replace("{", "{{").replace("}", "}}") for one in (*PIECES, *"\\'\"`$(){}<>|&;#\n \t!*?[]=~")]
# In place of a part of a text: something else, the same with something before it, or with something around it.
_ALTERATIONS = st.sampled_from([*_INSERTED, *(f"{one}{{}}" for one in _INSERTED), *AROUND * 10])

_soups = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(GAPS)), min_size=1, max_size=9).map(
    lambda pairs: "".join(piece + gap for piece, gap in pairs)
)
_joined = st.lists(st.tuples(st.sampled_from(STATEMENTS), st.sampled_from(JOINTS)), min_size=1, max_size=4).map(
    lambda pairs: "".join(statement + joint for statement, joint in pairs)[: -len(pairs[-1][1])]
)


@st.composite
def _altered(draw: st.DrawFn) -> str:
    text = draw(_joined)
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        text = text[:start] + draw(_ALTERATIONS).format(text[start:end]) + text[end:]
    return text


_evaluated = st.lists(st.sampled_from([*SLEEPERS * 3, *WAKERS]), min_size=2, max_size=8).map(" ".join)

_wrapped = st.builds(
    lambda wrapper, options, rest: " ".join([wrapper, *options, rest]),
    st.sampled_from(WRAPPERS),
    st.lists(st.sampled_from([*OPTIONS, *WRAPPERS[:6]]), max_size=4),
    st.sampled_from(["a", "git diff", "rm x < f2", "a {} < f2", "git diff < f2", "'a; rm x'", "b | xargs c", "a \\;"]),
)

TEXTS = _altered() | _soups | _evaluated | _wrapped
