"""Frames as one animated picture that every browser shows, without a script."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import groupby

from docs.pictures.recording import Frame, Run, Style

FONTS = "DejaVu Sans Mono, Menlo, Consolas, monospace"
_FONT, _CELL, _LINE = 14, 8.43, 18
_EDGE, _BAR = 10, 34
_NAMED = {
    "default": "e4e4e7",
    "black": "1c1c20",
    "red": "ff6b6b",
    "green": "7bd88f",
    "brown": "fce566",
    "blue": "5ad4e6",
    "magenta": "948ae3",
    "cyan": "5ad4e6",
    "white": "f7f1ff",
}
# From the top of a row to where its letters stand.
_BASE = 13


@dataclass
class _Rows:
    """The rows of all frames, each drawn once. `ground`: the colour that most cells have."""

    ground: str
    ids: dict[tuple[Run, ...], str] = field(default_factory=dict)
    styles: dict[Style, str] = field(default_factory=dict)

    def id_of(self, row: tuple[Run, ...]) -> str:
        return self.ids.setdefault(row, f"r{len(self.ids)}")

    def class_of(self, style: Style) -> str:
        return self.styles.setdefault(style, f"s{len(self.styles)}")


def film(frames: Sequence[Frame], seconds: float, size: tuple[int, int], title: str, still: int) -> str:
    """Return a picture that shows frames one after the other, for so many seconds in all, again and again.

    `still`: the frame for people who want nothing to move.
    """
    columns, lines = size
    width, height = round(columns * _CELL) + 2 * _EDGE, lines * _LINE + _BAR + _EDGE
    rows = _Rows(_ground(frames))
    body = "".join(_placed(frame, number * width, rows) for number, frame in enumerate(frames))
    steps = "".join(
        f"{100 * frame.seconds / seconds:.3f}%{{transform:translateX({-number * width}px)}}"
        for number, frame in enumerate(frames)
    )
    defined = "".join(f'<g id="{id_}">{"".join(_drawn(row, rows))}</g>' for row, id_ in rows.ids.items())
    style = (
        f"text{{font:{_FONT}px {FONTS};white-space:pre}}{''.join(_rule(*item) for item in rows.styles.items())}"
        f".film{{animation:film {seconds:.2f}s steps(1,end) infinite}}@keyframes film{{{steps}}}"
        "@media (prefers-reduced-motion:reduce)"
        f"{{.film{{animation:none;transform:translateX({-still * width}px)}}}}"
    )
    dots = "".join(
        f'<circle cx="{18 + 18 * place}" cy="17" r="6" fill="#{colour}"/>'
        for place, colour in enumerate(("ff5f57", "febc2e", "28c840"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f"<title>{escape(title)}</title><style>{style}</style><defs>{defined}"
        f'<clipPath id="screen"><rect y="{_BAR}" width="{width}" height="{height - _BAR}"/></clipPath></defs>'
        f'<rect width="{width}" height="{height}" rx="8" fill="#{rows.ground}" stroke="#3f3f46"/>{dots}'
        f'<text x="{width / 2}" y="22" text-anchor="middle" fill="#a1a1aa">{escape(title)}</text>'
        f'<g clip-path="url(#screen)"><g class="film">{body}</g></g></svg>\n'
    )


def _placed(frame: Frame, x: int, rows: _Rows) -> str:
    used = "".join(
        f'<use href="#{rows.id_of(row)}" y="{number * _LINE}"/>' for number, row in enumerate(frame.rows) if row
    )
    return f'<g transform="translate({x + _EDGE} {_BAR + _BASE})">{used}</g>'


def _ground(frames: Sequence[Frame]) -> str:
    cells = Counter[str]()
    for frame in frames:
        for row in frame.rows:
            for _, text, style in row:
                cells[style.bg] += len(text)
    del cells["default"]
    return cells.most_common(1)[0][0] if cells else _NAMED["black"]


def _drawn(row: tuple[Run, ...], rows: _Rows) -> Iterator[str]:
    for colour, runs in groupby(row, key=lambda run: run[2].bg):
        texts = list(runs)
        if colour not in ("default", rows.ground):
            x, wide = texts[0][0] * _CELL, sum(len(text) for _, text, _ in texts) * _CELL
            yield f'<path fill="#{_colour(colour)}" d="M{x:.1f}-{_BASE}h{wide + 0.3:.1f}v{_LINE}H{x:.1f}"/>'
    for column, text, style in row:
        words = text.rstrip()
        blank = len(words) - len(words.lstrip())
        if words := words.lstrip():
            x, wide = (column + blank) * _CELL, len(words) * _CELL
            yield (
                f'<text class="{rows.class_of(replace(style, bg=""))}" x="{x:.1f}" textLength="{wide:.1f}">'
                f"{escape(words, quote=False)}</text>"
            )


def _rule(style: Style, name: str) -> str:
    weight = ";font-weight:bold" if style.bold else ""
    slant = ";font-style:italic" if style.italic else ""
    return f".{name}{{fill:#{_colour(style.fg)}{weight}{slant}}}"


def _colour(name: str) -> str:
    return _NAMED.get(name.removeprefix("bright"), name)
