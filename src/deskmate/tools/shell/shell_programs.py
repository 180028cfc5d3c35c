"""Programs that run other programs.

If a command only runs another one, that command is added to the result. So a permission rule is needed for both.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from deskmate.core.values import frozen
from deskmate.tools.shell.shell_words import Untold, Word

Words = Sequence[Word]
Parsed = Callable[[str], Iterable[str]]

_MAX_NESTED = 10
_NAME = re.compile(r"[A-Za-z0-9_./+@:%,\[][A-Za-z0-9_./+@:%,\]-]*")
_OWN_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED_WORDS = "case coproc do done elif else esac fi for function if in select then until while [[ ]]"
# Builtins that run their arguments, or change what later commands mean.
_CHANGING = (
    ". alias bind builtin compgen complete compopt declare enable eval exec export fc getopts hash history let local "
    "mapfile readarray readonly shopt source trap typeset unalias unset"
)
# Programs that run their arguments in a way that is not analysed here.
_RUNNING = (
    "ash bwrap busybox capsh catchsegv cgexec choom chronic chroot chrt coresched csh daemonize dbus-run-session "
    "dumb-init eatmydata entr "
    "expect faketime fakeroot firejail fish flock gdb gosu hyperfine i386 ksh linux32 linux64 ltrace mksh nsenter "
    "numactl parallel perf pkexec prlimit proot proxychains rlwrap run0 runcon runuser screen script setarch "
    "setpriv sg ssh-agent start-stop-daemon strace su su-exec systemd-run taskset tcsh tini tmux torsocks toybox "
    "uclampset uname26 unbuffer unshare valgrind watch x86_64 xvfb-run zsh"
)
# The dynamic loader, which runs the program it is given: ld.so, ld-linux-x86-64.so.2, ld-musl-x86_64.so.1.
_LOADER = re.compile(r"ld[-\w.]*\.so[.\d]*")
_REBASE_EXEC = re.compile(r"--ex|-[a-zA-Z]*x")
_RESERVED, _CHANGES = frozenset(_RESERVED_WORDS.split()), frozenset(_CHANGING.split())
_RUNS = frozenset(_RUNNING.split())
_SHELLS = frozenset({"bash", "dash", "sh"})
_UNARY = frozenset(f"-{letter}" for letter in "bcdefghkLnOGNprsSuwxz")
_BINARY = frozenset({"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"})
# Flags, sizes and lengths may be between the `%` and the `n`.
_COUNTS = re.compile(r"%[^%A-Za-z]*[hjlLqtwz]*n")
_SET = re.compile(r"[-+](?:[eux]+o?|o)|pipefail|errexit|nounset|xtrace")


def is_variable(name: str) -> bool:
    """Tell whether a variable certainly belongs to the text itself.

    Neither the shell nor the environment of a command has variables in lower case.
    """
    return bool(_OWN_NAME.fullmatch(name))


def is_name(text: str) -> bool:
    """Tell whether a text is certainly the name of a command."""
    return bool(_NAME.fullmatch(text)) and text not in _RESERVED


def told(words: Words, parsed: Parsed, nested: int = 0) -> Iterator[str]:
    """Yield a command and those that it runs. Raises Untold if that is unclear.

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
    """Tell whether a command may run its arguments, because of its program or builtin, or a git subcommand."""
    program = words[0].text.rpartition("/")[2]
    running = _RUNS | _SHELLS | _CHANGES | _WRAPPERS.keys() | {"coproc", "find", "jobs"}
    return program in running or bool(_LOADER.fullmatch(program)) or (program == "git" and _git_runs_others(words[1:]))


def _git_runs_others(rest: Words) -> bool:
    """Tell whether git runs a command: for each submodule, each step of a rebase, each step of a bisect."""
    texts = [word.text for word in rest]
    return (
        ("submodule" in texts and "foreach" in texts)
        or ("bisect" in texts and "run" in texts)
        or ("rebase" in texts and any(_REBASE_EXEC.match(text) for text in texts))
    )


def _program(name: str) -> str:
    """Return the program of a name or path. Empty for a relative path below the folder it runs in."""
    *folders, program = name.split("/")
    is_below = bool(folders) and folders[0] != "" and ".." not in folders
    return "" if is_below else program


# -- the shell's own ------------------------------------------------------------------------------


def _is_fine(rest: Words) -> bool:
    return True


def is_plain_test(rest: Words) -> bool:
    """Tell whether these arguments of `test` only look. Some operators evaluate their operands."""
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
    """Return a check that all words certainly match a pattern."""
    form = re.compile(allowed)
    return lambda rest: all(not word.open and form.fullmatch(word.text) for word in rest)


def _is_plain_printf(rest: Words) -> bool:
    """Tell whether `printf` only prints. `-v` and a `%n` in its format set a variable."""
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
    # An option of `wait` sets a variable. `-x` of `jobs` runs a command, also if combined with other letters.
    "wait": _only(r"(?:%|[A-Za-z0-9_]).*"),
    "jobs": _only(r"-[lnprs]+|%.*|[0-9]+"),
}


# -- those that run others ------------------------------------------------------------------------


@frozen
class _Wrapper:
    """How a program that runs another is called.

    `valued`: options with a value. `words`: words before the command. `once`: it takes only one option.
    """

    options: str = r"(?!)"
    valued: frozenset[str] = frozenset()
    words: int = 0
    once: bool = False


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
    # In bash it is a word of the language: a second `-p` is the command.
    "time": _Wrapper("-p", once=True),
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
    """Return the words for the program itself, and those of the command that it runs."""
    at = 0
    while at < len(rest) and rest[at].text.startswith("-"):
        if at and wrapper.once:
            raise Untold
        if rest[at].text in wrapper.valued:
            at += 1
        elif not re.fullmatch(wrapper.options, rest[at].text):
            raise Untold
        at += 1
    at += wrapper.words
    # A word that may expand to several words, or to none, may be the command itself.
    if any(word.open for word in rest[: at + 1]):
        raise Untold
    return rest[:at], rest[at:]


def _fed(own: Words, inner: Words) -> Words:
    """Return a command as xargs runs it: its input replaces a mark or, without a mark, comes after the command."""
    options = [word.text for word in own]
    marks = [option[2:] or after for option, after in pairwise([*options, ""]) if option.startswith("-I")]
    if not marks:
        return [*inner, Word("", open=True, many=True)]
    # With a mark and a number of words or lines, xargs obeys the later option. Without a mark it appends its input.
    if not all(marks) or any(option.startswith(("-n", "-L")) for option in options):
        raise Untold
    # Any of several marks may be the one that counts.
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
            # If `-exec` is the value of an option, another `-exec` starts the command.
            if not command or command[0].text == "," or any(one.text in _EXECS for one in command):
                raise Untold
            yield [one.with_hole_at("{}") for one in command]
            command = None
        else:
            command.append(word)
    if command is not None:
        raise Untold


def _of_shell(rest: Words, parsed: Parsed) -> Iterable[str]:
    """Return the commands of a text that is passed to a shell, or none if it is passed a file."""
    at = 0
    while at < len(rest) and re.fullmatch(r"-[eux]+", rest[at].text) and not rest[at].open:
        at += 1
    match rest[at:]:
        case [Word(text=option, open=False), Word(text=text, open=False), *_] if re.fullmatch("-[eux]*c", option):
            # There may be options after `-c`. Then the text to run comes after them.
            if text.startswith(("-", "+")):
                raise Untold
            return parsed(text)
        case [Word(text=file, open=False), *_] if file and not file.startswith(_INPUTS):
            return ()
        case _:
            # The shell would read its commands from stdin.
            raise Untold
