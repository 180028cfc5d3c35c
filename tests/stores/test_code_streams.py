"""Streams that carry code, as somebody who looks at a team finds them: to check or to copy it."""

from contextlib import closing
from pathlib import Path

import pytest

from deskmate.core.log.records import Record
from deskmate.stores.engines.engine_table import engine_of
from tests.servers.nats_nodes import nats_server, nats_url
from tests.servers.postgres import postgres_server, postgres_url

__all__ = ["nats_server", "nats_url", "postgres_server", "postgres_url"]
pytestmark = pytest.mark.anyio
CHUNKS = f"chunks/{'0a' * 32}-3"


@pytest.mark.parametrize("kind", ["files", "postgres", "nats"])
async def test_a_look_at_a_team_finds_its_code(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = None if kind == "files" else str(request.getfixturevalue(f"{kind}_url"))
    with closing(engine_of(url, tmp_path)) as engine:
        with closing(engine.open("main", create=True)) as store:
            for stream in ("code", "code/bob", CHUNKS, "mail/bob"):
                await store.append(stream, {"type": "note", "run": "r", "ord": 1})
        if kind == "files":
            (tmp_path / ".teams/main/chunks/other.jsonl").write_text("{}\n")
        look = engine.look("main", lambda words, kind="other": None)
        assert sorted(look.member_streams()) == [CHUNKS, "code/bob", "mail/bob"]
        for stream in ("code", "code/bob", CHUNKS):
            assert [item.number for item in look.items(stream) if isinstance(item, Record)] == [1]
            assert look.ends_before(stream) == 0
            assert stream.partition("-")[0] in look.place(stream) or kind == "files"
