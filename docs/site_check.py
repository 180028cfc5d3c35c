"""Check a built site: `python -m docs.site_check build/site`.

It loads nothing from another server. Links that a reader clicks may lead anywhere, but scripts, styles, pictures and
frames must be files of the site. And its API reference has every public name.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import deskmate
from deskmate import testing

API = {"reference/api.html": deskmate, "reference/api-testing.html": testing}
_REMOTE = re.compile(r"^(https?:)?//")
_CSS_LOAD = re.compile(r"(?:url\(|@import\s+)[\"']?((?:https?:)?//[^\"')\s;]+)")
# The theme's script fetches something from the web only for elements of these classes or components.
_FETCHING = {"mermaid", "glightbox", "pyodide"}


class _Loads(HTMLParser):
    """Collect the addresses that a browser loads by itself when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.remote: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        loaded = [found.get("src", ""), found.get("srcset", "")]
        if tag == "link" and "canonical" not in found.get("rel", ""):
            loaded.append(found.get("href", ""))
        self.remote += [address for address in loaded if _REMOTE.match(address)]
        self.remote += [f"class {name}" for name in found.get("class", "").split() if name in _FETCHING]
        if found.get("data-md-component") == "source":
            self.remote.append("the component that shows a repository")
        self.remote += _CSS_LOAD.findall(found.get("style", ""))


def remote_loads(name: str, text: str) -> list[str]:
    """Return what a file of the site, known by its name, would load from another server."""
    if name.endswith(".html"):
        page = _Loads()
        page.feed(text)
        styles = re.findall(r"<style[^>]*>(.*?)</style>", text, re.DOTALL)
        return page.remote + [address for style in styles for address in _CSS_LOAD.findall(style)]
    if name.endswith((".css", ".svg")):
        return _CSS_LOAD.findall(text)
    return []


def missing_names(text: str, package: str, names: Iterable[str]) -> list[str]:
    """Return the public names of a package that a page of the API reference does not have."""
    return [name for name in names if f'id="{package}.{name}"' not in text]


def undocumented(site: Path) -> Iterator[str]:
    """Yield a line for each public name that the site lacks."""
    for name, package in API.items():
        text = (site / name).read_text(encoding="utf-8")
        for missing in missing_names(text, package.__name__, package.__all__):
            yield f"{site / name}: {package.__name__}.{missing} is missing"


def problems(site: Path) -> Iterator[str]:
    """Yield a line for each file of the site that would load something from another server."""
    for path in sorted(site.rglob("*")):
        if path.suffix in (".html", ".css", ".svg"):
            for address in remote_loads(path.name, path.read_text(encoding="utf-8")):
                yield f"{path}: loads {address} from another server"


def main() -> None:
    site = Path(sys.argv[1])
    found = [*problems(site), *undocumented(site)]
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
