"""What a menu offers for a typed word."""

import pytest

from deskmate.faces.common.chat.chat_commands import COMMANDS
from deskmate.faces.common.chat.completions import (
    Completion,
    FileList,
    TypedWord,
    command_completions,
    mention_completions,
    word_at,
)

MEMBERS = [("lead", ""), ("alice", "dev")]
FILES = ["src/http/client.py", "docs/my notes.md", "src/html.py", "README.md"]


@pytest.mark.parametrize(
    ("before", "word"),
    [
        ("/", TypedWord(0, "/", "")),
        ("/mo", TypedWord(0, "/", "mo")),
        ("/mode ", None),
        ("//etc", None),
        ("see /etc", None),
        ("@", TypedWord(0, "@", "")),
        ("look at @src/h", TypedWord(8, "@", "src/h")),
        ("one\n@al", TypedWord(4, "@", "al")),
        ("me@example.org", None),
        ("@@home", None),
        ("@alice hi", None),
        ("", None),
    ],
)
def test_a_command_is_the_first_word_and_a_mention_is_any(before: str, word: TypedWord | None) -> None:
    assert word_at(before) == word


def test_commands_that_begin_with_the_letters_come_first() -> None:
    assert [one.name.split()[0] for one in command_completions("")] == [f"/{name}" for name in COMMANDS]
    assert [one.insert for one in command_completions("mod")][:2] == ["/mode ", "/model "]
    assert command_completions("model")[0].insert == "/model "
    assert command_completions("qstn")[0].insert == "/questions"
    assert command_completions("xyzzy") == []


def test_a_command_that_needs_more_words_is_not_complete() -> None:
    assert {one.insert: one.complete for one in command_completions("st")}["/stop "] is False
    assert {one.insert: one.complete for one in command_completions("te")}["/team"] is True


def test_members_come_before_files_and_files_keep_the_sign() -> None:
    found = mention_completions("", MEMBERS, FILES)
    assert found[:3] == [
        Completion("@lead", "@lead ", ""),
        Completion("@alice", "@alice ", "dev"),
        Completion("@all", "@all ", "everybody on the team"),
    ]
    assert [one.insert for one in found[3:]] == [
        "@src/http/client.py ",
        '@"docs/my notes.md" ',
        "@src/html.py ",
        "@README.md ",
    ]


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("al", "@alice"),
        ("htm", "src/html.py"),
        ("src/ht", "src/http/client.py"),
        ("clnt", "src/http/client.py"),
        ("read", "README.md"),
    ],
)
def test_letters_are_found_anywhere_in_a_name_and_its_beginning_counts_most(typed: str, first: str) -> None:
    assert mention_completions(typed, MEMBERS, FILES)[0].name == first


def test_many_equal_letters_in_a_long_path_take_no_time() -> None:
    assert mention_completions("a" * 24, [], ["a/" * 200 + "b", "b"])[0].name.startswith("a/")


@pytest.mark.anyio
async def test_in_a_large_folder_files_are_also_found_by_their_name() -> None:
    asked: list[str] = []

    async def find(pattern: str) -> list[str]:
        asked.append(pattern)
        return [f"new/{n}.py" for n in range(1000)] if len(asked) == 1 else ["old/a-b.py", "new/1.py"]

    files = FileList(find)
    assert len(await files.load()) == 1000
    assert (await files.like("old/a-B"))[:3] == ["old/a-b.py", "new/1.py", "new/0.py"]
    assert asked[1] == "**/*[aA]?[bB]*"
    assert len(await files.like("")) == 1000


@pytest.mark.anyio
async def test_in_a_small_folder_the_list_is_read_once() -> None:
    asked: list[str] = []

    async def find(pattern: str) -> list[str]:
        asked.append(pattern)
        return FILES

    files = FileList(find)
    await files.load()
    assert (await files.like("x"), len(asked)) == (FILES, 1)
