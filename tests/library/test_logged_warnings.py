"""What a program reads in its log, and what faces show as events instead."""

import logging
from pathlib import Path

import pytest

from deskmate import run
from deskmate.config import load
from deskmate.core.log.names import LEAD
from deskmate.core.policy.redaction import Redaction
from deskmate.core.prompt.prompts import RetryDelta, Usage
from deskmate.faces.common.error_log import logging_to
from deskmate.models.prices import reported_price
from deskmate.runtime.events import Feed, Streamed, TeamEvent
from deskmate.runtime.perform.live_words import LiveWords
from deskmate.testing import Say, ScriptedModel, Use

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("call", [Use("no_such_tool"), Use("read_file", {"pfad": "a"}), Use("read_file", raw="{")])
async def test_a_call_that_cannot_be_read_is_logged_and_faces_do_not_repeat_it(
    place: Path, caplog: pytest.LogCaptureFixture, call: Use
) -> None:
    noted: list[str] = []
    with logging_to(noted.append):
        await run("Try.", model=ScriptedModel([Say("", [call]), "Done."]), workspace=place)
    (record,) = (one for one in caplog.records if one.levelno >= logging.WARNING)
    assert LEAD in record.getMessage()
    assert noted == []


@pytest.mark.parametrize(("base_url", "warned"), [("", 1), ("http://127.0.0.1:1/v1", 0)])
def test_a_model_without_a_price_is_named_once_unless_it_is_on_your_own_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, base_url: str, warned: int
) -> None:
    settings = load({"HOME": str(tmp_path), "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": base_url})
    for _ in range(2):
        assert reported_price({}, settings.own_servers, "openai:no-such-model", Usage(1, 1)) is None
    assert len([one for one in caplog.messages if "openai:no-such-model" in one]) == warned


def test_each_retry_is_logged_and_told(caplog: pytest.LogCaptureFixture) -> None:
    feed, told = Feed(), list[TeamEvent]()
    feed.listen(told.append)
    retry = RetryDelta(8.0, "anthropic:m failed (500): busy", "anthropic:m")
    LiveWords(LEAD, feed, Redaction()).say(retry)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert told == [Streamed(LEAD, retry)]
