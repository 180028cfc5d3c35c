"""No text that a model reads is in the dialect of earlier versions: it was taken for a bad translation."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import deskmate
from tests.texts.golden import FOLDER as GOLDEN

SOURCE = Path(deskmate.__file__).parent
# What reaches models is written in these; of faces, only people read.
LAYERS = ("core", "runtime", "tools", "workspace")

DIALECT = re.compile(
    r"\b(?:whoever|anew|mend(?:s|ed|ing)?|how-manieth|nowhere in the|be let be|at what you are at|what you are at"
    r"|bears?|stands? (?:in|there|beside|as)|(?:is|are) told (?:which|by yourself)|by yourself when"
    r"|for want of|in your own hands|stands? in for|too much to tell"
    r"|so that it is|to be begun|is there any more|is told by yourself"
    r"|behind (?:it|them|this|that)|who rests|is no (?:path|file|rule|tool|name|member) of)\b",
    re.IGNORECASE,
)


def literals(source: str) -> Iterator[str]:
    """Yield the texts in a module, f-strings with their places left out, but no docstrings."""
    tree = ast.parse(source)
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {
        id(first.value)
        for node in ast.walk(tree)
        if isinstance(node, owners) and _has_doc(node) and isinstance(first := node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def _has_doc(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return ast.get_docstring(node) is not None


def dialect_in(text: str) -> list[str]:
    return [found.group() for found in DIALECT.finditer(text)]


@pytest.mark.parametrize("folder", [SOURCE / "texts", GOLDEN], ids=["texts", "golden"])
def test_no_file_that_models_read_is_in_dialect(folder: Path) -> None:
    files = [*folder.rglob("*.md"), *folder.rglob("*.txt")]
    assert files
    assert {file.name: found for file in files if (found := dialect_in(file.read_text(encoding="utf-8")))} == {}


@pytest.mark.parametrize("folder", [SOURCE / "texts", GOLDEN], ids=["texts", "golden"])
def test_no_line_that_models_read_chains_sentences_with_semicolons(folder: Path) -> None:
    lines = [
        f"{file.name}: {line}"
        for file in (*folder.rglob("*.md"), *folder.rglob("*.txt"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    assert [line for line in lines if "; " in line] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_no_text_in_the_code_that_models_read_is_in_dialect(layer: str) -> None:
    files = sorted((SOURCE / layer).rglob("*.py"))
    assert files
    said = {
        f"{file.relative_to(SOURCE)}: {text}": found
        for file in files
        for text in literals(file.read_text(encoding="utf-8"))
        if (found := dialect_in(text))
    }
    assert said == {}


@pytest.mark.parametrize(
    "text",
    [
        "Whoever meets one is told which",
        "mend that, then try again",
        "what stands there was not read",
        "You are told by yourself when it ends",
        "it bears the id of its call",
        "look for it anew",
    ],
)
def test_a_planted_sentence_is_found(text: str) -> None:
    assert dialect_in(text)


def test_docstrings_are_not_read_by_models() -> None:
    assert list(literals('"""mend"""\ndef f():\n    """anew"""\n    return f"go {on} again"')) == ["go ", " again"]
