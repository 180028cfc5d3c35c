"""telemetry: what a team did, sent to a collector or printed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from deskmate.core.agent.entries import Heard, Said
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import MemberIdle, MemberWorking, PolicySet
from deskmate.runtime.streams.transcript import Transcript
from deskmate.testing import Scenario
from deskmate.trust.folders import open_store
from tests.faces.disk_teams import OpenTeam, at, founded, in_team
from tests.faces.fake_app import Env
from tests.telemetry.collector import Collector, attributes, collecting
from tests.telemetry.team_story import GOAL, answer, in_order, streams_in, whole

pytestmark = pytest.mark.behaviour("telemetry")
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


async def works(opened: OpenTeam) -> None:
    """Let the lead answer once, and begin a second turn that is cut."""
    now = opened.writer.clock.timestamp()
    transcript = await Transcript.load(opened.writer, "lead")
    for event in (PolicySet(by="user", attended=False, at=now), MemberWorking(name="lead", at=now)):
        await opened.writer.append("roster", event.body())
    for words in ("Parse it.", "Print it."):
        await opened.mailbox("user").send("lead", Plain(content=words))
        heard = await opened.mailbox("lead").hear(transcript)
        assert isinstance(heard, Heard)
        used = {"input": 1200, "output": 40, "model": "openai:gpt-5.5", "cost": 0.25, "seconds": 0.0}
        await transcript.record(Said(text="…", unfinished=words == "Print it.", usage=used))
    await opened.writer.append("roster", MemberIdle(name="lead", at=now + 1).body())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    founded(place, "main")
    in_team(place, works)
    return place


def test_the_tree_shows_runs_turns_and_model_calls(place: Path, env: Env) -> None:
    ended = at(place, "telemetry", "--console", env=env)
    assert (ended.code, ended.stderr) == (0, "")
    shown = [line.partition(":")[0] for line in ended.stdout.splitlines()]
    turn = ["  invoke_agent lead", "    chat gpt-5.5"]
    assert shown == ["invoke_workflow main", *turn, *turn]
    assert "1,200 in, 40 out, $0.2500" in ended.stdout


def test_programs_get_an_object_for_each_span(place: Path, env: Env) -> None:
    ended = at(place, "telemetry", "main", "--json", env=env)
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [one["name"].split()[0] for one in found] == [
        "chat",
        "invoke_agent",
        "chat",
        "invoke_agent",
        "invoke_workflow",
    ]
    assert {one["parent_id"] for one in found} == {None, found[-1]["span_id"], found[1]["span_id"], found[3]["span_id"]}
    assert [one["attributes"].get("deskmate.unfinished") for one in found if one["kind"] == "internal"] == [
        None,
        True,
        None,
    ]


def test_a_team_is_sent_to_the_collector_as_often_as_wanted_with_the_same_ids(place: Path, env: Env) -> None:
    with collecting() as collector:
        with_collector = {**env, ENDPOINT: collector.url}
        for _ in range(2):
            ended = at(place, "telemetry", env=with_collector)
            assert (ended.code, ended.stdout) == (0, f"sent 5 spans and metrics of team main to {collector.url}\n")
        assert (len(collector.spans), set(collector.times.values())) == (5, {2})
        assert "deskmate.members" in collector.metrics
        alone = at(place, "telemetry", env={**with_collector, "OTEL_METRICS_EXPORTER": "none"})
        assert alone.stdout == f"sent 5 spans of team main to {collector.url}\n"
        collector.status = 404
        refused = at(place, "telemetry", env=with_collector)
    assert refused.code != 0
    assert "404" in refused.stderr


def test_it_is_refused_if_it_is_switched_off_or_there_is_no_such_team(place: Path, env: Env) -> None:
    off = at(place, "telemetry", env={**env, "OTEL_SDK_DISABLED": "true"})
    assert (off.code, "OTEL_SDK_DISABLED" in off.stderr) == (2, True)
    assert at(place, "telemetry", "--console", env={**env, "OTEL_SDK_DISABLED": "true"}).code == 0
    assert at(place, "telemetry", "nobody", env=env).code != 0
    none = {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}
    assert at(place, "telemetry", env={**env, **none}).code == 2
    assert at(place, "telemetry", "--console", "--json", env=env).code == 2


def test_damage_is_reported_and_the_rest_is_shown(place: Path, env: Env) -> None:
    file = place / ".teams/main/lead_transcript.jsonl"
    lines = file.read_bytes().split(b"\n")
    file.write_bytes(b"\n".join([lines[0], b"x" + lines[1], *lines[2:]]))
    ended = at(place, "telemetry", "--console", env=env)
    assert ended.code == 3
    assert "damaged" in ended.stderr
    assert ended.stdout.count("chat gpt-5.5") == 1


def test_the_doctor_says_where_telemetry_goes(place: Path, env: Env) -> None:
    def told(**more: str) -> list[str]:
        checks = json.loads(at(place, "doctor", "--json", env={**env, **more}).stdout)["checks"]
        return [one["words"] for one in checks if one["what"] == "telemetry"]

    assert told() == []
    assert told(**{ENDPOINT: "http://me:secret@otel.example.org:4318"}) == ["goes to http://otel.example.org:4318"]
    assert "OTEL_SDK_DISABLED" in told(**{ENDPOINT: "http://x", "OTEL_SDK_DISABLED": "true"})[0]


_RUN = """
import sys, anyio
from pathlib import Path
from deskmate.app import environment
from deskmate.testing import Scenario
from tests.telemetry.team_story import GOAL, answer
async def main():
    async with Scenario(Path(sys.argv[1]), answer) as team:
        environment()["OTEL_EXPORTER_OTLP_ENDPOINT"] = sys.argv[2]
        await team.run(GOAL)
anyio.run(main)
"""


def test_a_team_that_is_killed_and_resumed_is_exported_whole(tmp_path: Path, eventually: Callable[..., None]) -> None:
    """SIGKILL ends everything while teammates work. The next run sends what is missing, and nothing twice."""
    with collecting() as collector:
        run = subprocess.Popen(
            [sys.executable, "-c", _RUN, str(tmp_path), collector.url], cwd=Path(__file__).parents[3]
        )
        board = tmp_path / "work/.tasks/main/board.jsonl"
        eventually(lambda: board.exists() and b"task_claimed" in board.read_bytes())
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        anyio.run(_resume, tmp_path, collector)
        assert anyio.run(_ids, tmp_path / "work") == set(collector.spans)
        parents = {span.parent_span_id.hex() for span in collector.spans.values()} - {""}
        assert parents <= set(collector.spans)
        assert max(collector.times.values()) <= 2
        runs = [span for span in collector.spans.values() if span.name == "invoke_workflow main"]
        assert [attributes(one)["deskmate.run.attended"] for one in runs] == [False, False]


async def _resume(folder: Path, collector: Collector) -> None:
    async with Scenario(folder, answer) as team:
        os.environ[ENDPOINT] = collector.url
        await team.resume(GOAL)


async def _ids(workspace: Path) -> set[str]:
    with open_store(workspace, "main") as store:
        _, spans = whole(in_order(await streams_in(store)))
    return {f"{id_:016x}" for id_ in spans}
