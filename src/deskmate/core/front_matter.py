"""Front matter: the fields between two lines of `---` at the start of a Markdown file.

It is the part of YAML that people use there: one value per key, quoted or not, folded over lines, and lists of words.
"""

import re
from collections import Counter
from collections.abc import Mapping
from itertools import takewhile

from deskmate.core.values import frozen

_FRONT = re.compile(
    r"\A\ufeff?(?:[ \t]*\r?\n)*---[ \t]*\r?\n(?P<front>.*?\n)---[ \t]*(?:\r?\n(?P<body>.*))?\Z", re.DOTALL
)
_FIELD = re.compile(r"(?P<quote>[\"']?)(?P<key>[A-Za-z_-]+)(?P=quote)[ \t]*:(?P<value>.*)")
# A value continues on lines that are indented. The items of a list need no indentation.
_FOLD = re.compile(r"\r?\n(?:[ \t]+|(?=- ))")
_BLOCK = re.compile(r"[>|][+-]?(?:[ \t]+|\Z)")
# Anything up to a comma or a space, which may be in a pattern such as `Bash(git log:*)`.
_WORD = re.compile(r"(?:\([^()]*\)|[^,\s])+")


@frozen
class FrontMatter:
    """The fields of a file, and the text after them. `repeated`: keys that are there more than once."""

    fields: Mapping[str, str]
    body: str
    repeated: tuple[str, ...] = ()


def front_matter(text: str) -> FrontMatter | None:
    """Return the front matter of a text and its body, None if there is no front matter. The last of equal keys wins."""
    found = _FRONT.match(text)
    if not found:
        return None
    lines = [_FIELD.fullmatch(line) for line in _FOLD.sub(" ", found["front"]).split("\n")]
    pairs = [(line["key"], _value(line["value"].strip(" \t\r"))) for line in lines if line]
    repeated = tuple(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    return FrontMatter(dict(pairs), (found["body"] or "").strip(), repeated)


def block_of(text: str, key: str) -> str:
    """Return the lines of a field as they are in the file, with what is indented below it. Empty if there is none."""
    found = _FRONT.match(text)
    lines = found["front"].splitlines(keepends=True) if found else []
    starts = [at for at, line in enumerate(lines) if (field := _FIELD.match(line)) and field["key"] == key]
    if not starts:
        return ""
    first = starts[-1]
    rest = takewhile(lambda line: line[0] in " \t\r\n#" or line.startswith("- "), lines[first + 1 :])
    return lines[first] + "".join(rest)


def words_of(value: str) -> tuple[str, ...]:
    """Return the words of a list: `a, b`, `a b`, `[a, "b"]`, or an item per line."""
    inner = value[1:-1] if value.startswith("[") and value.endswith("]") else value
    words = map(_value, _WORD.findall(inner))
    return tuple(word for word in words if word not in ("", "-"))


def _value(written: str) -> str:
    """Return a value without YAML's quotes."""
    mark = _BLOCK.match(written)
    text = written[mark.end() :] if mark else written
    is_quoted = len(text) > 1 and text[0] in "\"'" and text[0] == text[-1]
    return text[1:-1] if is_quoted else text
