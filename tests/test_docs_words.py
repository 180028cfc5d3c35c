"""Pages, help texts, errors and the public API are in plain English: what confused readers does not come back.

The help texts are on the page of the commands. Code, outputs and names in code style are left out.
"""

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import deskmate
from deskmate import errors, testing
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
    r"(?<!there )is no (?:file|team|record|mail|command|setting|model)": "is not a",
}
# Pages may explain these. In an error there is no room for that.
AVOID_IN_ERRORS = {
    **AVOID,
    r"; ": "two sentences, or a message and a hint",
    r"begun|began": "started",
    r"founded": "created, started",
    r"put away": "archived",
    r"(?:goes|go|going|went) on": "continue",
    r"(?:plays|played)": "runs",
    r"(?<!there )is no(?! longer)": "is not a",
    r"holds": "has, contains",
    r"unasked|unconfined": "without asking, without a sandbox",
    r"(?:is|are|was) (?:there|not there)": "exists, does not exist",
    r"put (?:it|that|the \w+) back": "restore",
    r"left out": "skipped",
}
_TICKED = re.compile(r"`[^`\n]*`")


def avoided(text: str, avoid: Mapping[str, str] = AVOID) -> list[str]:
    """Return each phrase to avoid that a text has, with what to write instead."""
    words = _TICKED.sub("", prose(text))
    return [
        f"{found[0]}: write {instead}"
        for pattern, instead in avoid.items()
        for found in re.finditer(rf"(?:\b|(?=;))(?:{pattern})(?:\b|(?<= ))", words, re.IGNORECASE)
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


UNIONS = {"Answer", "Delta", "Event"}
PUBLIC = [
    pytest.param(text, id=name)
    for package in (deskmate, testing)
    for public in package.__all__
    # A union of types has no docstring of its own.
    if public not in UNIONS
    for name, text in docstrings(public, getattr(package, public))
]


@pytest.mark.parametrize("text", PUBLIC)
def test_the_docstring_of_a_public_name_has_none_either(text: str) -> None:
    assert text
    assert avoided(text) == []


# -- errors and logs --------------------------------------------------------------------------------

SOURCE = ROOT / "src/deskmate"
ERRORS = {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, (errors.DeskmateError, errors.Problem, errors.SystemProblem))
} - {"ToolError"}


def error_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the literal texts in each error, warning and log message that a module makes, with their lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (_name(node.func) in ERRORS or _logs(node.func)):
            for part in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield from (
                    (one.lineno, one.value)
                    for one in ast.walk(part)
                    if isinstance(one, ast.Constant) and isinstance(one.value, str)
                )


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _logs(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and _name(node.value) == "_LOG"


MODULES = sorted(path for path in SOURCE.rglob("*.py") if list(error_texts(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(SOURCE)) for path in MODULES])
def test_an_error_or_a_log_message_has_none_either(path: Path) -> None:
    texts = error_texts(path.read_text(encoding="utf-8"))
    assert [f"line {line}: {one}" for line, text in texts for one in avoided(text, AVOID_IN_ERRORS)] == []


@pytest.mark.parametrize(
    "source",
    [
        'raise Refused("there is none; make one")',
        'raise errors.Refused(f"{name} is no team")',
        'raise StoreError("no", f"go on with {name}")',
        '_LOG.warning("a team was founded: %s", name)',
        'Problem("x", hint="mend it")',
    ],
)
def test_a_planted_error_is_found(source: str) -> None:
    assert [one for _, text in error_texts(source) for one in avoided(text, AVOID_IN_ERRORS)]


@pytest.mark.parametrize("source", ['print("a; b")', 'Refused("There is no team", "Run: deskmate run")'])
def test_other_code_and_plain_errors_are_fine(source: str) -> None:
    assert [one for _, text in error_texts(source) for one in avoided(text, AVOID_IN_ERRORS)] == []


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
