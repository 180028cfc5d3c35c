"""The warm process does what `python -m deskmate` does, and no run sees anything of another."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faces.fake_app import environment
from tests.warm_program import begin_deskmate, run_deskmate, warm_command, warm_socket


@pytest.mark.parametrize("args", [["--version"], ["board"], ["run", "--output", "nonsense"], []])
def test_a_run_ends_and_prints_as_the_program_does(tmp_path: Path, args: list[str]) -> None:
    env = environment(tmp_path, ANTHROPIC_API_KEY="sk-test")
    cold = subprocess.run(
        [sys.executable, "-m", "deskmate", *args], cwd=tmp_path, env=env, input=b"", capture_output=True, check=False
    )
    warm = run_deskmate(args, folder=tmp_path, env=env)
    assert (warm.returncode, warm.stdout, warm.stderr) == (cold.returncode, cold.stdout, cold.stderr)


def test_a_run_has_its_own_folder_and_environment(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    names = "DESKMATE_MODEL"
    first = run_deskmate(["board"], folder=tmp_path, env=environment(tmp_path, **{names: "no such model"}))
    second = run_deskmate(["board"], folder=tmp_path / "other", env=environment(tmp_path))
    assert (str(tmp_path / "other").encode() in first.stderr, b"no such model" in second.stderr) == (False, False)
    assert (first.returncode, second.returncode) == (2, 2)


@pytest.mark.skipif(sys.platform != "linux", reason="the umask of a process is found by /proc")
@pytest.mark.parametrize("umask", [0, 0o077])
def test_a_run_has_the_umask_it_is_given(
    tmp_path: Path, umask: int, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    # It waits for its goal as long as its input is open.
    read_in, write_in = os.pipe()
    with open(os.devnull, "wb") as null, open(read_in, "rb"), open(write_in, "wb"):
        files = (read_in, null.fileno(), null.fileno())
        env = environment(tmp_path, ANTHROPIC_API_KEY="sk-test")
        run = begin_deskmate(["run", "-"], folder=tmp_path, env=env, files=files, umask=umask)
        eventually(lambda: f"Umask:\t{umask:04o}\n" in Path(f"/proc/{run.pid}/status").read_text())
        run.kill()
        run.wait(60)


@pytest.mark.parametrize("args", [["--version"], ["board"], ["run", "--output", "nonsense"]])
def test_a_shell_may_have_it_as_a_command(tmp_path: Path, args: list[str]) -> None:
    env = environment(tmp_path, ANTHROPIC_API_KEY="sk-test")
    warm_command(tmp_path / "deskmate")
    run = run_deskmate(args, folder=tmp_path, env=env)
    words = ["sh", "-c", './deskmate "$@"', "sh", *args]
    typed = subprocess.run(
        words, cwd=tmp_path, env=env, input=b"", capture_output=True, check=False, pass_fds=[warm_socket()]
    )
    assert (typed.returncode, typed.stdout, typed.stderr) == (run.returncode, run.stdout, run.stderr)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_such_a_command_is_sent_ends_its_run(tmp_path: Path, number: signal.Signals) -> None:
    # A run that tries to reach a server which is not there.
    env = environment(tmp_path, ANTHROPIC_API_KEY="sk-test", ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    warm_command(tmp_path / "deskmate")
    words = ["./deskmate", "run", "hi", "--model", "anthropic:claude-sonnet-4-5"]
    with subprocess.Popen(
        words, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=[warm_socket()]
    ) as process:
        assert process.stderr
        process.stderr.readline()
        process.send_signal(number)
        # Its end, not only that of the command: nobody writes there any more.
        process.stderr.read()
        # The signal ends the command itself, or the run first. Then the command has the status of the run.
        assert process.wait(60) in (130, -number)
