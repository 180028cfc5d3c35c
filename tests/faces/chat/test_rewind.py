"""/rewind in a conversation: the points, what changed since, and the files brought back."""

from pathlib import Path

import pytest

from deskmate.core.policy.permissions import Mode
from deskmate.testing import Asked, Say, Use
from tests.faces.chat.chat_harness import chat
from tests.scenarios.app_harness import AppHarness

pytestmark = pytest.mark.anyio


@pytest.fixture
def harness(tmp_path: Path) -> AppHarness:
    return AppHarness.at(tmp_path / "work", tmp_path / "home")


def write(asked: Asked) -> Say:
    """Write a file when told to, else say what was heard last."""
    if "write" in str(asked.prompt.passages[-1]) and not asked.results:
        return Say(calls=[Use("write_file", {"path": "new.txt", "content": "new\n"})])
    return Say(f"Heard: {asked.texts[-1] if asked.texts else 'nothing'}")


async def test_files_are_compared_and_restored_and_the_lead_is_told_with_the_next_message(harness: AppHarness) -> None:
    async with chat(harness, write) as typist:
        await typist.session.set_mode(Mode.ACCEPT_EDITS)
        await typist.types("write it")
        await typist.until(lambda session: (harness.place / "new.txt").exists() and not session.busy)
        assert any("write it" in line for line in await typist.types("/rewind"))
        assert "+new" in await typist.types("/rewind 1 diff")
        assert "removed: new.txt" in await typist.types("/rewind 1")
        assert not (harness.place / "new.txt").exists()
        await typist.types("go on")
        _, _, words = (await typist.mail("lead"))[-1]
        assert 'command="/rewind 1"' in words
        assert "removed: new.txt" in words


@pytest.mark.parametrize("line", ["/rewind x", "/rewind 1 backwards", "/rewind 7"])
async def test_a_point_that_is_none_is_refused(harness: AppHarness, line: str) -> None:
    async with chat(harness, write) as typist:
        assert (await typist.talk.carry_out(line)).refused
