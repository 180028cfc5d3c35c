"""Programs that run other programs.

`shell_commands` above hands over each command as its words. What only runs another command adds that one to what is
told, so that a rule is needed for both.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from deskmate.tools.shell.shell_words import Untold, Word

Words = Sequence[Word]
Parsed = Callable[[str], Iterable[str]]

_MAX_NESTED = 10
_NAME = re.compile(r"[A-Za-z0-9_./+@:%,\[][A-Za-z0-9_./+@:%,\]-]*")
_OWN_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED_WORDS = "case coproc do done elif else esac fi for function if in select then until while [[ ]]"
# Builtins that run what they are given, or change what later commands mean.
_CHANGING = (
    ". alias bind builtin compgen complete compopt declare enable eval exec export fc getopts hash history let local "
    "mapfile readarray readonly shopt source trap typeset unalias unset"
)
# Programs that run what they are given, in a way that is not looked into here.
_RUNNING = (
    "ash bwrap busybox capsh catchsegv cgexec choom chronic chroot chrt coresched csh daemonize dbus-run-session "
    "dumb-init eatmydata entr "
    "expect faketime fakeroot firejail fish flock gdb gosu hyperfine i386 ksh linux32 linux64 ltrace mksh nsenter "
    "numactl parallel perf pkexec prlimit proot proxychains rlwrap run0 runcon runuser screen script setarch "
    "setpriv sg ssh-agent start-stop-daemon strace su su-exec systemd-run taskset tcsh tini tmux torsocks toybox "
    "uclampset uname26 unbuffer unshare valgrind watch x86_64 xvfb-run zsh"
)
# The program that loads all others, and runs the one it is given: ld.so, ld-linux-x86-64.so.2, ld-musl-x86_64.so.1.
_LOADER = re.compile(r"ld[-\w.]*\.so[.\d]*")
_REBASE_EXEC = re.compile(r"--ex|-[a-zA-Z]*x")
_RESERVED, _CHANGES = frozenset(_RESERVED_WORDS.split()), frozenset(_CHANGING.split())
_RUNS = frozenset(_RUNNING.split())
_SHELLS = frozenset({"bash", "dash", "sh"})
_UNARY = frozenset(f"-{letter}" for letter in "bcdefghkLnOGNprsSuwxz")
_BINARY = frozenset({"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"})
# What stands between the `%` and the `n` may be flags, sizes and lengths.
_COUNTS = re.compile(r"%[^%A-Za-z]*[hjlLqtwz]*n")
_SET = re.compile(r"[-+](?:[eux]+o?|o)|pipefail|errexit|nounset|xtrace")


def is_variable(name: str) -> bool:
    """Tell whether a variable is sure to be one of the text's own.

    The shell has none in lower case, and neither has the environment that a command is given.
    """
    return bool(_OWN_NAME.fullmatch(name))


def is_name(text: str) -> bool:
    """Tell whether a command can be named like this without a doubt about what is meant."""
    return bool(_NAME.fullmatch(text)) and text not in _RESERVED


def told(words: Words, parsed: Parsed, nested: int = 0) -> Iterator[str]:
    """Yield a command and those that it runs; raise Untold.

    `parsed`: returns the commands of another shell text. `nested`: how many commands run this one.
    """
    if not words or nested > _MAX_NESTED:
        raise Untold
    name, *rest = words
    if name.open or not is_name(name.text):
        raise Untold
    if name.text in _CHANGES or not _CHECKS.get(name.text, _is_fine)(rest):
        raise Untold
    program = _program(name.text)
    if program in _RUNS or _LOADER.fullmatch(program) or (program == "git" and _git_runs_others(rest)):
        raise Untold
    yield " ".join(map(str, words))
    for inner in _inner(program, rest):
        yield from told(inner, parsed, nested + 1)
    if program in _SHELLS:
        yield from _of_shell(rest, parsed)


def runs_others(words: Words) -> bool:
    """Tell whether a command may run what it is given, by its program or builtin, or by what git is told to do."""
    program = words[0].text.rpartition("/")[2]
    running = _RUNS | _SHELLS | _CHANGES | _WRAPPERS.keys() | {"coproc", "find", "jobs"}
    return program in running or bool(_LOADER.fullmatch(program)) or (program == "git" and _git_runs_others(words[1:]))


def _git_runs_others(rest: Words) -> bool:
    """Tell whether git is asked to run a command: for each submodule, each step of a rebase, each try of a bisect."""
    texts = [word.text for word in rest]
    return (
        ("submodule" in texts and "foreach" in texts)
        or ("bisect" in texts and "run" in texts)
        or ("rebase" in texts and any(_REBASE_EXEC.match(text) for text in texts))
    )


def _program(name: str) -> str:
    """Return which program is meant by a name or its path; none by the path of a file below the folder it runs in."""
    *folders, program = name.split("/")
    is_below = bool(folders) and folders[0] != "" and ".." not in folders
    return "" if is_below else program


# -- the shell's own ------------------------------------------------------------------------------


def _is_fine(rest: Words) -> bool:
    return True


def is_plain_test(rest: Words) -> bool:
    """Tell whether these words for `test` only look: some of its operators evaluate what they are given."""
    if rest and rest[0] == Word("!"):
        rest = rest[1:]
    if any(word.many for word in rest):
        return False
    match rest:
        case [] | [_]:
            return True
        case [Word(text=unary, open=False), _]:
            return unary in _UNARY
        case [_, Word(text=binary, open=False), _]:
            return binary in _BINARY
        case _:
            return False


def _is_plain_bracket(rest: Words) -> bool:
    return bool(rest) and rest[-1] == Word("]") and is_plain_test(rest[:-1])


def _is_plain_read(rest: Words) -> bool:
    names = rest[1:] if rest and rest[0] == Word("-r") else rest
    return all(not word.open and is_variable(word.text) for word in names)


def _is_plain_set(rest: Words) -> bool:
    return bool(rest) and all(not word.open and _SET.fullmatch(word.text) for word in rest)


def _only(allowed: str) -> Callable[[Words], bool]:
    """Return what tells whether all words are sure to be of a form."""
    form = re.compile(allowed)
    return lambda rest: all(not word.open and form.fullmatch(word.text) for word in rest)


def _is_plain_printf(rest: Words) -> bool:
    """Tell whether `printf` only prints: `-v` and a `%n` in its format set a variable."""
    words = rest[1:] if rest[:1] == [Word("--")] else rest
    if rest and rest[0].text.startswith("-v"):
        return False
    return not words or not (words[0].open or _COUNTS.search(words[0].text))


_CHECKS: Mapping[str, Callable[[Words], bool]] = {
    "[": _is_plain_bracket,
    "test": is_plain_test,
    "read": _is_plain_read,
    "set": _is_plain_set,
    "printf": _is_plain_printf,
    # An option of `wait` sets a variable; `-x` of `jobs` runs a command, also among other letters.
    "wait": _only(r"(?:%|[A-Za-z0-9_]).*"),
    "jobs": _only(r"-[lnprs]+|%.*|[0-9]+"),
}


# -- those that run others ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """How a program that runs another is called: its options, those with a value of their own, words before it."""

    options: str = r"(?!)"
    valued: frozenset[str] = frozenset()
    words: int = 0


_XARGS = _Wrapper(
    r"-[0rtx]+|-[nPLs][0-9]+|-I.+|--null|--no-run-if-empty", frozenset({"-n", "-P", "-L", "-s", "-d", "-I"})
)
_WRAPPERS: Mapping[str, _Wrapper] = {
    "command": _Wrapper("-p"),
    "doas": _Wrapper(),
    "env": _Wrapper("-i|-", frozenset({"-u"})),
    "ionice": _Wrapper("-c[0-3]|-n[0-7]|-t", frozenset({"-c", "-n"})),
    "nice": _Wrapper("-[0-9]+|-n-?[0-9]+", frozenset({"-n"})),
    "nohup": _Wrapper(),
    "setsid": _Wrapper("-[cfw]+"),
    "stdbuf": _Wrapper("-[ioe][0-9LKM]+"),
    "sudo": _Wrapper("-n"),
    "time": _Wrapper("-p"),
    "timeout": _Wrapper("--foreground|--preserve-status|-v|-[ks][A-Z0-9a-z.]+", frozenset({"-k", "-s"}), words=1),
    "xargs": _XARGS,
}
_INPUTS = ("-", "+", "/dev/", "/proc/")
_EXECS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def _inner(program: str, rest: Words) -> Iterator[Words]:
    """Yield the commands that a command runs."""
    if program == "find":
        yield from _of_find(rest)
    elif program == "command" and rest and rest[0].text in ("-v", "-V"):
        return
    elif wrapper := _WRAPPERS.get(program):
        own, inner = _parted(wrapper, rest)
        if inner:
            yield _fed(own, inner) if program == "xargs" else inner


def _parted(wrapper: _Wrapper, rest: Words) -> tuple[Words, Words]:
    """Return the words for a program itself, and those of the command that it runs."""
    at = 0
    while at < len(rest) and rest[at].text.startswith("-"):
        if rest[at].text in wrapper.valued:
            at += 1
        elif not re.fullmatch(wrapper.options, rest[at].text):
            raise Untold
        at += 1
    at += wrapper.words
    # Whatever may come to several words, or to none, may be the command itself.
    if any(word.open for word in rest[: at + 1]):
        raise Untold
    return rest[:at], rest[at:]


def _fed(own: Words, inner: Words) -> Words:
    """Return a command as xargs runs it: with what it reads in place of a mark or, without one, behind it."""
    options = [word.text for word in own]
    marks = [option[2:] or after for option, after in pairwise([*options, ""]) if option.startswith("-I")]
    if not marks:
        return [*inner, Word("", open=True, many=True)]
    # With a mark and a number of words or lines xargs obeys the later option. Without a mark it appends what it reads.
    if not all(marks) or any(option.startswith(("-n", "-L")) for option in options):
        raise Untold
    # Which of several marks counts is not looked into: each may.
    for mark in marks:
        inner = [word.with_hole_at(mark) for word in inner]
    return inner


def _of_find(rest: Words) -> Iterator[Words]:
    if any(word.open for word in rest):
        raise Untold
    command: list[Word] | None = None
    for word in rest:
        if command is None:
            command = [] if word.text in _EXECS else None
        elif word.text == ";" or (word.text == "+" and command[-1:] == [Word("{}")]):
            # Where `-exec` is itself the value of an option, another one begins what is run.
            if not command or command[0].text == "," or any(one.text in _EXECS for one in command):
                raise Untold
            yield [one.with_hole_at("{}") for one in command]
            command = None
        else:
            command.append(word)
    if command is not None:
        raise Untold


def _of_shell(rest: Words, parsed: Parsed) -> Iterable[str]:
    """Return the commands of a text that a shell is given; none where it is given a file."""
    at = 0
    while at < len(rest) and re.fullmatch(r"-[eux]+", rest[at].text) and not rest[at].open:
        at += 1
    match rest[at:]:
        case [Word(text=option, open=False), Word(text=text, open=False), *_] if re.fullmatch("-[eux]*c", option):
            # There may be options after `-c`, and then the text to run comes after them.
            if text.startswith(("-", "+")):
                raise Untold
            return parsed(text)
        case [Word(text=file, open=False), *_] if file and not file.startswith(_INPUTS):
            return ()
        case _:
            # It would read what to do from its input.
            raise Untold
