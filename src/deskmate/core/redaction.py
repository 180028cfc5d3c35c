"""Redaction: what is known to be a secret, found in a text and replaced by its name.

A secret is known by its value, or by the shape that its maker gave it. Pure: the same text becomes the same bytes each
time, so that a restart and a provider's cache see no difference. The pen, the workspace, the stream of a model's words
and the logs above go through here before anything is written or shown.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

SHORTEST = 8
# More than any key of one line is long.
_HOLD = 8192
_LOOK_AT_ONCE = 256
_RUN = "".join(map(chr, range(0x21, 0x7F)))
_STAND_IN = re.compile(r"\[redacted: [^\]\n]{1,80}\]")

# -- shapes ---------------------------------------------------------------------------------------


class _Family(NamedTuple):
    """Kinds of secrets that look alike, by name. `guard`: what all of them hold, so that most texts are passed over.

    A group in a pattern is the secret itself; what stands before that only tells that it is one.
    """

    guard: re.Pattern[str]
    shapes: tuple[tuple[str, re.Pattern[str]], ...]


def _family(guard: str, *shapes: tuple[str, str]) -> _Family:
    return _Family(re.compile(guard), tuple((name, re.compile(pattern, re.ASCII)) for name, pattern in shapes))


# Each is tried once in a run of its own letters, or looks ahead a little way only: so the time that a text takes
# grows with its length and no faster, whoever wrote it.
_IS = r"""\\{0,7}["']?\s{0,16}[:=]\s{0,16}\\{0,7}["']?"""
_AWS_SECRET = _IS + r"([\w+/]{40})(?![\w+/])"
_AUTHORIZATION = _IS + r"(?i:bearer|basic|token)\s{1,16}((?=[\w.~+/=-]*\d)[\w.~+/=-]{16,})"
# Every guard begins with a letter that is fixed: `re` looks for that at once, and for one of several it does not.
_FAMILIES = (
    _family(
        r"_[A-Za-z0-9]{20}",
        ("GitHub token", r"gh[pousr]_[A-Za-z0-9]{36,}"),
        ("GitHub token", r"github_pat_\w{22,}"),
        ("npm token", r"npm_(?<![A-Za-z0-9]....)[A-Za-z0-9]{36}(?!\w)"),
        ("Hugging Face token", r"hf_(?<![A-Za-z0-9]...)[A-Za-z0-9]{30,}(?!\w)"),
        ("Stripe key", r"[rs]k_live_(?<![A-Za-z0-9]........)[A-Za-z0-9]{20,}"),
    ),
    _family(
        r"-[A-Za-z0-9][\w-]{19}",
        ("Anthropic key", r"sk-ant-[\w-]{20,}"),
        # Names of styles begin like that, too: those have no digits and no capitals.
        ("API key", r"sk-(?<![A-Za-z0-9]sk-)(?!ant-)(?=[\w-]{0,99}?\d)(?=[\w-]{0,99}?[A-Z])[\w-]{20,}"),
        ("GitLab token", r"glpat-[\w-]{20,}"),
        ("Slack token", r"xox[abeoprs]-(?<![A-Za-z0-9].....)(?=[\w-]{0,99}?\d)[\w-]{20,}"),
        ("PyPI token", r"pypi-AgE[\w-]{50,}"),
    ),
    _family(
        r"A(?:[KS]IA|Iza)",
        ("AWS key", r"A[KS]IA(?<![\w+/]....)[A-Z2-7]{16}(?![\w+/])"),
        ("Google key", r"AIza(?<![\w+/-]....)[\w-]{35}(?![\w+/-])"),
    ),
    _family("ecret_access_key", ("AWS secret", "ecret_access_key" + _AWS_SECRET)),
    _family("ECRET_ACCESS_KEY", ("AWS secret", "ECRET_ACCESS_KEY" + _AWS_SECRET)),
    _family("ecretAccessKey", ("AWS secret", "ecretAccessKey" + _AWS_SECRET)),
    _family(
        r"\.eyJ",
        ("JWT", r"eyJ(?<![\w-]...)[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
    ),
    _family("uthorization", ("authorization", "uthorization" + _AUTHORIZATION)),
    _family("UTHORIZATION", ("authorization", "UTHORIZATION" + _AUTHORIZATION)),
    _family(
        "://",
        (
            "password in an address",
            r"""://[^\s/:@"'`]{0,64}:((?=[^\s/@]*\d)(?=[^\s/@]*[A-Za-z])[^\s/@:$<>{}()*"'`\[\]]{8,128})@""",
        ),
    ),
)
# Where these stand, the secret comes a few words later.
_CONTEXT = re.compile(
    r"""(?:authorization|secret_?access_?key)[\\"'\s:=]*(?:(?:bearer|basic|token)\s*)?\Z|://[^\s/@]*\Z""",
    re.IGNORECASE | re.ASCII,
)
_CONTEXT_CHARS = 240

# Private keys have many lines: these are looked for by their first and last one.
_KEY_CHARS = 64 * 1024
_KEY_LINE = r"[A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?-----"
_KEY_NEAR = 300
_KEY_BEGINS = re.compile(
    rf"-----BEGIN {_KEY_LINE}(?=(?:(?!-----)[\s\S]){{0,{_KEY_NEAR}}}?(?:[A-Za-z0-9+/]{{32}}|(?P<cut>\Z)))"
)
_KEY_ENDS = re.compile(rf"-----END {_KEY_LINE}")
_KEY_BODY = re.compile(rf"[\w+/=\s\\:,.-]{{32,{_KEY_CHARS}}}", re.ASCII)
_KEY_BEGUN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,42}-{0,4}\Z")
_KEY_BEGUN_CHARS = 60


class _Find(NamedTuple):
    """A secret in a text, from `start` to `end`. `begin`: from where on the text tells that it is one."""

    start: int
    rank: int
    end: int
    begin: int
    name: str


class Redaction:
    """Replace every secret that is known, by name and value or by its shape."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        named = {part: name for name, value in (values or {}).items() if _tells(value) for part in _parts(value)}
        forms = {form: name for value, name in named.items() for form in _forms(value)}
        # The longest first: one may be the beginning of another.
        self._forms = sorted(forms.items(), key=lambda form: -len(form[0]))
        # What is held back of a stream is a run of visible letters; these may be more than one.
        self._odd = [form for form, _ in self._forms if form.strip(_RUN)]
        self._hold = max([_HOLD, *(2 * len(form) for form in forms)])

    def text(self, text: str) -> str:
        """Return a text with every secret replaced by its name, as `[redacted: GITHUB_TOKEN]`."""
        finds = self._find(text)
        return _replaced(text, finds) if finds else text

    def value(self, value: Any) -> Any:
        """Return JSON with every text in it redacted, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key) if isinstance(key, str) else key: self.value(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        return value

    def passing(self) -> "Passing":
        """Return what redacts a text that comes in pieces."""
        return Passing(self)

    def _find(self, text: str) -> list[_Find]:
        """Return the secrets in a text, in order; none overlaps the next."""
        if len(text) < SHORTEST:
            return []
        finds = [*self._values_in(text), *_shapes_in(text)]
        return list(_apart(sorted(finds))) if finds else finds

    def _values_in(self, text: str) -> Iterator[_Find]:
        for form, name in self._forms:
            at = text.find(form)
            while at >= 0:
                yield _Find(at, 0, at + len(form), at, name)
                at = text.find(form, at + len(form))

    def _settled(self, text: str, finds: Iterable[_Find]) -> int:
        """Return up to where nothing that comes behind a text can make a secret of it."""
        settled = len(text.rstrip(_RUN))
        near = max(0, settled - _CONTEXT_CHARS)
        if context := _CONTEXT.search(text[near:settled]):
            settled = near + context.start()
        settled = min([settled, *(len(text) - _begun(text, form) for form in self._odd)])
        settled = min(max(settled, len(text) - self._hold), _open_key(text))
        return min([settled, *(find.begin for find in finds if find.begin < settled < find.end)])


class Passing:
    """A text on its way: what may yet become a secret is held back until that is clear."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._held = ""
        self._more: list[str] = []
        self._waiting = 0

    def add(self, text: str) -> str:
        """Take some more; return what can be passed on."""
        self._more.append(text)
        self._waiting += len(text)
        # To look through all that is held for each letter that comes would take ever longer.
        if len(self._held) > _LOOK_AT_ONCE and self._waiting < len(self._held) // 4:
            return ""
        text = self._taken()
        finds = self._redaction._find(text)
        settled = self._redaction._settled(text, finds)
        self._held = text[settled:]
        return _replaced(text[:settled], [find for find in finds if find.end <= settled])

    def end(self) -> str:
        """Return the rest: nothing comes behind it."""
        return self._redaction.text(self._taken())

    def _taken(self) -> str:
        text = "".join([self._held, *self._more])
        self._held, self._more, self._waiting = "", [], 0
        return text


def _shapes_in(text: str) -> Iterator[_Find]:
    hit = (family for family in _FAMILIES if family.guard.search(text))
    for rank, (name, pattern) in enumerate((shape for family in hit for shape in family.shapes), 1):
        for match in pattern.finditer(text):
            start, end = match.span(pattern.groups)
            yield _Find(start, rank, end, match.start(), name)
    yield from _private_keys(text)


def _private_keys(text: str) -> Iterator[_Find]:
    """Yield private keys to their last line or, where that is missing, as far as they look like one."""
    if "PRIVATE KEY" not in text:
        return
    ends = (match.end() for match in _KEY_ENDS.finditer(text))
    at, end = 0, next(ends, None)
    for begin in _KEY_BEGINS.finditer(text):
        if begin.start() < at or begin["cut"] is not None:
            continue
        while end is not None and end < begin.end():
            end = next(ends, None)
        if end is not None and end - begin.end() <= _KEY_CHARS:
            at = end
        elif body := _KEY_BODY.match(text, begin.end()):
            at = body.end()
        else:
            continue
        yield _Find(begin.start(), len(_FAMILIES), at, begin.start(), "private key")


def _open_key(text: str) -> int:
    """Return where a private key begins whose last line may yet come; the length of the text where none does."""
    near = max(0, len(text) - _KEY_BEGUN_CHARS)
    begun = _KEY_BEGUN.search(text, near)
    first = begun.start() if begun else len(text)
    if "PRIVATE KEY" not in text:
        return first
    last_end = max((match.start() for match in _KEY_ENDS.finditer(text)), default=0)
    since = max(last_end, len(text) - _KEY_CHARS - 2 * _KEY_BEGUN_CHARS)
    begin = _KEY_BEGINS.search(text, since)
    return min(first, begin.start()) if begin else first


def _apart(finds: Iterable[_Find]) -> Iterator[_Find]:
    """Yield finds, those that overlap as one under the first name."""
    last: _Find | None = None
    for find in finds:
        if last and find.start < last.end:
            last = last._replace(end=max(last.end, find.end))
            continue
        if last:
            yield last
        last = find
    if last:
        yield last


def _replaced(text: str, finds: Iterable[_Find]) -> str:
    parts, at = [], 0
    for find in finds:
        parts += [text[at : find.start], f"[redacted: {find.name}]"]
        at = find.end
    return "".join([*parts, text[at:]])


def _begun(text: str, form: str) -> int:
    """Return with how many characters of a form a text ends, at most all but one."""
    sizes = range(min(len(form) - 1, len(text)), 0, -1)
    return next((size for size in sizes if text.endswith(form[:size])), 0)


def stand_ins(text: str) -> set[str]:
    """Return what stands in a text in the place of secrets."""
    return set(_STAND_IN.findall(text))


# -- values ---------------------------------------------------------------------------------------

_SECRET_NAME = re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD|_AUTH|CREDENTIALS?)"
    r"(?:_(?:BASE|JSON|BASE64|B64|PEM|PROD|DEV|TEST|OLD|NEW))?_?\d*$",
    re.IGNORECASE,
)
_ESCAPE = re.compile("%[0-9A-F]{2}")
_LONG = 20
_LETTERS = (r"[a-z]", r"[A-Z]", r"[0-9]", r"[^A-Za-z0-9_.:/ -]")
_PATHS = ("/", "~", "./", "../", "$")
_WORD = 16
_PASSWORD = re.compile(r"""://[^\s/:@?#]{0,256}:([^\s/?#,"']{1,512})@""")
_BETWEEN = re.compile(r"""(?:\\n|[\s"',;:={}\[\]])+""")


def secrets_in(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that hold a secret, by what their names say, and the passwords in addresses."""
    named = {name: value for name, value in environ.items() if _SECRET_NAME.search(name)}
    found = dict(named)
    for name, value in environ.items():
        for at, password in enumerate(dict.fromkeys(_PASSWORD.findall(value)), 1 + (name in named)):
            found[name if at == 1 else f"{name} ({at})"] = password
    return found


def _tells(value: str) -> bool:
    """Tell whether a value can be told from an ordinary word, number or path: those may stand anywhere."""
    if len(value) < SHORTEST or value.startswith(_PATHS):
        return False
    return len(value) >= _LONG or sum(bool(re.search(kind, value)) for kind in _LETTERS) > 1


def _parts(value: str) -> Iterator[str]:
    """Yield a value and, where it has many lines, its long words: a tool may show it line by line.

    What is escaped for an address is plain to who uses it.
    """
    yield value
    if (plain := unquote(value)) != value and _tells(plain):
        yield plain
    if "\n" in value:
        words = _BETWEEN.split(value)
        yield from (word for word in words if len(word) >= _WORD and _tells(word) and re.search(r"[0-9]", word))


def _forms(value: str) -> set[str]:
    """Return a value as it may stand in a text: as it is, in JSON, in an address, in base64 at any place."""
    data = value.encode(errors="surrogateescape")
    texts = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    quoted = {quote(data, safe=safe) for safe in ("", "/", "!*'()")}
    texts |= quoted | {_ESCAPE.sub(lambda found: found[0].lower(), text) for text in quoted}
    for before in range(3):
        coded = base64.b64encode(bytes(before) + data).decode()
        # What its neighbours have a part in is left out at both ends.
        own = coded[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
        texts |= {own, own.translate(str.maketrans("+/", "-_"))}
    return texts


# What is known without any value.
SHAPES = Redaction()
