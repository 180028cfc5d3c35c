"""Which images a typed text names."""

from pathlib import Path

import pytest

from deskmate.errors import Refused
from deskmate.faces.common.mentions.image_paths import as_mention, begins_with_image, images_in, mention_of
from tests.sample_images import png

NAMES = ("shot.png", "my shot.PNG", "it's.jpg", 'a "b".webp', "back\\slash.gif")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).write_bytes(png())
    (tmp_path / "notes.txt").write_text("hello")
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("what is @shot.png?", ["shot.png"]),
        ("(see @shot.png, then go on)", ["shot.png"]),
        ("@shot.png", ["shot.png"]),
        ('@"my shot.PNG" and @my\\ shot.PNG', ["my shot.PNG"]),
        ("@./shot.png @shot.png", ["shot.png"]),
        ("look: {place}/shot.png", ["shot.png"]),
        ("'{place}/my shot.PNG' is wrong", ["my shot.PNG"]),
        ('"{place}/my shot.PNG" is wrong', ["my shot.PNG"]),
        ("{place}/my\\ shot.PNG is wrong", ["my shot.PNG"]),
        ("{place}/my shot.PNG", ["my shot.PNG"]),
        ("{place}/it\\'s.jpg {place}/shot.png", ["it's.jpg", "shot.png"]),
        ("file://{place}/my%20shot.PNG", ["my shot.PNG"]),
        ("see file://localhost{place}/shot.png.", ["shot.png"]),
        ("line one\n@shot.png\nline three", ["shot.png"]),
    ],
)
def test_an_image_is_named_as_people_type_and_terminals_drop_it(place: Path, typed: str, names: list[str]) -> None:
    assert images_in(typed.format(place=place), place) == tuple(place / name for name in names)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "shot.png is wrong",
        "make logo.png",
        "write it to /tmp/there/is/no/such.png",
        "icon@2x.png",
        "@@shot.png",
        "me@shot.png",
        "`{place}/shot.png`",
        "import logo from '@/assets/logo.png'",
        "@notes.txt {place}/notes.txt",
        "@alice hello",
        "{place}",
    ],
)
def test_other_words_name_no_image(place: Path, typed: str) -> None:
    assert images_in(typed.format(place=place), place) == ()


def test_an_image_that_is_named_and_not_there_is_refused_with_its_path(place: Path) -> None:
    with pytest.raises(Refused, match=r"gone\.png"):
        images_in("what is @gone.png?", place)


def test_a_text_that_begins_with_an_image_is_neither_a_command_nor_for_a_member(place: Path) -> None:
    begins = [f"{place}/shot.png what?", "@shot.png what?", "@gone.png what?", f"'{place}/my shot.PNG'"]
    others = ["/help", "@alice @shot.png", "see @shot.png", "/gone.png", "@@shot.png"]
    assert [text for text in (*begins, *others) if begins_with_image(text, place)] == begins


@pytest.mark.parametrize("name", NAMES)
def test_a_pasted_path_becomes_a_mention_that_names_the_image(place: Path, name: str) -> None:
    path = place / name
    for pasted in (str(path), f"{path}\n", path.as_uri(), mention_of(str(path))):
        mention = as_mention(pasted)
        assert mention is not None
        assert images_in(f"see {mention} please", place) == (path,)


def test_a_pasted_text_that_is_more_than_a_path_stays_as_it_is(place: Path) -> None:
    for pasted in (
        "hello",
        "",
        "shot.png",
        f"see {place}/shot.png",
        f"{place}/gone.png",
        f"{place}/notes.txt",
        "@gone.png",
    ):
        assert as_mention(pasted) is None
