"""How a run ends that does not end by itself: signals, readers that stop or go away, streams that are closed."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest

from deskmate.faces.common.stop_signals import StopSignals
from tests.faces.fake_app import HEAD, SUM, Ended, Env, FakeApp, ended, environment, run_command, start_command

STOPPING = "deskmate: stopping. Press Ctrl-C again to stop at once\n"
AWAY = "[lead] left: put away\n"


def lines(process: "subprocess.Popen[str]", *expected: str) -> None:
    """Wait for lines on stderr."""
    assert process.stderr is not None
    assert [process.stderr.readline() for _ in expected] == [*expected]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_in_good_order_and_says_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    with start_command("founds", "run", "x", home=tmp_path) as process:
        lines(process, HEAD, "[lead@main-7] bash make test\n")
        process.send_signal(number)
        told = (
            f"{STOPPING}[lead@main-7] left: put away\ndeskmate: interrupted\nTo continue, run: deskmate resume main-7\n"
        )
        assert ended(process) == Ended(130, "", told)


def test_a_signal_before_there_is_a_team_says_that_nothing_was_begun(tmp_path: Path) -> None:
    with start_command("waits", "run", "x", "--new-team", "t", home=tmp_path) as process:
        lines(process, HEAD, "[lead] bash make test\n")
        process.send_signal(signal.SIGINT)
        assert ended(process) == Ended(130, "", f"{STOPPING}{AWAY}deskmate: interrupted before anything started\n")


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_ends_what_does_not_stop(tmp_path: Path, second: signal.Signals) -> None:
    with start_command("stubborn", "run", "x", home=tmp_path) as process:
        lines(process, HEAD, "[lead] bash make test\n")
        process.send_signal(signal.SIGINT)
        lines(process, STOPPING)
        process.send_signal(second)
        assert ended(process) == Ended(-second, "", "")


def test_a_signal_that_was_ignored_from_the_start_stays_ignored(tmp_path: Path) -> None:
    with start_command("told", "run", "x", home=tmp_path, ignored=signal.SIGINT) as process:
        lines(process, HEAD, "[lead] bash make test\n")
        process.send_signal(signal.SIGINT)
        assert ended(process, stdin="go\n") == Ended(0, "All green.\n", SUM)


def test_the_handlers_of_before_are_there_again_after_a_run(env: Env) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    run_command("run", "x", app=FakeApp(), env=env)
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_reader_that_stopped_reading_holds_up_neither_the_run_nor_its_end(
    tmp_path: Path, number: signal.Signals
) -> None:
    with start_command("brims", "run", "x", "--output", "stream-json", home=tmp_path) as process:
        lines(process, HEAD, "[lead] bash make test\n")
        process.send_signal(number)
        lines(process, STOPPING, AWAY, "deskmate: interrupted before anything started\n")
        assert process.wait(60) == 130


def test_a_stream_that_nobody_reads_for_too_long_ends_the_run(tmp_path: Path) -> None:
    with start_command("floods", "run", "x", "--output", "stream-json", home=tmp_path) as process:
        assert process.stderr is not None
        told = "cannot write to stdout: its reader is 64 MB behind\nTo continue, run: deskmate resume main-7"
        assert process.stderr.read().endswith(f"deskmate: {told}\n")
        assert process.wait(60) == 3


def test_a_slow_reader_gets_all_of_a_stream(tmp_path: Path) -> None:
    with start_command("gushes", "run", "x", "--output", "stream-json", home=tmp_path) as process:
        # Its run is over before anything is read.
        lines(process, HEAD, "[lead] bash make test\n")
        assert process.stdout is not None
        kinds = [json.loads(line)["type"] for line in process.stdout]
        assert kinds == ["streamed"] * 3 + ["recorded"] * 2 + ["result"]
        assert process.wait(60) == 0


def test_a_signal_ends_at_once_what_only_waits_for_its_reader(tmp_path: Path) -> None:
    with start_command("lectures", "run", "x", home=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == "x"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == -signal.SIGTERM


def test_progress_that_nobody_reads_does_not_keep_the_answer(tmp_path: Path) -> None:
    with start_command("murmurs", "run", "x", home=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.read() == "All green.\n"
        assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("closed", "args", "end"),
    [
        ("<&-", ["run", "x"], Ended(0, "All green.\n", HEAD + SUM)),
        ("2>&-", ["run", "x"], Ended(0, "All green.\n", "")),
        ("2>&-", ["run", "x", "--model", "llama3"], Ended(2, "", "")),
        (">&-", ["run", "x"], Ended(3, "", "deskmate: stdout is closed\nRedirect it, as in: > answer.txt\n")),
        (">&-", ["--version"], Ended(3, "", "deskmate: stdout is closed\nRedirect it, as in: > answer.txt\n")),
        ("<&- >&- 2>&-", ["run", "x"], Ended(3, "", "")),
    ],
)
def test_a_closed_stream_is_no_surprise(tmp_path: Path, closed: str, args: list[str], end: Ended) -> None:
    with start_command("answers", *args, home=tmp_path, closed=closed) as process:
        assert ended(process) == end


def test_a_closed_stdin_brings_no_goal(tmp_path: Path) -> None:
    with start_command("answers", "run", home=tmp_path, closed="<&-") as process:
        end = ended(process)
    assert (end.code, end.stdout, "The goal is empty" in end.stderr) == (2, "", True)


def test_a_stream_that_nobody_reads_any_more_ends_quietly(tmp_path: Path) -> None:
    with start_command("talks", "run", "x", "--output", "stream-json", home=tmp_path) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["type"] == "recorded"
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == HEAD
        assert process.wait(60) == 130


def test_an_answer_that_nobody_reads_any_more_is_no_error(tmp_path: Path) -> None:
    with start_command("told", "run", "x", home=tmp_path) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.close()
        assert process.stderr is not None
        assert process.stderr.read() == f"{HEAD}[lead] bash make test\n{SUM}"
        assert process.wait(60) == 0


def test_a_full_disk_behind_stdout_is_told(tmp_path: Path) -> None:
    words = "import sys; from tests.faces.fake_app import APPS, main; sys.exit(main(['run', 'x'], APPS['answers']()))"
    with open("/dev/full", "w") as full:
        end = subprocess.run(
            [sys.executable, "-c", words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
            env=environment(tmp_path, ANTHROPIC_API_KEY="sk-test"),
        )
    assert (end.returncode, end.stderr) == (
        3,
        f"{HEAD}deskmate: cannot write to stdout: No space left on device\nTo continue, run: deskmate resume main\n",
    )


@pytest.mark.parametrize("buffers", ["", "1"])
@pytest.mark.parametrize("command", [["--help"], ["run", "--help"], ["--version"]])
def test_a_help_text_that_cannot_be_written_is_told(tmp_path: Path, command: list[str], buffers: str) -> None:
    with open("/dev/full", "w") as full:
        end = subprocess.run(
            [sys.executable, "-m", "deskmate", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
            env=environment(tmp_path, PYTHONUNBUFFERED=buffers),
        )
    assert (end.returncode, end.stderr) == (3, "deskmate: cannot write: No space left on device\n")


def test_an_answer_survives_a_locale_that_lacks_its_characters(tmp_path: Path) -> None:
    with start_command(
        "strange", "run", "x", home=tmp_path, PYTHONIOENCODING="ascii:strict", PYTHONUTF8="0"
    ) as process:
        end = ended(process)
        assert (end.code, end.stdout) == (0, "na?ve ?\n")


def signal_oneself_once_it_sleeps(sleeper: int) -> None:
    """Have the kernel give a signal to this thread, not to the sleeping one."""
    while "epoll" not in Path(f"/proc/self/task/{sleeper}/wchan").read_text():
        pass
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)


@pytest.mark.skipif(sys.platform != "linux", reason="what a thread waits for is told by /proc")
@pytest.mark.anyio
async def test_a_signal_is_heeded_at_once_whichever_thread_the_kernel_gives_it_to() -> None:
    told: list[str] = []
    stop_signals = StopSignals(told.append)
    other = threading.Thread(target=signal_oneself_once_it_sleeps, args=[threading.get_native_id()])
    with (
        anyio.move_on_after(20) as too_late,
        stop_signals.signals(),
        anyio.CancelScope() as scope,
        stop_signals.stops(scope),
    ):
        other.start()
        await anyio.sleep_forever()
    assert (scope.cancel_called, too_late.cancel_called, told) == (True, False, [STOPPING.rstrip("\n")])
