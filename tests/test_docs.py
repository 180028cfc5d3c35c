"""The pages say what is so: snippets run, links lead somewhere, tables and examples match the code.

The checks read text only; they are tried below on planted mistakes.
"""

import json
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from deskmate.core.agent import entries
from deskmate.core.agent.rules import decide, end_of_run
from deskmate.core.goals import GoalRound
from deskmate.core.hosts import host_records
from deskmate.core.log.facts import Foreign, reader
from deskmate.core.log.records import Json, Record
from deskmate.core.mcp.forms import FormField
from deskmate.core.radar.overlaps import Overlap
from deskmate.core.schedule import schedules
from deskmate.core.team import members, messages, roster_fold, roster_records, spending, tasks
from deskmate.core.travel import code_records, payload_chunks
from deskmate.stores.projections import config, task_file
from tests.test_architecture import MAY_IMPORT
from tests.test_behaviours import read_markers

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FOLDERS = ("docs", "benchmarks", "examples", "src", "tests")
PAGES = sorted([*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))])
# Folders that exist where this was written and nowhere else.
FORBIDDEN = re.compile(r"/wor[k]\b|\bshare[d]/")
SECONDS = 120

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_TICKED = re.compile(r"`([^`]+)`")
# A bar between cells; one after a backslash belongs to its cell.
_BAR = re.compile(r"(?<!\\)\|")


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def names(paths: Iterable[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


# -- reading pages --------------------------------------------------------------------------------


class Snippet(NamedTuple):
    language: str
    text: str


def snippets(text: str) -> list[Snippet]:
    return [Snippet(*found.groups()) for found in _FENCE.finditer(text)]


def runnable(text: str) -> list[Snippet]:
    return [snippet for snippet in snippets(text) if snippet.text.startswith("# runs")]


def prose(text: str) -> str:
    return _FENCE.sub("", text)


def section(text: str, heading: str) -> str:
    """Return what stands under a heading of the second level, which must be there."""
    _, found, rest = f"\n{text}".partition(f"\n## {heading}\n")
    assert found, f"there is no heading '## {heading}'"
    return rest.partition("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of every row of the tables in `text`, heads and rules left out."""
    lines = [_BAR.split(line.strip().strip("|")) for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line] for line in lines]
    rules = [index for index, row in enumerate(cells) if set(row[0]) <= set(":-")]
    return [row for index, row in enumerate(cells) if index not in rules and index + 1 not in rules]


def ticked(cell: str) -> list[str]:
    return _TICKED.findall(cell)


def anchors(text: str) -> set[str]:
    """Return what links to the headings of a page end with."""
    headings = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


# -- links and words ------------------------------------------------------------------------------


def dead_links(path: Path, text: str) -> list[str]:
    """Return the links of a page that lead to no file or no heading; addresses on the web are not asked."""
    return [link for link in _LINK.findall(prose(text)) if "://" not in link and not leads(path, text, link)]


def leads(path: Path, text: str, link: str) -> bool:
    where, _, anchor = link.partition("#")
    if where:
        target = path.parent / where
        if not target.exists():
            return False
        text = target.read_text(encoding="utf-8") if anchor else ""
    return not anchor or anchor in anchors(text)


@pytest.mark.parametrize("path", PAGES, ids=names(PAGES))
def test_every_link_leads_somewhere_and_no_page_speaks_of_this_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert dead_links(path, text) == []
    assert FORBIDDEN.findall(text) == []


def test_every_page_is_in_an_index() -> None:
    linked = {
        (index.parent / link.split("#")[0]).resolve()
        for index in DOCS.rglob("index.md")
        for link in _LINK.findall(index.read_text(encoding="utf-8"))
    }
    top = DOCS / "index.md"
    assert {path for path in DOCS.rglob("*.md") if path not in linked | {top}} == set()


def test_a_planted_word_of_one_machine_is_found() -> None:
    assert FORBIDDEN.findall("in /wor" + "k, under share" + "d/x, in <workspace>/workers") == [
        "/wor" + "k",
        "share" + "d/",
    ]


def test_a_planted_dead_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A `heading` here\n", encoding="utf-8")
    text = "# Top\n[a](there.md) [b](there.md#a-heading-here) [c](#top) [d](https://example.org/x)\n"
    assert dead_links(tmp_path / "page.md", text) == []
    text = "# Top\n[a](gone.md) [b](there.md#gone) [c](#gone)\n```\n[d](code.md)\n```\n"
    assert dead_links(tmp_path / "page.md", text) == ["gone.md", "there.md#gone", "#gone"]


# -- snippets -------------------------------------------------------------------------------------

RUNNING = [path for path in PAGES if runnable(path.read_text(encoding="utf-8"))]


def run(snippet: Snippet, folder: Path) -> None:
    """Run a snippet in `folder`, in a process of its own; fail with its words if it fails."""
    script = folder / {"python": "test_snippet.py", "sh": "snippet.sh"}[snippet.language]
    script.write_text(snippet.text, encoding="utf-8")
    ended = subprocess.run(
        [*command(snippet), script.name],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    script.unlink()
    assert ended.returncode == 0, f"{snippet.text}\n{ended.stdout}{ended.stderr}"


def command(snippet: Snippet) -> list[str]:
    if snippet.language == "sh":
        return ["sh", "-eu"]
    if snippet.text.startswith("# runs under pytest"):
        return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return [sys.executable, "-W", "error"]


@pytest.mark.parametrize("path", RUNNING, ids=names(RUNNING))
def test_the_snippets_of_a_page_run_one_after_another(path: Path, tmp_path: Path) -> None:
    left_out = False
    for snippet in runnable(path.read_text(encoding="utf-8")):
        if snippet.language == "sh" and not shutil.which("jq"):
            left_out = True
        else:
            run(snippet, tmp_path)
    if left_out:
        pytest.skip("jq is not installed: all but the shell snippets ran")


def test_the_pages_with_snippets_are_these() -> None:
    assert names(RUNNING) == [
        "docs/reference/formats/index.md",
        "docs/reference/models.md",
        "docs/reference/testing.md",
    ]


@pytest.mark.parametrize(
    "snippet",
    [
        Snippet("python", "# runs\nassert False"),
        Snippet("python", "# runs under pytest\ndef test_a(): assert False"),
        Snippet("python", "# runs under pytest\n"),
        Snippet("sh", "# runs\nfalse\ntrue"),
    ],
)
def test_a_planted_snippet_that_fails_is_found(snippet: Snippet, tmp_path: Path) -> None:
    assert runnable(f"text\n```{snippet.language}\n{snippet.text}\n```\n") == [
        snippet._replace(text=f"{snippet.text}\n")
    ]
    with pytest.raises(AssertionError):
        run(snippet, tmp_path)


# -- kinds and fields -----------------------------------------------------------------------------


class Format(NamedTuple):
    name: str
    kinds: tuple[type[BaseModel], ...]
    read: Callable[[Json], object]
    shapes: tuple[type[BaseModel], ...] = ()


# Both kinds of streams are on one page.
_READ_CODE = reader(*code_records.KINDS, *payload_chunks.KINDS)

FORMATS = [
    Format("mail", messages.KINDS, messages.read_envelope, (messages.SentImage, FormField)),
    Format("roster", roster_records.KINDS, roster_records.read_event),
    Format("spend", spending.KINDS, spending.read_spent),
    Format("schedule", schedules.KINDS, schedules.read_schedule_event),
    Format("hosts", host_records.KINDS, host_records.read_host_event),
    Format("code", (*code_records.KINDS, *payload_chunks.KINDS), _READ_CODE, (code_records.Payload,)),
    Format("board", tasks.KINDS, tasks.read_event, (tasks.Receipt, Overlap)),
    Format(
        "transcript",
        entries.KINDS,
        entries.read_entry,
        (entries.Call, entries.Opened, entries.Answered, entries.WorkMode, GoalRound),
    ),
]
each_format = pytest.mark.parametrize("stream", FORMATS, ids=[stream.name for stream in FORMATS])


def in_code(kinds: Iterable[type[BaseModel]]) -> dict[str, set[str]]:
    """Return the fields of each kind, `?` behind those that may be missing."""
    return {kind_of(kind): set(fields_of(kind)) for kind in kinds}


def kind_of(kind: type[BaseModel]) -> str:
    named = kind.model_fields.get("type")
    return named.default if named else kind.__name__


def fields_of(kind: type[BaseModel]) -> Iterator[str]:
    for name, field in kind.model_fields.items():
        if name != "type":
            yield name if field.is_required() else f"{name}?"


def in_table(text: str) -> dict[str, set[str]]:
    """Return the same from a table of kinds: kind in the first column, fields in the second."""
    shared = re.search(r"^Every kind also has: (.+?)\. ", text, re.MULTILINE)
    common = set(ticked(shared[1])) if shared else set()
    return {ticked(row[0])[0]: common | set(ticked(row[1])) for row in rows(text)}


@each_format
def test_a_format_page_has_every_kind_with_its_fields_and_no_other(stream: Format) -> None:
    text = page(f"reference/formats/{stream.name}.md")
    assert in_table(section(text, "Kinds")) == in_code(stream.kinds)
    if stream.shapes:
        assert in_table(section(text, "Shapes")) == in_code(stream.shapes)


@each_format
def test_a_format_page_explains_every_field(stream: Format) -> None:
    explained = {
        name for row in rows(section(page(f"reference/formats/{stream.name}.md"), "Fields")) for name in ticked(row[0])
    }
    used = {field.rstrip("?") for fields in in_code(stream.kinds).values() for field in fields}
    assert explained == used


def test_a_planted_kind_or_field_is_found() -> None:
    text = (
        "Every kind also has: `by`, `cause?`. More.\n\n| kind | fields |\n|---|---|\n| `a` | `b`, `c?` |\n| `d` | – |\n"
    )
    assert in_table(text) == {"a": {"by", "cause?", "b", "c?"}, "d": {"by", "cause?"}}


# -- example lines --------------------------------------------------------------------------------


def example_lines(text: str) -> list[bytes]:
    lines = [line for snippet in snippets(text) if snippet.language == "json" for line in snippet.text.splitlines()]
    return [line.encode() for line in lines if '"crc"' in line]


def holds(line: bytes) -> bool:
    head, _, seal = line.rpartition(b',"crc":"')
    return seal == b'%08x"}' % zlib.crc32(head)


@each_format
def test_the_example_lines_are_real(stream: Format) -> None:
    lines = example_lines(page(f"reference/formats/{stream.name}.md"))
    assert lines
    for line in lines:
        assert holds(line), line
        body = {key: value for key, value in json.loads(line).items() if key not in ("n", "crc")}
        assert not isinstance(stream.read(body), Foreign), line


def test_the_example_of_a_line_holds_and_a_changed_one_does_not() -> None:
    (line,) = example_lines(page("reference/formats/index.md"))
    assert holds(line)
    assert not holds(line.replace(b"lead", b"bob"))


# -- the other tables -----------------------------------------------------------------------------


def keys(text: str) -> list[str]:
    return [ticked(row[0])[0] for row in rows(text)]


def test_the_projections_have_the_keys_of_their_page() -> None:
    text = page("reference/formats/projections.md")
    founded = Record(1, roster_records.TeamFounded(team="t", at=0).body())
    shown: Mapping[str, Any] = config(roster_fold.fold(members.EMPTY, [founded]))
    assert keys(section(text, "config.json")) == list(shown)
    assert keys(section(text, "Members")) == list(shown["members"][0])
    assert keys(section(text, "Tasks")) == list(task_file(tasks.EMPTY, tasks.Task(1, "subject")))


def test_the_table_of_layers_is_the_one_that_is_enforced() -> None:
    table = rows(section(page("explanation/design.md"), "Layers").partition("`deskmate` is the package")[0])
    assert {ticked(layer)[0]: set(ticked(may)) for layer, may in table} == {
        layer: set(may) for layer, may in MAY_IMPORT.items()
    }
    package = ROOT / "src/deskmate"
    present = {path.stem for path in package.iterdir()} & MAY_IMPORT.keys() | {"deskmate"}
    assert {ticked(layer)[0] for layer, _ in table} == present


def test_the_rules_of_decide_are_in_their_order() -> None:
    table = rows(section(page("explanation/design.md"), "Remember and decide"))
    assert [ticked(row[0])[0] for row in table] == [rule.__name__.removeprefix("_") for rule in decide.RULES]


def test_the_rules_of_the_end_of_a_run_are_in_their_order() -> None:
    table = rows(section(page("explanation/design.md"), "The end of a run"))
    assert [ticked(row[0])[0] for row in table] == [rule.__name__.removeprefix("_") for rule in end_of_run.RULES]


def test_every_promise_names_files_that_test_it() -> None:
    for promise, _, where in rows(section(page("explanation/promises.md"), "Invariants")):
        files = ticked(where)
        assert files, f"{promise} names no test"
        for name in files:
            markers = read_markers(name, (ROOT / name).read_text(encoding="utf-8"))
            assert any(promise in marker.ids for marker in markers), f"{name} has no test of {promise}"


def test_every_file_a_page_names_is_there() -> None:
    named = {name for path in PAGES for name in ticked(prose(path.read_text(encoding="utf-8")))}
    files = {name for name in named if re.fullmatch(r"(tests|src|benchmarks|examples|docs)/[\w./]+", name)}
    assert {name for name in files if not (ROOT / name).exists()} == set()
