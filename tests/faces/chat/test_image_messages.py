"""Images that are named in a conversation are sent with the message, and shown as a label."""

from pathlib import Path

import pytest

from deskmate.core.team.messages import sent_images
from deskmate.faces.common.items.mail_items import MailItem, mail_items
from tests.faces.chat.chat_harness import ChatHarness, chat
from tests.sample_images import png
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = pytest.mark.anyio

LABEL = "[shot.png, 1024x768, 1 kB]"


@pytest.fixture
def shot(harness: AppHarness) -> Path:
    path = harness.place / "shot.png"
    path.write_bytes(png(1024, 768)[:900])
    return path


async def sent(talk: ChatHarness) -> list[MailItem]:
    await talk.session.look()
    return [item for item in mail_items(talk.session.letters) if item.sender == "user"]


@pytest.mark.parametrize("line", ["@shot.png what is wrong?", "@shot.png", "see @shot.png", "{shot} what?", "'{shot}'"])
async def test_a_named_image_is_sent_and_shown_as_a_label(harness: AppHarness, shot: Path, line: str) -> None:
    typed = line.format(shot=shot)
    async with chat(harness) as talk:
        assert await talk.types(typed) == []
        (item,) = await sent(talk)
    assert (item.recipients, item.words) == (("lead",), f"{typed}\n{LABEL}")


async def test_an_image_for_a_teammate_is_a_blob_of_that_teammate(harness: AppHarness, shot: Path) -> None:
    async with chat(harness, goal="hire") as talk:
        await talk.until(lambda session: any(member.name == "alice" for member in session.members))
        assert await talk.types("@alice see @shot.png") == ["said to alice"]
        item = (await sent(talk))[-1]
    (image,) = sent_images(item.envelope)
    assert (item.recipients, Path(image.blob).name.partition("-")[0]) == (("alice",), "alice")
    assert (harness.place / image.blob).read_bytes() == shot.read_bytes()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("@gone.png what?", "gone.png"),
        ("what is @gone.png?", "gone.png"),
        ("@check.png", "check.png"),
        ("@all see @shot.png", "one member"),
        ("/clear see @gone.png", "gone.png"),
        (" ".join(f"@{number}.png" for number in range(21)), "at most 20"),
    ],
)
async def test_what_cannot_be_sent_is_said_and_nothing_is_sent(
    harness: AppHarness, shot: Path, line: str, told: str
) -> None:
    (harness.place / "check.png").write_text("not an image")
    for number in range(21):
        (harness.place / f"{number}.png").write_bytes(png())
    async with chat(harness) as talk:
        feedback = await talk.talk.carry_out(line)
        assert feedback.refused
        assert not feedback.leaves
        assert told in str(feedback.lines)
        assert await sent(talk) == []


async def test_words_about_a_file_that_is_not_there_are_only_words(harness: AppHarness) -> None:
    async with chat(harness) as talk:
        await talk.types("draw a logo and write it to /tmp/no/such/logo.png")
        (item,) = await sent(talk)
    assert sent_images(item.envelope) == ()
