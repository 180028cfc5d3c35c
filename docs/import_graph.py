"""Draw which package imports which, from the code: `python -m docs.import_graph > docs/pictures/imports.svg`.

An arrow that follows from others is left out: if `app` imports `runtime` and `runtime` imports `core`, there is no
arrow from `app` to `core`.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "deskmate"
# The size of a box, and the room between rows and between boxes.
WIDTH, HEIGHT, DOWN, BESIDE = 96, 30, 46, 18

Graph = Mapping[str, frozenset[str]]


def imports() -> Graph:
    """Return the packages and modules directly below the project, with those that each imports."""
    files = [path for path in SRC.rglob("*.py") if path.name != "__main__.py" and path.parent != SRC]
    files.append(SRC / "errors.py")
    found: dict[str, set[str]] = {}
    for path in files:
        found.setdefault(_room(path), set()).update(_imported(ast.parse(path.read_text(encoding="utf-8"))))
    return {room: frozenset((targets & found.keys()) - {room}) for room, targets in found.items()}


def _room(path: Path) -> str:
    first = path.relative_to(SRC).parts[0]
    return first.removesuffix(".py")


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            if name == "deskmate" and isinstance(node, ast.ImportFrom):
                yield from (alias.name for alias in node.names)
            elif name.startswith("deskmate."):
                yield name.split(".")[1]


def reduced(graph: Graph) -> Graph:
    """Return a graph without the arrows that follow from others."""
    return {
        room: frozenset(target for target in targets if not any(target in _below(graph, t) for t in targets - {target}))
        for room, targets in graph.items()
    }


def _below(graph: Graph, room: str) -> frozenset[str]:
    return frozenset(graph[room]).union(*(_below(graph, target) for target in graph[room]))


def rows(graph: Graph) -> list[list[str]]:
    """Return the packages in rows. Those that import nothing are in the last one."""

    def depth(room: str) -> int:
        return 1 + max((depth(target) for target in graph[room]), default=-1)

    by_depth = sorted(graph, key=lambda room: (-depth(room), room))
    return [list(row) for _, row in groupby(by_depth, key=depth)]


def drawn(graph: Graph) -> str:
    """Return the picture as SVG."""
    layout = rows(graph)
    widest = max(map(len, layout)) * (WIDTH + BESIDE) + BESIDE
    place: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(layout):
        left = (widest - len(row) * (WIDTH + BESIDE) + BESIDE) / 2
        for index, room in enumerate(row):
            place[room] = (left + index * (WIDTH + BESIDE), BESIDE + number * (HEIGHT + DOWN))
    height = BESIDE * 2 + len(layout) * (HEIGHT + DOWN) - DOWN
    arrows = [_arrow(place[room], place[target]) for room, targets in graph.items() for target in sorted(targets)]
    boxes = [_box(room, *at) for room, at in place.items()]
    return "\n".join([_HEAD.format(width=widest, height=height), *sorted(arrows), *boxes, "</svg>", ""])


_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" \
font-family="sans-serif" font-size="13">
<title>Which package imports which</title>
<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">\
<path d="M0 0 8 4 0 8z" fill="#888"/></marker></defs>
<rect width="100%" height="100%" fill="#fff"/>"""


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = (start[0] + WIDTH / 2, start[1] + HEIGHT), (end[0] + WIDTH / 2, end[1])
    # Straight down through other rows, it would seem to end at a box on its way.
    aside = 2 * (WIDTH / 2 + BESIDE) if y2 - y1 > DOWN and abs(x2 - x1) < WIDTH else 0
    bend = f"{(x1 + x2) / 2 + aside:g} {(y1 + y2) / 2:g}"
    return f'<path d="M{x1:g} {y1:g} Q{bend} {x2:g} {y2:g}" fill="none" stroke="#888" marker-end="url(#end)"/>'


def _box(room: str, x: float, y: float) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#eef3fb" stroke="#4a6fa5"/>'
        f'<text x="{x + WIDTH / 2:g}" y="{y + HEIGHT / 2 + 5:g}" text-anchor="middle" fill="#223">{room}</text>'
    )


if __name__ == "__main__":
    sys.stdout.write(drawn(reduced(imports())))
