"""The tutorial and the how-to pages are typed, block by block, and must print what they show.

Three kinds of block count: `sh` runs to its end, `python` is saved under the name in its first line, and of `console`
each command is typed and its output compared. One whose first line is a comment is a terminal of its own: what it
prints is waited for, not its end. All else on the pages is for reading. The model is that of
`examples/tutorial_script.py`. `test_docs` beside checks links and the other snippets.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.test_docs import DOCS, ROOT, Snippet, names, page, section, snippets
from tests.warm_program import warm_command, warm_socket

SECONDS = 60
HOW_TO = sorted(path for path in (DOCS / "how-to").glob("*.md") if "```console\n" in path.read_text(encoding="utf-8"))
RUN_TEAM = "echo 0 > pause.txt; deskmate run - --new-team kelvin --permission-mode dontAsk < goal.txt"
_CHANGES = re.compile(r"deskmate (run|resume|--continue|send|stop|board (add|assign|done|drop))\b|kill ")
# What differs from one run to the next, or from one machine to the next.
_VARIES = (
    (r"\b\d+ +[\d,]+ +\d+ +\$\S+", "so many"),
    (r"\b\d+ (s|min)\b", "a while"),
    (r"\$\d+\.\d+", "so much"),
    (r"\bprocess \d+", "process"),
    (r"[\d,]+ tokens in, \d+ out", "so many"),
    (r"\d+ earlier entries are not shown. To see all, add: -n \d+", "some entries"),
    (r"\(coder:\d+\.0\)", "(a call)"),
    (r"^0\.\d+$", "so much"),
    (r"\bin \d+\.\d+s", "in a moment"),
    (r"http://127\.0\.0\.1:\d+", "an address"),
    (r"\S*/convert\b", "the folder"),
)

# Tokens and costs: in a sum, in a table, and anywhere.
_FIGURES = (
    re.compile(r"([\d,]+) tokens in, (\d+) out"),
    re.compile(r" \d+ +([\d,]+) +(\d+) +\$"),
    re.compile(r"\$(\d+\.\d+)"),
)


# -- reading a page -------------------------------------------------------------------------------


class Typed(NamedTuple):
    """What a page has its reader type, and what it shows below."""

    command: str
    shown: str


@dataclass(frozen=True)
class Console:
    """A block that shows a terminal. `terminal`: what its first line says of where it is, if it stays open."""

    terminal: str
    typed: tuple[Typed, ...]


def console(text: str) -> Console:
    head, commands = "", list[Typed]()
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append(Typed(line[2:], ""))
        elif commands:
            commands[-1] = commands[-1]._replace(shown=f"{commands[-1].shown}{line}\n")
        else:
            head = line.removeprefix("# ")
    return Console(head, tuple(commands))


def alike(text: str) -> Mapping[str, list[str]]:
    """Return the lines of a text by who says them, without what differs from run to run: agents work side by side."""
    found = defaultdict[str, list[str]](list)
    # A wait for an answer may be over before anybody sees it.
    for line in (line for line in text.splitlines() if line.strip() and not line.endswith(" waiting: plan")):
        for pattern, stands_for in _VARIES:
            line = re.sub(pattern, stands_for, line)
        words = line.split()
        found[words[0] if "@" in words[0] else ""].append(" ".join(words))
    return found


def far_figures(printed: str, shown: str) -> list[tuple[float, float]]:
    """Return the tokens and costs of two texts, in order, that differ by more than a tenth."""
    pairs = zip(_figures(printed), _figures(shown), strict=True)
    return [(one, other) for one, other in pairs if abs(one - other) > max(one, other) / 10]


def _figures(text: str) -> list[float]:
    found = [number for pattern in _FIGURES for match in pattern.finditer(text) for number in match.groups()]
    return [float(number.replace(",", "")) for number in found]


# -- a reader -------------------------------------------------------------------------------------


@dataclass
class Reader:
    """Types a page: a folder, an environment that lasts from block to block, and terminals that stay open.

    `real`: the value in this run of a number or an address that the page shows. `inherited`: files that commands have
    open. `seconds`: how long a block may take.
    """

    folder: Path
    environ: Mapping[str, str]
    stack: ExitStack
    patience_seconds: float = SECONDS
    real: dict[str, str] = field(default_factory=dict)
    compares_figures: bool = False
    inherited: tuple[int, ...] = ()
    seconds: float = SECONDS

    def follow(self, text: str) -> None:
        for snippet in snippets(text):
            if snippet.language == "console":
                self._watch(console(snippet.text))
            elif snippet.language in ("sh", "python"):
                self._do(snippet)

    def _do(self, snippet: Snippet) -> None:
        if snippet.language == "python":
            name = snippet.text.split()[1]
            (self.folder / "convert" / name).write_text(snippet.text, encoding="utf-8")
            return
        ended = self._shell(snippet.text)
        assert ended.returncode == 0, f"{snippet.text}\n{ended.stdout}"

    def _watch(self, block: Console) -> None:
        for typed in block.typed:
            if block.terminal or "^C" in typed.shown:
                self._open(typed, ROOT if "clone" in block.terminal else None)
            else:
                self._compare(typed)

    def _compare(self, typed: Typed) -> None:
        """Type a command until it prints what the page shows; once, where it changes anything."""
        deadline = time.monotonic() + self.patience_seconds
        while True:
            printed = self._shell(self._really(typed.command)).stdout
            if self._is_alike(printed, typed.shown) or _CHANGES.match(typed.command) or time.monotonic() > deadline:
                break
        self._learn(typed, printed)

    def _open(self, typed: Typed, place: Path | None) -> None:
        """Type a command in a terminal that stays open, until it has printed what the page shows."""
        paper = self.folder / f"terminal-{len(list(self.folder.glob('terminal-*')))}"
        with paper.open("wb") as out:
            process = subprocess.Popen(
                self._script(f"{f'cd {shlex.quote(str(place))};' if place else ''} exec {typed.command}"),
                stdin=subprocess.PIPE if place else None,
                stdout=out,
                stderr=subprocess.STDOUT,
                pass_fds=self.inherited,
            )
        self.stack.callback(_end, process)
        deadline = time.monotonic() + self.patience_seconds
        shown = typed.shown.replace("^C\n", "")
        while alike(paper.read_text()) != alike(shown) and time.monotonic() < deadline:
            time.sleep(0.05)
        self._learn(Typed(typed.command, shown), paper.read_text())
        if shown != typed.shown:
            process.send_signal(signal.SIGINT)
            process.wait(SECONDS)

    def _learn(self, typed: Typed, printed: str) -> None:
        """Hold what was printed against what is shown, and keep the number or address that the page names otherwise."""
        assert alike(printed) == alike(typed.shown), f"{typed.command}\n{printed}"
        assert self._is_alike(printed, typed.shown), f"{typed.command}\n{printed}"
        for pattern in (r"http://127\.0\.0\.1:\d+", r"(?<=process )\d+"):
            for shown, real in zip(re.findall(pattern, typed.shown), re.findall(pattern, printed), strict=True):
                self.real[shown] = real

    def _is_alike(self, printed: str, shown: str) -> bool:
        """Return whether the words are the same and, if they are compared, the figures nearly."""
        return alike(printed) == alike(shown) and not (self.compares_figures and far_figures(printed, shown))

    def _really(self, command: str) -> str:
        for shown, real in self.real.items():
            command = command.replace(shown, real)
        return command

    def _shell(self, commands: str) -> "subprocess.CompletedProcess[str]":
        """Run commands to their end; the folder and the environment they leave are those of the next ones.

        If they take too long, everything that they started ends too: a shell alone would leave a team at work.
        """
        keep = f"export -p > {self._state}; pwd | sed 's/.*/cd &/' >> {self._state}"
        with subprocess.Popen(
            self._script(f"{self._really(commands)}\n{keep}"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            pass_fds=self.inherited,
            start_new_session=True,
        ) as process:
            try:
                printed, _ = process.communicate(timeout=self.seconds)
            except subprocess.TimeoutExpired:
                # A program that gets this ends its commands. It has a moment to do so.
                os.killpg(process.pid, signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    process.communicate(timeout=5)
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise
        return subprocess.CompletedProcess(commands, process.returncode, printed)

    def _script(self, commands: str) -> list[str]:
        before = f". {self._state}" if self._state.exists() else f"cd {shlex.quote(str(self.folder))}"
        return [
            "env",
            "-i",
            *(f"{name}={value}" for name, value in self.environ.items()),
            "bash",
            "-euc",
            f"{before}\n{commands}",
        ]

    @property
    def _state(self) -> Path:
        return self.folder / "state.sh"


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End what stands in a terminal; a provider that had to complain about what it was asked fails the test."""
    if process.stdin:
        process.stdin.close()
        assert process.wait(SECONDS) == 0
    # Not SIGKILL: the warm process that runs the program has to pass the signal on.
    process.terminate()
    process.wait(SECONDS)


@contextmanager
def reader(folder: Path, patience_seconds: float = SECONDS, *, warm: bool = False) -> Iterator[Reader]:
    """Have a reader. `warm`: each `deskmate` is a run of the warm process, not the installed program."""
    home, programs = folder / "home", folder / "programs"
    home.mkdir()
    programs.mkdir()
    inherited: tuple[int, ...] = ()
    if warm:
        warm_command(programs / "deskmate")
        inherited = (warm_socket(),)
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8"}
    with ExitStack() as stack:
        yield Reader(folder, environ, stack, patience_seconds, inherited=inherited)


# -- the pages ------------------------------------------------------------------------------------


def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    with reader(tmp_path) as typist:
        typist.compares_figures = True
        typist.follow(page("tutorial.md"))


@pytest.mark.parametrize("path", HOW_TO, ids=names(HOW_TO))
def test_a_how_to_page_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    if not shutil.which("jq"):
        pytest.skip("jq is not installed")
    tutorial = page("tutorial.md")
    # The tutorial has typed the installed program.
    with reader(tmp_path, warm=True) as typist:
        typist.follow(section(tutorial, "Set up"))
        if path.name in ("files.md", "roles.md", "watch.md"):
            typist.follow(section(tutorial, "One agent") + _goal(tutorial))
            typist.follow(f"```sh\n{RUN_TEAM}\n```\n")
        typist.follow(path.read_text(encoding="utf-8"))


def _goal(text: str) -> str:
    """Return the block of the tutorial that writes down what the team is to do."""
    return next(
        f"```sh\n{snippet.text}```\n" for snippet in snippets(section(text, "A team")) if snippet.language == "sh"
    )


# -- planted mistakes -----------------------------------------------------------------------------


def test_the_pages_that_are_typed_are_these() -> None:
    assert [path.name for path in HOW_TO] == [
        "files.md",
        "headless.md",
        "resume.md",
        "roles.md",
        "watch.md",
    ]


@pytest.mark.parametrize(
    "block",
    [
        "```sh\nfalse\ntrue\n```\n",
        "```console\n$ echo one\ntwo\n```\n",
        "```console\n$ echo one\n```\n",
        "```console\n$ true\none\n```\n",
        "```console\n# terminal 1\n$ sh -c 'echo one; exec sleep 60'\ntwo\n```\n",
        "```console\n$ printf '[a@t] 1\\n[a@t] 2\\n'\n[a@t] 2\n[a@t] 1\n```\n",
    ],
)
def test_a_planted_block_that_does_not_do_what_it_shows_is_found(block: str, tmp_path: Path) -> None:
    with reader(tmp_path, patience_seconds=0.5) as typist, pytest.raises(AssertionError):
        typist.follow(block)


@pytest.mark.parametrize(
    ("printed", "far"),
    [
        ("team a: 4 steps, 1,050 tokens in, 76 out, $0.0101", 0),
        ("team a: 4 steps, 1,200 tokens in, 76 out, $0.0100", 1),
        ("team a: 4 steps, 1,000 tokens in, 90 out, $0.0200", 2),
    ],
)
def test_figures_that_differ_by_more_than_a_tenth_are_found(printed: str, far: int) -> None:
    assert len(far_figures(printed, "team a: 4 steps, 1,000 tokens in, 76 out, $0.0100")) == far


def test_a_block_that_takes_too_long_leaves_nothing_running(
    tmp_path: Path, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    with reader(tmp_path) as hands:
        hands.seconds = 1
        with pytest.raises(subprocess.TimeoutExpired):
            hands._shell("sleep 1000 & echo $! > left; wait")
    eventually(lambda: not runs((tmp_path / "left").read_text().strip()))


def runs(process: str) -> bool:
    """Tell whether a process is there and has not ended."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def test_agents_may_speak_in_any_order_and_figures_may_differ(tmp_path: Path) -> None:
    with reader(tmp_path) as typist:
        typist.follow("```sh\nexport WORD=two; mkdir in && cd in\n```\n")
        typist.follow(
            "```console\n$ printf '[a@t] 1\\n[b@t] $0.0123, 4 s ago\\n'\n[b@t] $0.0042, 3 min ago\n[a@t] 1\n```\n"
        )
        typist.follow("```console\n$ echo $WORD\ntwo\n$ basename $PWD\nin\n```\n")


def test_a_number_that_a_page_shows_stands_for_the_real_one(tmp_path: Path) -> None:
    page_ = (
        "```console\n# terminal 1\n$ sh -c 'echo process $$; exec sleep 60'\nprocess 4711\n```\n```sh\nkill 4711\n```\n"
    )
    with reader(tmp_path) as typist:
        typist.follow(page_)
