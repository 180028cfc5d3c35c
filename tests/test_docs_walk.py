"""The walk of a prompt names functions that exist and do something of their own.

The check reads source text only; it is tried below on planted mistakes.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.test_docs import ROOT, page, rows, section, snippets, ticked

Function = ast.FunctionDef | ast.AsyncFunctionDef
STEPS = 12
HOPS = ["keyboard", "mail", "decide", "model", "tool", "board", "teammate", "lead", "screen"]


def walk() -> list[list[str]]:
    return rows(section(page("explanation/design.md"), "The walk of a prompt"))


def function_named(source: str, name: str) -> Function | None:
    """Return the function of a module, or `Class.method`, with this name."""
    body: list[ast.stmt] = ast.parse(source).body
    *classes, last = name.split(".")
    for outer in classes:
        body = next((node.body for node in body if isinstance(node, ast.ClassDef) and node.name == outer), [])
    return next((node for node in body if isinstance(node, Function) and node.name == last), None)


def only_forwards(function: Function) -> bool:
    """Return whether a function only calls another one with its own arguments."""
    body = [node for node in function.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    match body:
        case [ast.Return(value=value) | ast.Expr(value=value)]:
            call = value.value if isinstance(value, ast.Await) else value
        case _:
            return False
    given = function.args
    own = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs) if one.arg not in ("self", "cls")]
    return isinstance(call, ast.Call) and list(passed(call)) == own


def passed(call: ast.Call) -> Iterator[str | None]:
    for value in (*call.args, *(keyword.value for keyword in call.keywords)):
        yield value.id if isinstance(value, ast.Name) else None


@pytest.mark.parametrize("row", walk(), ids=lambda row: ticked(row[3])[0])
def test_every_hop_is_a_function_in_its_file_that_does_something(row: list[str]) -> None:
    name, file = ticked(row[3])
    function = function_named((ROOT / "src/deskmate" / file).read_text(encoding="utf-8"), name)
    assert function is not None
    assert not only_forwards(function)


def test_the_walk_visits_every_station_and_every_step_of_the_drawing() -> None:
    stations = [row[1] for row in walk()]
    assert list(dict.fromkeys(stations)) == HOPS
    assert list(dict.fromkeys(int(row[0]) for row in walk())) == list(range(1, STEPS + 1))
    (drawing,) = snippets(section(page("explanation/design.md"), "The walk of a prompt"))
    numbered = [line.split()[0] for line in drawing.text.splitlines() if line[:2].strip()]
    assert numbered == [str(step) for step in range(1, STEPS + 1)]


@pytest.mark.parametrize(
    "source",
    [
        "def f(a, b):\n    return g(a, b)",
        'def f(self, a, *, b):\n    """Do it."""\n    self.g(a, b=b)',
        "async def f(self, a):\n    return await self._x.f(a)",
    ],
)
def test_a_planted_hop_that_only_forwards_is_found(source: str) -> None:
    function = function_named(source, "f")
    assert function is not None
    assert only_forwards(function)


@pytest.mark.parametrize(
    "source",
    ["def f(a):\n    return g(a, 1)", "def f(a):\n    return g(a + 1)", "def f(a):\n    check(a)\n    return g(a)"],
)
def test_a_hop_that_does_something_is_fine(source: str) -> None:
    function = function_named(source, "f")
    assert function is not None
    assert not only_forwards(function)


def test_a_function_that_is_not_there_is_missed() -> None:
    source = "class A:\n    def f(self): ...\ndef g(): ..."
    assert [function_named(source, name) is None for name in ("A.f", "g", "f", "A.g", "B.f")] == [
        False,
        False,
        True,
        True,
        True,
    ]
