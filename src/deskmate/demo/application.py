"""The files of the application in `library/`."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal

State = Literal["rest", "both", "graphql"]
_ENDING = ".txt"


def text_of(path: str, state: State) -> str:
    """Return the text of a file in a state of the application."""
    return (_library() / state / f"{path}{_ENDING}").read_text(encoding="utf-8")


def texts_in(state: State) -> Mapping[str, str]:
    """Return the text of every file in a state of the application, by path."""
    return dict(_texts(_library() / state, ""))


def _library() -> Traversable:
    return files(__package__) / "library"


def _texts(folder: Traversable, above: str) -> Iterator[tuple[str, str]]:
    for place in sorted(folder.iterdir(), key=lambda place: place.name):
        if place.is_dir():
            yield from _texts(place, f"{above}{place.name}/")
        elif place.name.endswith(_ENDING):
            yield f"{above}{place.name.removesuffix(_ENDING)}", place.read_text(encoding="utf-8")
