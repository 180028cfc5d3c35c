"""Pages, help texts and the public API are in plain English: words and phrases that confused readers do not come back.

The help texts are on the page of the commands. Code, outputs and names in code style are left out.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import deskmate
from deskmate import testing
from tests.test_docs import DOCS, ROOT, names, prose

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")])
# What to avoid, as a regular expression, and what to write.
AVOID = {
    r"who(?:m|so)?ever": "the person who, the process that",
    r"anew": "again",
    r"mend(?:s|ed|ing)?": "fix",
    r"how-manieth": "which",
    r"(?:stands?|stood|standing) (?:there|in|on|at|for|behind|below|above|beside)": "is in, is for",
    r"what stands|as it stands": "what is there, as it is",
    r"bears?|borne": "has, contains",
    r"heed(?:s|ed)?": "use, obey",
    r"err(?:s|ed)": "fail",
    r"amiss": "wrong",
    r"hearers?": "recipient",
    r"lest": "so that … not",
    r"thereof|therein|whereof": "of it, in it",
    r"can not": "cannot",
    r"by (?:your|its|their) own hand": "yourself",
    r"(?:a|an|the) \w+ of yours": "your",
    r"(?:told|said|shown) by itself": "notified",
    r"where (?:nobody|nothing|none|neither|possible|needed)": "if nobody, if nothing",
    r"(?:goes|go|going|went) on (?:where|with|as|after|above)": "continue",
    r"behind (?:it|them|this|that|these)": "after it",
    r"who (?:plays|sits|owes|rests)": "the member that",
    r"is no (?:file|team|record|mail|command|setting|model)": "is not a",
}
_TICKED = re.compile(r"`[^`\n]*`")


def avoided(text: str) -> list[str]:
    """Return each phrase to avoid that a page has, with what to write instead."""
    words = _TICKED.sub("", prose(text))
    return [
        f"{found[0]}: write {instead}"
        for pattern, instead in AVOID.items()
        for found in re.finditer(rf"\b(?:{pattern})\b", words, re.IGNORECASE)
    ]


@pytest.mark.parametrize("path", PAGES, ids=names(PAGES))
def test_a_page_has_no_phrase_that_confused_readers(path: Path) -> None:
    assert avoided(path.read_text(encoding="utf-8")) == []


def docstrings(name: str, found: object) -> Iterator[tuple[str, str]]:
    """Yield what the API reference shows of a public name: its docstring and those of its public methods."""
    yield name, inspect.getdoc(found) or ""
    for below, member in list(vars(found).items()) if inspect.isclass(found) else ():
        member = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(member) and not below.startswith("_"):
            yield f"{name}.{below}", inspect.getdoc(member) or ""


PUBLIC = [
    pytest.param(text, id=name)
    for package in (deskmate, testing)
    for public in package.__all__
    for name, text in docstrings(public, getattr(package, public))
]


@pytest.mark.parametrize("text", PUBLIC)
def test_the_docstring_of_a_public_name_has_none_either(text: str) -> None:
    assert text
    assert avoided(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Whoever meets one is told which.",
        "Mend that, then try anew.",
        "What stands there is read.",
        "It bears a number.",
        "Where nobody answers, it is denied.",
        "It goes on where it was.",
    ],
)
def test_a_planted_phrase_is_found(text: str) -> None:
    assert avoided(text)


@pytest.mark.parametrize(
    "text",
    ["The file `anew` is recommended.", "```text\nmend\n```\n", "Look where the file is.", "A stand-in is a name."],
)
def test_plain_words_and_code_are_fine(text: str) -> None:
    assert avoided(text) == []
