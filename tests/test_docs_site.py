"""The site has every page, and its checker finds what a page would load from another server."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.import_graph import drawn, imports, reduced, rows
from docs.site_check import missing_names, problems, remote_loads
from tests.test_docs import DOCS, ROOT


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", '<script src="https://example.org/x.js"></script>'),
        ("a.html", '<link rel="stylesheet" href="//example.org/x.css">'),
        ("a.html", '<img src="http://example.org/x.png">'),
        ("a.html", "<style>@import 'https://example.org/x.css';</style>"),
        ("a.html", '<p style="background: url(https://example.org/x.png)">'),
        ("a.html", '<pre class="mermaid">'),
        ("a.html", '<div data-md-component="source">'),
        ("a.css", "src: url('https://example.org/x.woff2')"),
        ("a.svg", "src: url(https://example.org/x.woff2)"),
    ],
)
def test_a_load_from_another_server_is_found(name: str, text: str) -> None:
    assert len(remote_loads(name, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        '<a href="https://example.org/x">x</a>',
        '<link rel="canonical" href="https://example.org/x">',
        '<script src="assets/x.js"></script><img src="pictures/x.svg">',
        "<code>curl https://example.org</code>",
    ],
)
def test_links_and_files_of_the_site_are_fine(text: str) -> None:
    assert remote_loads("a.html", text) == []


def test_a_public_name_that_the_reference_lacks_is_found() -> None:
    text = '<h2 id="deskmate.Board">'
    assert missing_names(text, "deskmate", ["Board", "Boar"]) == ["Boar"]


def test_every_picture_is_shown_on_a_page() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))
    assert [path.name for path in (DOCS / "pictures").glob("*.svg") if f"pictures/{path.name}" not in text] == []


def test_the_picture_of_imports_is_drawn_from_the_code() -> None:
    picture = (DOCS / "pictures" / "imports.svg").read_text(encoding="utf-8")
    assert picture == drawn(reduced(imports())), "run: make pictures"


def test_arrows_that_follow_from_others_are_left_out() -> None:
    graph = {"app": frozenset({"core", "ports"}), "ports": frozenset({"core"}), "core": frozenset[str]()}
    assert reduced(graph) == {"app": {"ports"}, "ports": {"core"}, "core": frozenset()}
    assert rows(reduced(graph)) == [["app"], ["ports"], ["core"]]


def test_a_problem_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "good.html").write_text("<p>x</p>")
    (tmp_path / "bad.css").write_text("@import 'https://example.org/x.css';")
    assert list(problems(tmp_path)) == [f"{tmp_path / 'bad.css'}: loads https://example.org/x.css from another server"]


def pages_of(nav: Any) -> Iterator[str]:
    """Yield every page of a navigation, in order."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_of(part)


def test_the_navigation_of_the_site_has_every_page_once() -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    assert sorted(pages_of(nav)) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
