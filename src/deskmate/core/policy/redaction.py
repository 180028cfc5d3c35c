"""Known secrets found in a text and replaced by their names.

A secret is known by its value, or by the shape that its vendor gave it. The same text always becomes the same bytes, so
that a restart and a provider's cache see no difference. Everything passes through here before it is written or shown:
streams, the workspace, a model's words and the logs.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from deskmate.core.policy.secret_contexts import (
    CONTEXT_NAMES,
    OPEN_NAME,
    addressed_in,
    assigned_in,
    open_key,
    private_keys_in,
)
from deskmate.core.policy.secret_shapes import SHAPE_NAMES, is_example, is_plain, prefixed_in, shaped_in

SHORTEST = 8
# Longer than any key of one line.
_HOLD = 8192
_LOOK_AT_ONCE = 256
# What is found in texts of at most this many characters is remembered, for this many texts.
_SHORT, _SHORT_TEXTS = 64, 1024
_RUN = "".join(map(chr, range(0x21, 0x7F)))
# A placeholder ends at its first bracket, and is short enough for a model to copy without a mistake.
_SHOWN = re.compile(r"[\]\n]")
_NAME_CHARS = 80
_NAME = "".join(letter for letter in _RUN if letter.isalnum() or letter in "_-")

# If a text ends with one of these, the secret comes a few words later.
_CONTEXT = re.compile(
    r"""(?:authorization|secret_?access_?key|session_?token|client-key-data|"auth"|PrivateKey)"""
    r"""[\\"'\s:=>]*(?:(?:bearer|basic|token|ssws|api-?key)\s*)?\Z"""
    r"""|(?:(?:key|token|secret)(?:s|_\w{1,8})?|passwo?r?d|_pat|_auth(?:Token)?)"""
    r"""[\\"' \t:=]*(?:[:=][ \t]*\\{0,3}(?:"(?:\\.|[^"\\\r\n]){0,520}|'(?:\\.|[^'\\\r\n]){0,520})\\?)?\Z"""
    r"""|launch_?darkly[\w .\\"':=(,-]*\Z"""
    r"""|machine\s{1,16}\S{0,128}(?:\s{1,16}\S{0,128}){0,5}\Z"""
    r"""|://[^\s"'`]*\Z""",
    re.IGNORECASE | re.ASCII,
)
_CONTEXT_CHARS = 1200


def loosely(name: str) -> str:
    """Return a name in the form in which inexact copies of names are compared."""
    return re.sub(r"""[\s"'`\\]+""", "", name).casefold()


_TABLE_NAMES = frozenset(map(loosely, SHAPE_NAMES | CONTEXT_NAMES))


class Find(NamedTuple):
    """A secret in a text, from `start` to `end`. `begin`: where the text that reveals it starts."""

    start: int
    rank: int
    end: int
    begin: int
    name: str


class Redaction:
    """Replaces every secret that is known by name and value or by its shape."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        told = {name: value for name, value in (values or {}).items() if _tells(value)}
        # A password may be plain words. A key or token that is known only by its name is not.
        told = {name: value for name, value in told.items() if _PASSWORD_NAME.search(name) or not is_plain(value)}
        named = {part: _SHOWN.sub("?", name)[:_NAME_CHARS] for name, value in told.items() for part in _parts(value)}
        forms = {form: name for value, name in named.items() for form in _forms(value)}
        # The longest first: one may be the beginning of another.
        self._forms = sorted(forms.items(), key=lambda form: -len(form[0]))
        # A stream holds back its last run of visible characters. These forms may span more than one run.
        self._odd = [form for form, _ in self._forms if form.strip(_RUN)]
        self._names = _TABLE_NAMES | {loosely(name) for name in named.values()}
        self._hold = max([_HOLD, *(2 * len(form) for form in forms)])
        # Most short texts are names, ids and keys of records, which come again and again.
        self._short_text = lru_cache(maxsize=_SHORT_TEXTS)(self._searched)

    def text(self, text: str) -> str:
        """Return a text with every secret replaced by its name, as in `[redacted: GITHUB_TOKEN]`."""
        if len(text) < SHORTEST:
            return text
        return self._short_text(text) if len(text) <= _SHORT else self._searched(text)

    def _searched(self, text: str) -> str:
        finds = self.find(text)
        return _replaced(text, finds) if finds else text

    def value(self, value: Any) -> Any:
        """Return JSON with every text in it redacted, including keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key) if isinstance(key, str) else key: self.value(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        return value

    def may_show(self, name: str) -> bool:
        """Tell whether it may show this name in place of a secret. Case, blanks and quotes do not count."""
        return loosely(name) in self._names

    def passing(self) -> "Passing":
        """Return a redactor for a text that arrives in pieces."""
        return Passing(self)

    def find(self, text: str) -> list[Find]:
        """Return the secrets in a text, in order and without overlaps."""
        if len(text) < SHORTEST:
            return []
        finds = [*self._values_in(text), *_shapes_in(text)]
        return list(_apart(sorted(finds))) if finds else finds

    def _values_in(self, text: str) -> Iterator[Find]:
        for form, name in self._forms:
            at = text.find(form)
            while at >= 0:
                yield Find(at, 0, at + len(form), at, name)
                at = text.find(form, at + len(form))

    def _settled(self, text: str, finds: Iterable[Find]) -> int:
        """Return the position before which no later text can make anything a secret."""
        settled = len(text.rstrip(_RUN))
        near = max(0, settled - _CONTEXT_CHARS)
        if context := _CONTEXT.search(text[near:settled]):
            # The whole name that ends here belongs to the context.
            settled = len(text[: near + context.start()].rstrip(_NAME))
        settled = min([settled, *(len(text) - _begun(text, form) for form in self._odd)])
        settled = min(max(settled, len(text) - self._hold), open_key(text))
        return min([settled, *(find.begin for find in finds if find.begin < settled < find.end)])


class Passing:
    """A text that arrives in pieces. Whatever may still become a secret is held back until that is clear."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._held = ""
        self._more: list[str] = []
        self._waiting = 0

    def add(self, text: str) -> str:
        """Add a piece; return what can be passed on."""
        self._more.append(text)
        self._waiting += len(text)
        # Searching all held text for each new character would take longer and longer.
        if len(self._held) > _LOOK_AT_ONCE and self._waiting < len(self._held) // 4:
            return ""
        text = self._taken()
        finds = self._redaction.find(text)
        settled = self._redaction._settled(text, finds)
        self._held = text[settled:]
        return _replaced(text[:settled], [find for find in finds if find.end <= settled])

    def end(self) -> str:
        """Return the rest: no more text follows."""
        return self._redaction.text(self._taken())

    def _taken(self) -> str:
        text = "".join([self._held, *self._more])
        self._held, self._more, self._waiting = "", [], 0
        return text


def _shapes_in(text: str) -> Iterator[Find]:
    kinds = (prefixed_in, shaped_in, addressed_in, assigned_in, private_keys_in)
    for rank, spans in enumerate((kind(text) for kind in kinds), 1):
        for start, end, begin, name in spans:
            if not is_example(text[start:end]):
                yield Find(start, rank, end, begin, name)


def _apart(finds: Iterable[Find]) -> Iterator[Find]:
    """Yield finds. Overlapping ones become one, under the first name."""
    last: Find | None = None
    for find in finds:
        if last and find.start < last.end:
            last = last._replace(end=max(last.end, find.end))
            continue
        if last:
            yield last
        last = find
    if last:
        yield last


def _replaced(text: str, finds: Iterable[Find]) -> str:
    parts, at = [], 0
    for find in finds:
        parts += [text[at : find.start], f"[redacted: {find.name}]"]
        at = find.end
    return "".join([*parts, text[at:]])


def _begun(text: str, form: str) -> int:
    """Return how many characters of the beginning of a form a text ends with, at most all but one."""
    sizes = range(min(len(form) - 1, len(text)), 0, -1)
    return next((size for size in sizes if text.endswith(form[:size])), 0)


# -- values ---------------------------------------------------------------------------------------

_SECRET_NAME = re.compile(
    r"(?:KEYS?|TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|_PASS|_PWD|_PAT|_AUTH|AUTH_CONFIG|CREDENTIALS?|CREDS"
    r"|CONNECTION_?STRING|_DSN|WEBHOOK(?:_URL)?|COOKIES?)"
    r"(?:_(?:BASE|JSON|BASE64|B64|PEM|PROD|PRODUCTION|STAGING|LIVE|DEV|TEST|OLD|NEW|V\d+))?_?\d*$",
    re.IGNORECASE,
)
_ADDRESS_NAME = re.compile(r"_UR[LI](?:_?\d+)?(?: \(\d+\))?$|^[A-Z][A-Z0-9_]* \(\d+\)$")
_PASSWORD_NAME = re.compile(r"PASS|PWD", re.IGNORECASE)
_ESCAPE = re.compile("%[0-9A-F]{2}")
_LONG = 20
_LETTERS = (r"[a-z]", r"[A-Z]", r"[0-9]", r"[^A-Za-z0-9_.:/ -]")
_PATHS = ("/", "~", "./", "../", "$")
_WORD = 16
_PASSWORD = re.compile(r"""://[^\s/:@?#]{0,256}:([^\s/?#,"']{1,512})@""")
_BETWEEN = re.compile(r"""(?:\\n|[\s"',;:={}\[\]])+""")


def secrets_in(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that contain a secret according to their names, and the passwords in addresses."""
    names = [name for name in environ if _SECRET_NAME.search(name) and not OPEN_NAME.search(name)]
    named = {name: environ[name] for name in names}
    found = dict(named)
    for name, value in environ.items():
        for at, password in enumerate(dict.fromkeys(_PASSWORD.findall(value)), 1 + (name in named)):
            found[name if at == 1 else f"{name} ({at})"] = password
    return found


def is_secret_name(name: str) -> bool:
    """Tell whether a variable of this name may contain a secret, or an address with a password."""
    return _SECRET_NAME.search(name) is not None or _ADDRESS_NAME.search(name) is not None


def _tells(value: str) -> bool:
    """Tell whether a value differs from an ordinary word, number or path, which may occur anywhere."""
    if len(value) < SHORTEST or value.startswith(_PATHS):
        return False
    return len(value) >= _LONG or sum(bool(re.search(kind, value)) for kind in _LETTERS) > 1


def _parts(value: str) -> Iterator[str]:
    """Yield a value and, if it has several lines, its long words: a tool may show it line by line.

    A value escaped for an address is also yielded without escapes, as its user sees it.
    """
    yield value
    if (plain := unquote(value)) != value and _tells(plain):
        yield plain
    if "\n" in value:
        words = _BETWEEN.split(value)
        yield from (word for word in words if len(word) >= _WORD and _tells(word) and re.search(r"[0-9]", word))


def _forms(value: str) -> set[str]:
    """Return the forms of a value in a text: as it is, in JSON, in an address, and in base64 at any offset."""
    data = value.encode(errors="surrogateescape")
    texts = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    quoted = {quote(data, safe=safe) for safe in ("", "/", "!*'()")}
    texts |= quoted | {_ESCAPE.sub(lambda found: found[0].lower(), text) for text in quoted}
    for before in range(3):
        coded = base64.b64encode(bytes(before) + data).decode()
        # Characters that also depend on neighbouring bytes are left out at both ends.
        own = coded[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
        texts |= {own, own.translate(str.maketrans("+/", "-_"))}
    return texts


# Finds secrets by their shapes only, without any known values.
SHAPES = Redaction()
