"""What recorders write is what `load` returns, whatever kills them; anything else is refused."""

import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from deskmate.testing.run_history import HistoryEvent, MalformedHistory, Recorder, check_claims, load, sends
from tests.testing import call


def test_what_recorders_write_is_loaded_in_time_order(tmp_path: Path) -> None:
    alice, bob = Recorder(tmp_path / "alice", "alice"), Recorder(tmp_path / "bob", "bob")
    first = alice.invoke("claim", "7", "alice")
    second = bob.invoke("claim", "7", "bob")
    alice.ok(first, 1)
    bob.fail(second, "alice")
    third = bob.invoke("send", "älice\u2028", ["bob", 1, "m1\n\udc80"])
    bob.info(third, "disk full")
    alice.close()
    bob.close()
    events = load([tmp_path / "bob", tmp_path / "alice"])
    stamps = [event.at for event in events]
    assert stamps == sorted(stamps)
    assert events == [
        HistoryEvent("alice", 1, "invoke", "claim", "7", "alice", stamps[0]),
        HistoryEvent("bob", 1, "invoke", "claim", "7", "bob", stamps[1]),
        HistoryEvent("alice", 1, "ok", "claim", "7", 1, stamps[2]),
        HistoryEvent("bob", 1, "fail", "claim", "7", "alice", stamps[3]),
        HistoryEvent("bob", 2, "invoke", "send", "älice\u2028", ["bob", 1, "m1\n\udc80"], stamps[4]),
        HistoryEvent("bob", 2, "info", "send", "älice\u2028", "disk full", stamps[5]),
    ]
    assert check_claims(events) == []
    assert sends(events) == ([], [("bob", 1, "m1\n\udc80", "älice\u2028")])


def run_python(code: str, path: Path) -> int:
    return subprocess.run([sys.executable, "-c", code, str(path)], check=False, timeout=60).returncode


def test_the_operation_a_killed_process_was_in_stays_in_doubt(tmp_path: Path) -> None:
    path = tmp_path / "alice"
    killed = """
import os, signal, sys
from deskmate.testing.run_history import Recorder
recorder = Recorder(sys.argv[1], "alice")
recorder.ok(recorder.invoke("claim", "7", "alice"), 1)
recorder.invoke("complete", "7", ["alice", 1])
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert run_python(killed, path) == -signal.SIGKILL
    again = Recorder(path, "alice")
    assert {op: (event.action, event.key) for op, event in again.in_doubt.items()} == {2: ("complete", "7")}
    assert again.count == 2
    again.ok(2)
    assert again.invoke("claim", "8", "alice") == 3
    again.close()
    assert [(event.op, event.kind) for event in load([path])] == [
        (1, "invoke"),
        (1, "ok"),
        (2, "invoke"),
        (2, "ok"),
        (3, "invoke"),
    ]
    assert check_claims(load([path])) == []


def test_an_event_torn_at_any_byte_did_not_happen(tmp_path: Path) -> None:
    path = tmp_path / "alice"
    recorder = Recorder(path, "alice")
    op = recorder.invoke("claim", "7", "alice")
    whole = path.read_bytes()
    recorder.ok(op, 1)
    recorder.close()
    both = path.read_bytes()
    for size in range(len(whole), len(both)):
        path.write_bytes(both[:size])
        assert len(load([path])) == 1
        again = Recorder(path, "alice")
        again.ok(op, 1)
        again.close()
        assert [event.kind for event in load([path])] == ["invoke", "ok"]


def test_an_event_that_did_not_fit_on_the_disk_stops_its_process(tmp_path: Path) -> None:
    path = tmp_path / "alice"
    limited = f"""
import resource, sys
from deskmate.testing.run_history import Recorder
resource.setrlimit({resource.RLIMIT_FSIZE}, (150, 150))
recorder = Recorder(sys.argv[1], "alice")
op = recorder.invoke("claim", "7", "alice")
try:
    recorder.ok(op, 1)
except OSError:
    sys.exit(3)
"""
    assert run_python(limited, path) == 3
    assert path.stat().st_size == 150
    assert [event.kind for event in load([path])] == ["invoke"]


def test_a_second_process_is_refused_the_file_of_the_first(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "alice", "alice")
    recorder.invoke("claim", "7", "alice")
    recorder.close()
    with pytest.raises(MalformedHistory):
        Recorder(tmp_path / "alice", "bob")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"process": "al', id="cut in the middle of the file"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b'{"process": "alice"}', id="fields missing"),
        pytest.param(
            HistoryEvent("a", 1, "ok", "claim", "7", 1, 0).line().strip().replace(b'"ok"', b'"yes"'), id="unknown kind"
        ),
        pytest.param(b"", id="blank"),
    ],
)
def test_damage_before_the_last_line_is_refused_by_place(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "alice"
    good = HistoryEvent("alice", 1, "invoke", "claim", "7", "alice", 0).line()
    path.write_bytes(good + line + b"\n" + good)
    with pytest.raises(MalformedHistory, match="line 2"):
        load([path])


def test_a_missing_file_is_an_error_not_an_empty_history(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load([tmp_path / "nobody"])


INVOKE = HistoryEvent("alice", 1, "invoke", "claim", "7", "alice", 0)
OK = HistoryEvent("alice", 1, "ok", "claim", "7", 1, 5)


@pytest.mark.parametrize(
    "history",
    [
        pytest.param([OK], id="outcome without invoke"),
        pytest.param([INVOKE, INVOKE, OK], id="number used twice"),
        pytest.param([INVOKE, OK, OK], id="two outcomes"),
        pytest.param([INVOKE, HistoryEvent("alice", 1, "ok", "claim", "8", 1, 5)], id="outcome for another task"),
        pytest.param([INVOKE, HistoryEvent("alice", 1, "ok", "claim", "7", "one", 5)], id="epoch that is no number"),
        pytest.param(call((0, 5), "claim", ["alice"], ("ok", 1)), id="claim without an owner"),
        pytest.param(call((0, 5), "release", "alice", ("ok", None)), id="release without an epoch"),
        pytest.param(call((0, 5), "clame", "alice", ("ok", 1)), id="unknown action"),
    ],
)
def test_a_malformed_history_is_refused_not_judged(history: Sequence[HistoryEvent]) -> None:
    with pytest.raises(MalformedHistory):
        check_claims(history)


def test_a_send_without_ordinal_and_id_is_refused() -> None:
    with pytest.raises(MalformedHistory):
        sends(call((0, 5), "send", "hello", ("ok", None), key="bob"))
