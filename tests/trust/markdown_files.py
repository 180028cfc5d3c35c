"""Markdown files for the tests of this folder."""

from pathlib import Path


def write(folder: Path, **files: str) -> None:
    """Write files by their names without the suffix."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
