"""What the user did beside a message is read again as it was done."""

from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.prompt.user_frames import Addition, UserCommand, UserNote, parted
from deskmate.core.team.messages import Envelope, Plain
from deskmate.faces.common.items.mail_items import MailItem

TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126))
LINES = st.lists(TEXTS).map("\n".join)
NAMES = TEXTS.map(lambda text: " ".join(text.split()))
ADDITIONS = st.one_of(st.builds(UserCommand, NAMES, LINES, st.integers(-64, 255)), st.builds(UserNote, NAMES, LINES))


@given(st.lists(ADDITIONS))
def test_what_is_told_with_a_message_is_read_from_it(additions: list[Addition]) -> None:
    content = "\n\n".join(["look", *(one.frame for one in additions)])
    assert parted(content) == ("look", tuple(additions))


def test_a_message_of_the_user_says_what_was_run_and_one_of_an_agent_is_shown_as_it_is() -> None:
    content = f"look\n\n{UserCommand('make <all>', 'a & b', 2).frame}"
    mine, theirs = (
        MailItem("1", Envelope("1", sender, "lead", 1.0, Plain(content=content)), ("lead",))
        for sender in ("user", "alice")
    )
    assert (mine.words, mine.text) == ("look", "look\n\n$ make <all>\na & b\nexit status 2")
    assert theirs.text == content
