"""Print which lines the tests reach, by package, and the ten files with the lowest share: `make coverage`."""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

LOWEST = 10
TOP = "src/deskmate"


def table(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the table. `report`: as `coverage json` writes it."""
    files = {
        PurePosixPath(name).relative_to(TOP): (summary["covered_lines"], summary["num_statements"])
        for name, one in report["files"].items()
        if (summary := one["summary"])["num_statements"]
    }
    packages: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for path, counts in files.items():
        packages[str(path.parent) if len(path.parts) > 1 else "deskmate"].append(counts)
    for name in sorted(packages):
        yield _row(name, *map(sum, zip(*packages[name], strict=True)))
    yield _row("all", *map(sum, zip(*files.values(), strict=True)))
    yield ""
    yield f"The {LOWEST} files with the lowest share:"
    lowest = sorted(files, key=lambda path: (files[path][0] / files[path][1], path))[:LOWEST]
    yield from (_row(str(path), *files[path]) for path in lowest)


def _row(name: str, covered: int, lines: int) -> str:
    return f"{name:<42} {lines:>6,} lines {covered / lines:>7.1%}"


if __name__ == "__main__":
    print("\n".join(table(json.loads(Path(sys.argv[1]).read_text()))))
