"""Golden texts: all that models read, in files that a person can review.

`make golden` writes them again. Look at the difference as a model would read it before you keep it.
"""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def compare(name: str, text: str) -> None:
    """Raise AssertionError if a text differs from its golden file."""
    file, text = FOLDER / f"{name}.txt", f"{text}\n"
    if os.environ.get("DESKMATE_GOLDEN") == "write":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert file.exists(), f"there is no golden file {file.name}; write it with 'make golden' and review it"
    assert text == file.read_text(encoding="utf-8"), (
        "models read something else now: run 'make golden', review the diff"
    )
