"""Images that the user sends reach the model, whole, in every request until a compaction."""

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from deskmate.app import Feed, Outcome, run
from deskmate.app.session import attended
from deskmate.core.log.names import LEAD, mail
from deskmate.errors import BadInput
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.provider_faults import ErrorStatus
from deskmate.testing.scripts import Format
from deskmate.testing.team_scripts import member_of, step
from tests.sample_images import png
from tests.scenarios.app_harness import FORMATS, SOON, AppHarness

pytestmark = pytest.mark.anyio
both = pytest.mark.parametrize("format_", FORMATS)

DATA = png(40, 30)
CODED = base64.b64encode(DATA).decode()


def nod(asked: Asked) -> Say:
    return Say(f"I have spoken {step(asked)} times.")


@pytest.fixture
def shot(harness: AppHarness) -> Path:
    path = harness.place / "my shot.png"
    path.write_bytes(DATA)
    return path


async def send(harness: AppHarness, provider: FakeProvider, format_: Format, *images: Path) -> Outcome:
    with anyio.fail_after(SOON):
        return await run(replace(harness.wanted(provider, format_, "what is this?"), images=images), Feed())


def shown_in(asked: Asked) -> list[Mapping[str, Any]]:
    """Return the first message of the user in a request, part by part."""
    first = next(message for message in asked.body["messages"] if message["role"] == "user")
    return [{k: v for k, v in part.items() if k != "cache_control"} for part in first["content"]]


@both
async def test_an_image_is_in_the_request_after_the_words(harness: AppHarness, shot: Path, format_: Format) -> None:
    async with FakeProvider(nod) as provider:
        await send(harness, provider, format_, shot)
        words, image = shown_in(provider.requests[0])
        assert provider.complaints == []
    (record,) = await harness.records(mail(LEAD))
    (sent,) = record["images"]
    assert words["text"] == f"what is this?\n[image: my shot.png, 40x30, 1 kB, saved in {sent['blob']}]"
    assert (
        image
        == {
            "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": CODED}},
            "openai": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{CODED}"}},
        }[format_]
    )
    assert (harness.place / sent["blob"]).read_bytes() == DATA
    assert (sent["name"], sent["media_type"], sent["size"]) == ("my shot.png", "image/png", len(DATA))


@both
async def test_an_image_is_kept_as_it_was_when_it_was_sent(harness: AppHarness, shot: Path, format_: Format) -> None:
    async with FakeProvider(nod) as provider:
        await send(harness, provider, format_, shot)
        shot.write_bytes(png(1, 1))
        await harness.resume(provider, format_, "and now?")
        assert shown_in(provider.requests[1]) == shown_in(provider.requests[0])


async def test_without_its_image_nothing_is_started(harness: AppHarness, shot: Path) -> None:
    async with FakeProvider(nod) as provider:
        with pytest.raises(BadInput, match=r"gone\.png"):
            await send(harness, provider, "anthropic", shot, harness.place / "gone.png")
        assert provider.requests == []
    assert not (harness.place / ".teams").exists()


@both
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "this model does not support image input (ref: b8bd630e)"),
        (400, "Invalid content type. image_url is only supported by certain models."),
        (404, "No endpoints found that support image input"),
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
        (400, "/models/llama is not a multimodal model"),
    ],
)
async def test_a_model_that_cannot_see_images_is_asked_again_without_them_and_told_which_they_were(
    harness: AppHarness, shot: Path, format_: Format, status: int, message: str
) -> None:
    async with FakeProvider(nod, faults={0: ErrorStatus(status, message=message)}) as provider:
        outcome = await send(harness, provider, format_, shot)
        await harness.resume(provider, format_, "and now?")
        assert (outcome.end, len(provider.requests)) == ("answered", 3)
        bodies = [json.dumps(asked.body) for asked in provider.requests]
        assert [CODED in body for body in bodies] == [True, False, False]
        assert ["(You cannot see images: my shot.png." in body for body in bodies] == [False, True, True]
        assert provider.complaints == []


async def test_a_model_that_refuses_images_where_there_are_none_is_not_asked_again(harness: AppHarness) -> None:
    refusal = ErrorStatus(400, message="this model does not support image input")
    async with FakeProvider(nod, faults={0: refusal}) as provider:
        outcome = await send(harness, provider, "anthropic")
        assert (outcome.end, len(provider.requests)) == ("parked", 1)
    assert "cannot take images" in outcome.reason


@both
async def test_after_a_summary_the_image_is_gone_but_its_place_is_known(
    harness: AppHarness, shot: Path, format_: Format
) -> None:
    async with FakeProvider(nod) as provider:
        wanted = harness.wanted(provider, format_, None, permission_mode="default")
        with anyio.fail_after(SOON):
            async with attended(wanted, Feed()) as session:
                await session.ask("what is this?", images=[shot])
                await session.make_room()
                await session.ask("and now?")
        bodies = [json.dumps(asked.body) for asked in provider.requests]
        assert [CODED in body for body in bodies] == [True, True, False]
        assert [".teams/main/blobs/lead-" in body for body in bodies] == [True, True, True]


async def test_a_teammate_gets_an_image_of_the_user(harness: AppHarness, shot: Path) -> None:
    def play(asked: Asked) -> Say:
        if member_of(asked) == "lead" and step(asked) == 0:
            return Say("", [Use("Task", {"name": "alice", "role": "help", "prompt": "Wait.", "description": "helps"})])
        return Say("Fine.")

    async with FakeProvider(play) as provider:
        with anyio.fail_after(SOON):
            async with attended(harness.wanted(provider, "anthropic", None), Feed()) as session:
                await session.ask("hire alice")
                await session.say("what is this?", "alice", images=[shot])
                while not any(CODED in json.dumps(asked.body) for asked in provider.requests):
                    await session.looked()
        (asked,) = [asked for asked in provider.requests if CODED in json.dumps(asked.body)]
        assert (member_of(asked), provider.complaints) == ("alice", [])


async def test_a_session_refuses_an_image_before_anything_is_sent(harness: AppHarness, shot: Path) -> None:
    async with FakeProvider(nod) as provider:
        with anyio.fail_after(SOON):
            async with attended(harness.wanted(provider, "anthropic", None), Feed()) as session:
                for name in ("gone.png", "check.sh"):
                    with pytest.raises(BadInput, match=name):
                        await session.say("look", images=[shot, harness.place / name])
                await session.look()
                assert session.letters == ()
        assert provider.requests == []
