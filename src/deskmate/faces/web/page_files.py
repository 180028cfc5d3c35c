"""The files of the page: as they are served, and as one file that needs no server."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

_PAGE = resources.files("deskmate.faces.web") / "page"
_TYPES = {"html": "text/html", "css": "text/css", "mjs": "text/javascript", "svg": "image/svg+xml"}
_IMPORT_MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)
_STYLE = '<link rel="stylesheet" href="style.css">'
_ICON = '<link rel="icon" href="icon.svg">'
_START = '<script type="module" src="app.mjs"></script>'
INDEX = "index.html"


def page_files() -> tuple[str, ...]:
    """Return the files of the page by their addresses. There are no others."""
    scripts = [path.removeprefix("./") for path in _imports().values()]
    return (INDEX, "style.css", "icon.svg", "app.mjs", *scripts)


def content_of(name: str) -> tuple[bytes, str]:
    """Return a file of the page and its media type."""
    data = _with_preloads().encode() if name == INDEX else (_PAGE / name).read_bytes()
    return data, f"{_TYPES[name.rpartition('.')[2]]}; charset=utf-8"


def _with_preloads() -> str:
    """Return the page with all its scripts asked for at once, not each after the one that imports it."""
    links = "".join(f'<link rel="modulepreload" href="{path}">\n' for path in _imports().values())
    return _text(INDEX).replace(_START, f"{links}{_START}")


@cache
def _imports() -> Mapping[str, str]:
    found: dict[str, str] = json.loads(_import_map(_text(INDEX)))["imports"]
    return found


def _text(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def _import_map(page: str) -> str:
    found = _IMPORT_MAP.search(page)
    assert found is not None, "the page has an import map"
    return found[1]


def import_map_hash() -> str:
    """Return the hash of the import map, for the policy that forbids every other script inside the page."""
    return _hash(_import_map(_text(INDEX)))


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def single_file(title: str, saved: Any) -> str:
    """Return the page as one file that shows what was saved. It asks for nothing, also not from the web."""
    import_map = json.dumps({"imports": {name: _as_data(path) for name, path in _imports().items()}})
    style = _text("style.css")
    policy = f"default-src 'none'; script-src data: {_hash(import_map)}; style-src 'unsafe-inline'; img-src data:"
    parts = {
        f'<script type="importmap">{_import_map(_text(INDEX))}</script>': (
            f'<script type="importmap">{import_map}</script>'
        ),
        _STYLE: f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{style}</style>',
        _ICON: f'<link rel="icon" href="{_as_data("icon.svg", "image/svg+xml")}">',
        _START: f'<script type="module" src="{_as_data("app.mjs")}"></script>',
        "<title>Deskmate</title>": f"<title>{_escaped(title)} – Deskmate</title>",
        # In JSON this is the same text, and no text can end the element.
        '<div id="root"></div>': (
            f'<div id="root"></div><script type="application/json" id="saved">{_as_json(saved)}</script>'
        ),
    }
    page = _text(INDEX)
    for old, new in parts.items():
        assert old in page, old
        page = page.replace(old, new)
    return page


def _as_data(path: str, kind: str = "text/javascript") -> str:
    return f"data:{kind};base64,{base64.b64encode((_PAGE / path.removeprefix('./')).read_bytes()).decode()}"


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
