"""The manifest and the tests agree: every behaviour has a test, every marker a behaviour.

Markers are read from the source, not collected, so that each worker of a parallel run sees all of them.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.behaviours import BEHAVIOURS

TESTS = Path(__file__).parent

Test = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Marker(NamedTuple):
    place: str
    ids: tuple[str, ...]
    trouble: str = ""


def read_markers(place: str, source: str) -> list[Marker]:
    """Return every behaviour marker in `source`, those that prove nothing with their trouble."""
    tree = ast.parse(source)
    carried = {id(call) for root in carriers(tree) for call in marker_calls(root)}
    return [read_marker(f"{place}:{call.lineno}", call, id(call) in carried) for call in marker_calls(tree)]


def read_marker(place: str, call: ast.Call, carried: bool) -> Marker:
    if not carried:
        return Marker(place, (), "marks something that is not a test")
    ids = tuple(arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))
    if not ids or len(ids) < len(call.args) + len(call.keywords):
        return Marker(place, ids, "must name its behaviours as plain strings")
    return Marker(place, ids)


def carriers(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what may carry a marker: decorators of tests and test classes, and `pytestmark`."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if is_test(node):
                yield from node.decorator_list
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                yield value


def is_test(node: Test) -> bool:
    return node.name.startswith("Test" if isinstance(node, ast.ClassDef) else "test_")


def marker_calls(root: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(root):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {
            "pytest.mark.behaviour",
            "mark.behaviour",
        }:
            yield node


def disagreements(manifest: Mapping[str, str], markers: Iterable[Marker]) -> list[str]:
    """Return a line for each behaviour without a test, marker without a behaviour and unusable marker."""
    markers = list(markers)
    proved = {behaviour for marker in markers for behaviour in marker.ids}
    return [
        *(f"{marker.place} {marker.trouble}" for marker in markers if marker.trouble),
        *(
            f"{marker.place} proves {behaviour!r}, which is not in the manifest"
            for marker in markers
            for behaviour in marker.ids
            if behaviour not in manifest
        ),
        *(f"behaviour {behaviour!r} has no test" for behaviour in manifest if behaviour not in proved),
    ]


def markers_under(folder: Path) -> list[Marker]:
    return [
        marker
        for path in sorted(folder.rglob("*.py"))
        for marker in read_markers(str(path.relative_to(folder.parent)), path.read_text(encoding="utf-8"))
    ]


def test_every_behaviour_has_a_test_and_every_marker_a_behaviour() -> None:
    assert disagreements(BEHAVIOURS, markers_under(TESTS)) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("def test_a(): ...", [], id="no marker"),
        pytest.param(
            "@pytest.mark.behaviour('a', 'b')\nasync def test_a(): ...",
            [Marker("t.py:1", ("a", "b"))],
            id="on a coroutine",
        ),
        pytest.param(
            "@pytest.mark.behaviour('a')\nclass TestA:\n    @pytest.mark.behaviour('b')\n    def test_b(self): ...",
            [Marker("t.py:1", ("a",)), Marker("t.py:3", ("b",))],
            id="on a class and its method",
        ),
        pytest.param(
            "pytestmark = [pytest.mark.anyio, pytest.mark.behaviour('a')]",
            [Marker("t.py:1", ("a",))],
            id="on a module",
        ),
        pytest.param(
            "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.behaviour('a'))])\ndef test_a(x): ...",
            [Marker("t.py:1", ("a",))],
            id="on one case",
        ),
        pytest.param(
            "@pytest.mark.behaviour('a')\ndef make(): ...",
            [Marker("t.py:1", (), "marks something that is not a test")],
            id="on a plain function",
        ),
        pytest.param(
            "@pytest.mark.behaviour('a', NAME)\ndef test_a(): ...",
            [Marker("t.py:1", ("a",), "must name its behaviours as plain strings")],
            id="with a variable",
        ),
        pytest.param(
            "@pytest.mark.behaviour()\ndef test_a(): ...",
            [Marker("t.py:1", (), "must name its behaviours as plain strings")],
            id="without an id",
        ),
    ],
)
def test_a_planted_marker_is_read(source: str, expected: list[Marker]) -> None:
    assert sorted(read_markers("t.py", source)) == expected


def test_planted_disagreements_are_named_and_agreement_is_not() -> None:
    manifest = {"kept": "Mail is kept.", "lonely": "Nobody proves this."}
    markers = [Marker("t.py:1", ("kept",)), Marker("t.py:5", ("unknown",)), Marker("t.py:9", (), "is odd")]
    assert disagreements(manifest, markers) == [
        "t.py:9 is odd",
        "t.py:5 proves 'unknown', which is not in the manifest",
        "behaviour 'lonely' has no test",
    ]
    assert disagreements({"kept": "Mail is kept."}, markers[:1]) == []


def test_markers_are_found_in_files_of_nested_folders(tmp_path: Path) -> None:
    nested = tmp_path / "tests" / "core"
    nested.mkdir(parents=True)
    (nested / "test_a.py").write_text("@pytest.mark.behaviour('a')\ndef test_a(): ...\n", encoding="utf-8")
    assert markers_under(tmp_path / "tests") == [Marker("tests/core/test_a.py:1", ("a",))]
