"""No two tests assert the same sentence, so that a better wording changes one test only."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

TESTS = Path(__file__).parent
# A sentence of at most so many words is a name or a status.
SHORT = 6


def repeated(sources: Mapping[str, str]) -> Iterator[str]:
    """Yield each sentence that is asserted by two tests or more, with their names."""
    places: defaultdict[str, set[str]] = defaultdict(set)
    for path, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for sentence in asserted(node):
                    places[sentence].add(f"{path}::{node.name}")
    yield from (f"{sentence}: {sorted(tests)}" for sentence, tests in sorted(places.items()) if len(tests) > 1)


def asserted(test: ast.AST) -> Iterator[str]:
    """Yield the sentences in the assertions of a test, and in what it expects errors to say."""
    for node in ast.walk(test):
        if isinstance(node, ast.Assert):
            yield from sentences(node.test)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "raises":
            yield from (sentence for keyword in node.keywords for sentence in sentences(keyword.value))


def sentences(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            parts = (part.strip(" .").split() for part in one.value.replace("\n", " ").split(". "))
            yield from (" ".join(words) for words in parts if len(words) > SHORT)


def test_no_sentence_is_asserted_by_two_tests() -> None:
    sources = {str(path.relative_to(TESTS)): path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    assert list(repeated(sources)) == []


def test_a_sentence_in_two_tests_is_found_and_a_short_one_is_not() -> None:
    long, short = "one two three four five six seven", "one two three"
    first = f"def test_a():\n    assert text == 'Well. {long}.'\n    assert text == '{long}'\n    assert x == '{short}'"
    second = f"async def test_b():\n    with pytest.raises(E, match='{long}'):\n        x\n    assert y == '{short}'"
    assert list(repeated({"a.py": first, "b.py": second})) == [f"{long}: ['a.py::test_a', 'b.py::test_b']"]
