"""Folders, checked: each maps its modules, none is crowded, no name is used twice, no imports are circular.

The rules read source text only; they are tested below on planted violations.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

import pytest

from tests.test_architecture import SRC, TOP, imports

MAX_FILES = 14

# Path below src → source.
Sources = Mapping[PurePosixPath, str]


def module_of(path: PurePosixPath) -> str:
    return ".".join((path.parent if path.stem == "__init__" else path.with_suffix("")).parts)


def map_violations(sources: Sources) -> Iterator[str]:
    """Yield each module that its folder's docstring does not name at the start of a line, and each name of none."""
    for init in (path for path in sources if path.stem == "__init__" and path.parent.parts != (TOP,)):
        modules = {path.stem for path in sources if path.parent == init.parent and path != init}
        folders = {
            path.parent.name for path in sources if path.stem == "__init__" and path.parent.parent == init.parent
        }
        text = ast.get_docstring(ast.parse(sources[init])) or ""
        # The map is the second paragraph. A name with a dot is that of another kind of file.
        rows = (*text.split("\n\n"), "", "")[1].splitlines()
        named = {name for row in rows if row.strip() and "." not in (name := row.split()[0])}
        yield from (f"{init} does not map {name}" for name in sorted((modules | folders) - named))
        yield from (f"{init} maps {name}, which is not there" for name in sorted(named - modules - folders))


def crowded(sources: Sources) -> Iterator[str]:
    for folder, count in Counter(path.parent for path in sources).items():
        if count > MAX_FILES:
            yield f"{folder} has {count} files, at most {MAX_FILES} are allowed"


def used_twice(sources: Sources) -> Iterator[str]:
    """Yield each name that two modules, or two public classes, have."""
    modules = Counter(path.stem for path in sources if path.stem not in ("__init__", "__main__"))
    yield from (f"two modules are named {name}" for name, count in sorted(modules.items()) if count > 1)
    trees = (ast.parse(source) for source in sources.values())
    classes = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    public = {name: count for name, count in classes.items() if not name.startswith("_")}
    yield from (f"two classes are named {name}" for name, count in sorted(public.items()) if count > 1)


def circles(sources: Sources) -> Iterator[str]:
    """Yield the modules that import each other, however long the way and wherever the import is written."""
    ways = import_graph(sources)
    while ends := [module for module, targets in ways.items() if not targets & ways.keys()]:
        for module in ends:
            del ways[module]
    if ways:
        yield f"these import each other, or what does: {', '.join(sorted(ways))}"


def import_graph(sources: Sources) -> dict[str, set[str]]:
    modules = {module_of(path) for path in sources}

    def target(name: str) -> str | None:
        return name if name in modules else parent if (parent := name.rpartition(".")[0]) in modules else None

    return {
        module_of(path): {
            found
            for _, name in imports(path, ast.parse(source))
            if (found := target(name)) is not None and found != module_of(path)
        }
        for path, source in sources.items()
    }


CHECKS = (map_violations, crowded, used_twice, circles)


def violations(sources: Sources) -> list[str]:
    return [violation for check in CHECKS for violation in check(sources)]


def read(folder: Path) -> Sources:
    return {
        PurePosixPath(path.relative_to(folder.parent).as_posix()): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.py"))
    }


def test_the_source_is_sorted_as_its_maps_say() -> None:
    sources = read(SRC / TOP)
    assert PurePosixPath(TOP, "core", "agent", "rules", "decide.py") in sources
    assert violations(sources) == []


ROOM = {
    PurePosixPath(TOP, "a/__init__.py"): '"""A room.\n\none  the first\ntwo  the second\n"""',
    PurePosixPath(TOP, "a/one.py"): "class One: ...",
    PurePosixPath(TOP, "a/two.py"): "from deskmate.a.one import One\nclass Two: ...",
}


@pytest.mark.parametrize(
    ("path", "source", "said"),
    [
        ("a/three.py", "", "deskmate/a/__init__.py does not map three"),
        ("a/b/__init__.py", '"""B."""', "deskmate/a/__init__.py does not map b"),
        (
            "a/__init__.py",
            '"""A room.\n\none  1\ntwo  2\nsix  6\n"""',
            "deskmate/a/__init__.py maps six, which is not there",
        ),
        ("c/two.py", "", "two modules are named two"),
        ("c/four.py", "class One: ...", "two classes are named One"),
        (
            "a/one.py",
            "def f():\n    from deskmate.a import two",
            "these import each other, or what does: deskmate.a.one, deskmate.a.two",
        ),
    ],
)
def test_a_planted_violation_is_found(path: str, source: str, said: str) -> None:
    assert violations(ROOM) == []
    assert violations({**ROOM, PurePosixPath(TOP, path): source}) == [said]


def test_a_folder_may_be_full_and_not_fuller() -> None:
    full = {PurePosixPath(TOP, "c", f"m{number}.py"): "" for number in range(MAX_FILES)}
    assert violations(full) == []
    assert violations({**full, PurePosixPath(TOP, "c/one_more.py"): ""}) == [
        "deskmate/c has 15 files, at most 14 are allowed"
    ]
