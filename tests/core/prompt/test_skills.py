"""Skills: what a `SKILL.md` says of itself, and what is said of one that does not."""

import pytest

from deskmate.core.prompt.skills import DESCRIPTION_CAP, Skill, read_skill
from deskmate.errors import BadInput

FOLDER = "/skills/tidy"


def front(lines: str, body: str = "Sweep first.") -> str:
    return f"---\n{lines}\n---\n{body}"


@pytest.mark.behaviour("skills")
def test_front_matter_names_it_and_the_body_is_kept_apart() -> None:
    text = front("name: tidy\ndescription: Tidies up.", "\n# How\n\n---\n\nSweep first.\n")
    assert read_skill(text, FOLDER) == Skill("tidy", "Tidies up.", "# How\n\n---\n\nSweep first.", FOLDER)


@pytest.mark.behaviour("skills")
@pytest.mark.parametrize(
    ("lines", "description"),
    [
        ("name: tidy\ndescription: Use: when it is dirty", "Use: when it is dirty"),
        ('name: "tidy"\ndescription: "Tidies up."', "Tidies up."),
        ("name: 'tidy'\ndescription: 'Tidies up.'", "Tidies up."),
        ("name: tidy\ndescription: Sweeps what is 'dirty'", "Sweeps what is 'dirty'"),
        ("license: MIT\nname: tidy\nallowed-tools:\n  - bash\ndescription: Tidies up.", "Tidies up."),
        ("name: tidy\ndescription: >\n  Tidies up\n  in two lines.", "Tidies up in two lines."),
        ("name: tidy\ndescription: |-\n  Tidies up\n  in two lines.", "Tidies up in two lines."),
        ("name: tidy\ndescription: Tidies up\n  in two lines.", "Tidies up in two lines."),
        ("# a comment\n\nname: tidy   \ndescription:\tTidies up.  ", "Tidies up."),
    ],
)
def test_fields_are_read_as_people_write_them(lines: str, description: str) -> None:
    for text in (front(lines), front(lines).replace("\n", "\r\n")):
        assert read_skill(text, FOLDER) == Skill("tidy", description, "Sweep first.", FOLDER)


def test_a_file_that_begins_with_a_byte_order_mark_is_read_all_the_same() -> None:
    assert read_skill("\ufeff" + front("name: tidy\ndescription: Tidies up."), FOLDER).name == "tidy"


def test_a_body_may_be_missing() -> None:
    assert read_skill("---\nname: tidy\ndescription: Tidies up.\n---", FOLDER).body == ""


def test_a_long_description_is_cut_since_it_stands_in_every_prompt() -> None:
    skill = read_skill(front(f"name: tidy\ndescription: {'x' * 1000}"), FOLDER)
    assert skill.description == "x" * DESCRIPTION_CAP


@pytest.mark.behaviour("skills")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no front matter"),
        ("# Tidy\n\nSweep first.", "has no front matter"),
        ("---\nname: tidy\ndescription: never ends", "has no front matter"),
        (front("description: Tidies up."), "has no name"),
        (front("name: tidy"), "has no description"),
        (front("name:\ndescription: >"), "has no name and no description"),
        (front("name: ../../etc\ndescription: Tidies up."), "is not a valid skill name"),
    ],
)
def test_a_broken_one_is_refused_with_what_is_missing(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        read_skill(text, FOLDER)
    assert f"{FOLDER}/SKILL.md" in str(caught.value)
