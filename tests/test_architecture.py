"""The plan of the house, checked: who may import whom, what stays out of core, how large things get.

The rules read source text only; they are tested below on planted violations.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

import pytest

SRC = Path(__file__).parents[1] / "src"

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50

# The package itself: its own `__init__` as an importer, its public names as what is imported.
TOP = "deskmate"

ADAPTERS = ("stores", "models", "tools", "workspace", "launchers")

# Layer → what it may import of ours. Third-party packages are free outside core.
MAY_IMPORT: Mapping[str, frozenset[str]] = {
    "errors": frozenset(),
    "fs": frozenset({"fs", "core", "errors"}),
    "texts": frozenset(),
    "core": frozenset({"core", "errors", "texts"}),
    "ports": frozenset({"ports", "core", "errors"}),
    "config": frozenset({"config", "core", "errors", "fs"}),
    "runtime": frozenset({"runtime", "core", "ports", "errors", "texts"}),
    **{adapter: frozenset({adapter, "core", "ports", "errors", "fs"}) for adapter in ADAPTERS if adapter != "tools"},
    "tools": frozenset({"tools", "core", "ports", "errors", "texts"}),
    "mcp": frozenset({"mcp", "core", "errors", "fs", "ports", "texts", "tools", "workspace"}),
    "webpages": frozenset({"webpages", "core", "errors", "ports", "texts", "tools", "workspace"}),
    "telemetry": frozenset({"telemetry", "core", "errors", "fs", "ports"}),
    "testing": frozenset({"testing", "fs", "core", "ports", "runtime", "stores", "models.scripted", "errors", "app"}),
    "demo": frozenset({"demo", "core", "ports", "models.scripted", "models.wrapped_model", "errors"}),
    "hooks": frozenset({"hooks", "config", "core", "errors", "fs", "workspace"}),
    "trust": frozenset({"trust", "fs", "core", "ports", "stores", "workspace", "errors", "config"}),
    "queries": frozenset(
        {"queries", "fs", "trust", "core", "ports", "runtime", "stores", "workspace", "errors", "config"}
    ),
    "app": frozenset(
        {"app", "fs", "queries", "trust", "core", "ports", "runtime", "mcp", "hooks", "webpages", *ADAPTERS}
        | {"errors", "config", "demo", "telemetry"}
    ),
    "library": frozenset({"library", "app", "config", "trust", "core", "ports", "runtime", "tools", "errors", "texts"}),
    "faces": frozenset({"faces", "app", "hooks", "queries", "trust", "core", "errors", "fs", TOP}),
    "__main__": frozenset({"faces"}),
    TOP: frozenset({"core", "ports", "runtime", *ADAPTERS, "errors", "config", "app", "library"}),
}

CORE_THIRD_PARTY = frozenset({"pydantic", "cronsim"})

# Core decides, others do.
CORE_REFUSES = frozenset(
    {
        # clocks, chance and identity
        "time",
        "random",
        "secrets",
        "uuid",
        "sched",
        # files and the machine
        "os",
        "pathlib",
        "io",
        "sys",
        "glob",
        "shutil",
        "tempfile",
        "mmap",
        "fcntl",
        "sqlite3",
        "shelve",
        "fileinput",
        "getpass",
        "locale",
        "platform",
        # processes and concurrency
        "asyncio",
        "threading",
        "multiprocessing",
        "concurrent",
        "queue",
        "subprocess",
        "signal",
        "select",
        "selectors",
        # networks
        "socket",
        "socketserver",
        "ssl",
        "http",
        "urllib.request",
        # reporting and loading
        "logging",
        "warnings",
        "importlib",
        "ctypes",
    }
)
ENVIRONMENT = frozenset({"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"})
# What opens, creates, syncs or locks a file with care: `fs` has it once for all.
FILE_CARE = frozenset({"O_NOFOLLOW", "O_EXCL", "fsync", "fdatasync", "flock", "lockf", "mkstemp"})
# They open places, not files: `O_PATH` handles of folders.
PLACES = frozenset({"deskmate/workspace/sandbox/landlock.py", "deskmate/workspace/git/git_entries.py"})
CORE_REFUSES_CALLS = frozenset({"open", "print", "input"})
CORE_REFUSES_METHODS = frozenset({"now", "utcnow", "today"})


def violations(path: PurePosixPath, source: str) -> list[str]:
    """Return one line for each rule that `source`, standing at `path` below src, breaks."""
    tree = ast.parse(source)
    layer = layer_of_file(path)
    if layer not in MAY_IMPORT:
        return [f"{path}:1 is in {layer!r}, which is no layer of the table; move it or add the layer"]
    found = [*import_violations(path, layer, tree), *size_violations(path, source, tree)]
    if layer != "config":
        found += environment_violations(path, tree)
    if layer != "fs" and str(path) not in PLACES:
        found += file_violations(path, tree)
    return [*found, *purity_violations(path, tree)] if layer == "core" else found


def layer_of_file(path: PurePosixPath) -> str:
    inside = path.relative_to(TOP).with_suffix("").parts[0]
    return TOP if inside == "__init__" else inside


def import_violations(path: PurePosixPath, layer: str, tree: ast.Module) -> Iterator[str]:
    for line, target in imports(path, tree):
        if not may_import(layer, target):
            yield f"{path}:{line} imports {target}, which {layer} may not"


def imports(path: PurePosixPath, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and full name of all that is imported, wherever it stands; `from a import b` imports a.b."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(names=names):
                origin = origin_of(path, node)
                yield from ((node.lineno, f"{origin}.{alias.name}") for alias in names)


def origin_of(path: PurePosixPath, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    # The folder of a file is its package, for `__init__.py` too; each further dot is one folder up.
    package = path.parents[node.level - 1].parts
    return ".".join([*package, *filter(None, [node.module])])


def may_import(layer: str, target: str) -> bool:
    if target.split(".")[0] != TOP:
        return layer != "core" or core_may_import(target)
    inside = target.split(".")[1:]
    if not inside or inside[0] not in MAY_IMPORT:
        return TOP in MAY_IMPORT[layer]
    return any(is_within(".".join(inside), allowed) for allowed in MAY_IMPORT[layer])


def core_may_import(target: str) -> bool:
    if any(is_within(target, refused) for refused in CORE_REFUSES):
        return False
    return target.split(".")[0] in sys.stdlib_module_names | CORE_THIRD_PARTY


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def purity_violations(path: PurePosixPath, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.AsyncFunctionDef(name=name):
                yield f"{path}:{node.lineno} defines the coroutine {name}, core has none"
            case ast.Call(func=ast.Name(id=name)) if name in CORE_REFUSES_CALLS:
                yield f"{path}:{node.lineno} calls {name}, which core may not"
            case ast.Call(func=ast.Attribute(attr=name) as method) if name in CORE_REFUSES_METHODS:
                yield f"{path}:{node.lineno} calls {ast.unparse(method)}, which core may not"


def environment_violations(path: PurePosixPath, tree: ast.Module) -> Iterator[str]:
    """Yield each place that reads or changes the environment. Only config may: others get values as arguments."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in ENVIRONMENT:
                yield f"{path}:{node.lineno} uses os.{name}, which only config may"
            case ast.ImportFrom(module="os", names=names) if used := ENVIRONMENT & {alias.name for alias in names}:
                yield f"{path}:{node.lineno} uses os.{min(used)}, which only config may"


def file_violations(path: PurePosixPath, tree: ast.Module) -> Iterator[str]:
    """Yield each place that handles files with care by itself. Only fs may: others use its functions."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if name in FILE_CARE:
                yield f"{path}:{node.lineno} uses {ast.unparse(node)}, which only fs may"
            case ast.ImportFrom(names=names) if used := FILE_CARE & {alias.name for alias in names}:
                yield f"{path}:{node.lineno} uses {node.module}.{min(used)}, which only fs may"


def size_violations(path: PurePosixPath, source: str, tree: ast.Module) -> Iterator[str]:
    lines = len(source.splitlines())
    if lines > MAX_FILE_LINES:
        yield f"{path}:1 has {lines} lines, at most {MAX_FILE_LINES} are allowed"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                where = f"{path}:{node.lineno} {node.name}"
                yield f"{where} has {lines} lines, at most {MAX_FUNCTION_LINES} are allowed"


def test_the_source_keeps_to_the_plan() -> None:
    sources = sorted((SRC / TOP).rglob("*.py"))
    assert SRC / TOP / "__init__.py" in sources
    assert [
        violation
        for path in sources
        for violation in violations(PurePosixPath(path.relative_to(SRC).as_posix()), path.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "core/tasks.py",
            "from __future__ import annotations\nimport json, hashlib\nfrom datetime import datetime",
        ),
        (
            "core/tasks.py",
            "from pydantic import BaseModel\nfrom ..errors import Conflict\nfrom . import names",
        ),
        ("core/tasks.py", "from urllib.parse import quote\nimport re\nview.now\nstream.open()"),
        ("core/__init__.py", "from .tasks import Task\nfrom deskmate.core import names"),
        ("core/briefs.py", "from deskmate.texts import text"),
        ("errors.py", "import os\nimport httpx2"),
        ("ports.py", "from deskmate.core.names import Name\nimport anyio\nasync def wait(): ..."),
        ("config.py", "import os\nfrom deskmate.core import policy"),
        ("runtime/agent.py", "import anyio\nfrom deskmate.ports import Store\nfrom .board import Board"),
        (
            "stores/jsonl.py",
            "import fcntl\nfrom deskmate.stores.lines import pack\nfrom .. import errors, ports",
        ),
        ("testing/__init__.py", "from deskmate.models import scripted\nfrom ..runtime.agent import Agent"),
        ("testing/simulate.py", "from deskmate.models.scripted import ScriptedModel\nfrom . import clock"),
        ("demo/script.py", "from deskmate.models.scripted import Say\nfrom . import parts"),
        ("app.py", "from deskmate.stores.jsonl import JsonlStore\nfrom deskmate import config, demo, runtime"),
        (
            "faces/cli/main.py",
            "import click, deskmate\nfrom deskmate import Team, app\nfrom deskmate.core.team.tasks import Task",
        ),
        ("__init__.py", "from deskmate.core.names import Name\nfrom .app import open_team"),
        ("config/environment.py", "import os\n\nx = os.environ"),
        ("config/settings_loader.py", "from deskmate.fs.safe_files import read_regular"),
        ("faces/common/error_log.py", "from deskmate.fs.safe_files import append_private"),
        ("fs/a.py", "import os\n\nx = os.O_NOFOLLOW | os.O_EXCL"),
    ],
)
def test_what_the_plan_allows_passes(path: str, source: str) -> None:
    assert violations(PurePosixPath(TOP, path), source) == []


@pytest.mark.parametrize(
    ("path", "source", "offender"),
    [
        ("core/tasks.py", "import os", "1 imports os, which core may not"),
        ("core/tasks.py", "import os.path", "1 imports os.path, which core may not"),
        ("core/tasks.py", "from time import monotonic", "1 imports time.monotonic, which core may not"),
        ("core/tasks.py", "from urllib import request", "1 imports urllib.request, which core may not"),
        ("core/tasks.py", "import anyio", "1 imports anyio, which core may not"),
        ("core/tasks.py", "def f():\n    import uuid", "2 imports uuid, which core may not"),
        ("core/tasks.py", "from ..ports import Store", "1 imports deskmate.ports.Store, which core may not"),
        (
            "core/__init__.py",
            "from ..ports import Store",
            "1 imports deskmate.ports.Store, which core may not",
        ),
        ("core/a/b.py", "from ... import ports", "1 imports deskmate.ports, which core may not"),
        ("core/tasks.py", "from deskmate import Team", "1 imports deskmate.Team, which core may not"),
        ("core/tasks.py", "import deskmate", "1 imports deskmate, which core may not"),
        (
            "core/tasks.py",
            "if TYPE_CHECKING:\n    from deskmate.runtime.board import Board",
            "2 imports deskmate.runtime.board.Board, which core may not",
        ),
        ("core/tasks.py", "class A:\n    async def f(self): ...", "2 defines the coroutine f, core has none"),
        ("core/tasks.py", "datetime.now(UTC)", "1 calls datetime.now, which core may not"),
        ("core/tasks.py", "open('a')", "1 calls open, which core may not"),
        (
            "errors.py",
            "from deskmate.core import names",
            "1 imports deskmate.core.names, which errors may not",
        ),
        ("texts/__init__.py", "from deskmate.core import names", "1 imports deskmate.core.names, which texts may not"),
        ("ports.py", "from .runtime import agent", "1 imports deskmate.runtime.agent, which ports may not"),
        ("config.py", "from .ports import Store", "1 imports deskmate.ports.Store, which config may not"),
        ("runtime/agent.py", "from .. import stores", "1 imports deskmate.stores, which runtime may not"),
        ("runtime/agent.py", "import deskmate.config", "1 imports deskmate.config, which runtime may not"),
        *(
            (
                f"{one}/a.py",
                f"import deskmate.{other}.b",
                f"1 imports deskmate.{other}.b, which {one} may not",
            )
            for one in ADAPTERS
            for other in ("runtime", "app", *ADAPTERS)
            if one != other
        ),
        (
            "testing/chaos.py",
            "from deskmate.models import anthropic",
            "1 imports deskmate.models.anthropic, which testing may not",
        ),
        (
            "testing/chaos.py",
            "import deskmate.models.scripted_more",
            "1 imports deskmate.models.scripted_more, which testing may not",
        ),
        ("demo/parts.py", "from deskmate import runtime", "1 imports deskmate.runtime, which demo may not"),
        ("app.py", "from deskmate import testing", "1 imports deskmate.testing, which app may not"),
        ("app.py", "from deskmate.faces import cli", "1 imports deskmate.faces.cli, which app may not"),
        ("faces/cli.py", "from deskmate import stores", "1 imports deskmate.stores, which faces may not"),
        ("faces/cli.py", "from deskmate import runtime", "1 imports deskmate.runtime, which faces may not"),
        (
            "__init__.py",
            "from .testing import FakeClock",
            "1 imports deskmate.testing.FakeClock, which deskmate may not",
        ),
        ("__init__.py", "from deskmate import faces", "1 imports deskmate.faces, which deskmate may not"),
        ("app/a.py", "import os\n\nx = os.environ.get('A')", "3 uses os.environ, which only config may"),
        ("faces/a.py", "from os import getenv", "1 uses os.getenv, which only config may"),
        ("workspace/a.py", "def f(environ=os.environ): ...", "1 uses os.environ, which only config may"),
        ("faces/a.py", "os.open(x, os.O_RDONLY | os.O_NOFOLLOW)", "1 uses os.O_NOFOLLOW, which only fs may"),
        ("stores/a.py", "import fcntl\nfcntl.flock(x, 2)", "2 uses fcntl.flock, which only fs may"),
        ("config/a.py", "from tempfile import mkstemp", "1 uses tempfile.mkstemp, which only fs may"),
        ("utils.py", "", "1 is in 'utils', which is no layer of the table; move it or add the layer"),
        ("helpers/a.py", "", "1 is in 'helpers', which is no layer of the table; move it or add the layer"),
    ],
)
def test_a_planted_violation_is_named(path: str, source: str, offender: str) -> None:
    assert violations(PurePosixPath(TOP, path), source) == [f"{TOP}/{path}:{offender}"]


def function_of(lines: int) -> str:
    return "@decorated\ndef f():\n" + "    pass\n" * (lines - 1)


def test_a_file_may_reach_its_cap_and_no_further() -> None:
    path = PurePosixPath(TOP, "ports.py")
    assert violations(path, "a = 1\n" * 400) == []
    assert violations(path, "a = 1\n" * 401) == ["deskmate/ports.py:1 has 401 lines, at most 400 are allowed"]


def test_a_function_may_reach_its_cap_and_no_further() -> None:
    path = PurePosixPath(TOP, "ports.py")
    assert violations(path, function_of(50)) == []
    assert violations(path, function_of(51)) == ["deskmate/ports.py:2 f has 51 lines, at most 50 are allowed"]
