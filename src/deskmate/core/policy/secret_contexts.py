"""Secrets recognised by the text around them.

Such a value must also look like a secret: `random_looking` tells it from words, versions, paths and examples.
"""

import re
import string
from collections.abc import Iterator

from deskmate.core.policy.secret_shapes import PLACEHOLDER, Shape, Span, compiled, grouped, is_plain, present

_ASSIGNED_NAME = "value of a secret name"
_PASSWORD_NAME = "password in an address"
_TOKEN_NAME = "token in an address"
_KEY_NAME = "private key"
CONTEXT_NAMES = frozenset({_ASSIGNED_NAME, _PASSWORD_NAME, _TOKEN_NAME, _KEY_NAME})

# -- values ---------------------------------------------------------------------------------------

_SHORTEST = 16
_DISTINCT = 8
_EXAMPLE = re.compile(r"example|placeholder|change_?me|your[_-]|dummy|sample|redacted|xxxx|\*\*\*", re.IGNORECASE)


# The address of an account or a contract, which is public. A private key is longer.
_CHAIN_ADDRESS = re.compile(r"0x[0-9A-Fa-f]{40}")


def random_looking(value: str) -> bool:
    """Tell whether a value mixes letters and digits as no word, path or example does."""
    return (
        len(value) >= _SHORTEST
        and len(set(value)) >= _DISTINCT
        and re.search(r"\d", value) is not None
        and re.search(r"[A-Za-z]", value) is not None
        and not is_plain(value)
        and not _EXAMPLE.search(value)
        and not _CHAIN_ADDRESS.fullmatch(value)
    )


# -- after a name ---------------------------------------------------------------------------------

_SUFFIX = r"(?:S|_(?:BASE|JSON|BASE64|B64|PROD|LIVE|DEV|TEST|OLD|NEW|V?\d{1,2}))?"
_IS = r"""\\{0,3}["']?[ \t]{0,8}(?::|=)[ \t]{0,8}"""
_DJANGO = "(?:django-insecure-)?"
# A value that begins with a quote ends at the same quote. Any other ends at a blank or a quote.
_QUOTED = rf"""(?P<quote>\\{{0,3}}["']){_DJANGO}(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\\\r\n])){{16,512}})(?P=quote)"""
_BARE = rf"""\\{{0,3}}["']?{_DJANGO}(?P<bare>(?:(?!["'`\\<>])[!-~]){{16,512}})"""
_ASSIGNED = grouped(
    Shape(needle, _ASSIGNED_NAME, f"(?P<name>{pattern}){_IS}(?:{_QUOTED}|{_BARE})")
    for needle, pattern in (
        ("KEY", r"KEY(?<![A-Z]KEY)(?<!PUBLIC_KEY)(?<!CACHE_KEY)" + _SUFFIX),
        ("TOKEN", "TOKEN" + _SUFFIX),
        ("SECRET", "SECRET" + _SUFFIX),
        ("PASSW", r"PASSW(?:OR)?D" + _SUFFIX),
        ("_PAT", "_PAT"),
        ("client_secret", "client_secret"),
        ("api_key", "api_key"),
        ("pi-key", "pi-key"),
        ("pi-Key", "pi-Key"),
        ("PI-Key", "PI-Key"),
        ("rivate-token", "rivate-token"),
        ("rivate-Token", "rivate-Token"),
        ("RIVATE-TOKEN", "RIVATE-TOKEN"),
        ("ault-Token", "ault-Token"),
    )
)


# Names of keys that are not secret.
OPEN_NAME = re.compile(
    r"(?:^|_)(?:PUBLIC|PUBLISHABLE|CACHE|S3|OBJECT|PARTITION|ROUTING|SORT|PRIMARY|CONFIG|IDEMPOTENCY|GPG|STORAGE|QUERY)"
    r"_KEYS?(?:_?\d+)?$",
    re.IGNORECASE,
)
_NAME_LETTERS = string.ascii_letters + string.digits + "_-"
_NAME_CHARS = 64
# The key that Django makes for a project. It may have no digit, and may contain what looks like code.
_DJANGO_KEY = re.compile(r"[a-z0-9!@#$%^&*(\-_=+)]{50}")
_SIGN = re.compile(r"[!@#$%^&*(=+)]")
_SIGNS = 3
_CODE = re.compile(r"\$\{|\$\([A-Za-z_]+[ )]|\{\{|\{\w*\}|\[[^\]\s]*(?:0-9|[aA]-[fFzZ])")
_ESCAPED = re.compile(r"\\+(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|.)")
_VARIABLE_NAME = re.compile(r"\$[A-Za-z_({]")
_BRACKET = re.compile(r"[()\[\]{}]")
# The start of the next value of a list.
_NEXT = re.compile(r"[,;&](?=[A-Za-z_][\w-]*[=:])")
_CLOSING = {")": "(", "]": "[", "}": "{"}
_RUN = re.compile(r"[\w+/.~=@!%^&*-]+", re.ASCII)


def assigned_in(text: str) -> Iterator[Span]:
    """Yield random-looking values of variables, fields and headers that are named like a secret."""
    for shape in present(_ASSIGNED, text):
        at = 0
        while match := compiled(shape.pattern).search(text, at):
            quoted = match["quoted"] is not None
            start, end = match.span("quoted" if quoted else "bare")
            value = text[start:end] if quoted else _NEXT.split(text[start:end], maxsplit=1)[0]
            size = _quoted_size(value) if quoted else _bare_size(value)
            # There may be another name in code, or after the value.
            at = start + (size if size or _CODE.search(value) else len(value))
            before = text[max(0, match.start() - _NAME_CHARS) : match.start()]
            begin = match.start() - len(before) + len(before.rstrip(_NAME_LETTERS))
            if size and not OPEN_NAME.search(text[begin : match.end("name")]):
                yield Span(start, start + size, begin, shape.name)


def _quoted_size(value: str) -> int:
    """Return how much of a quoted value is a secret: all of it, the part before code if it has code, or 0."""
    if _DJANGO_KEY.fullmatch(value) and len(_SIGN.findall(value)) >= _SIGNS:
        return len(value)
    if _CODE.search(value):
        return _run_size(value)
    words = _ESCAPED.sub("", value).split()
    return len(value) if any(map(random_looking, words)) else 0


def _bare_size(value: str) -> int:
    """Return how much of a value without quotes is a secret. It may be in the middle of code."""
    value = value.rstrip(",;")
    while value[-1:] in _CLOSING and value.count(value[-1:]) > value.count(_CLOSING[value[-1:]]):
        value = value[:-1].rstrip(",;")
    if _CODE.search(value) or _VARIABLE_NAME.match(value):
        return _run_size(value)
    # A call, or an item of a list, is made of words between brackets.
    return len(value) if random_looking(value) and not is_plain(_BRACKET.sub(".", value)) else 0


def _run_size(value: str) -> int:
    """Return the length of the run of letters at the start of a value, if it looks random; else 0."""
    run = _RUN.match(value)
    return len(run[0]) if run and random_looking(run[0]) else 0


# -- in an address --------------------------------------------------------------------------------

# A port or a path may also follow a colon. A password may contain `@`, `:` and `/`: it ends at the first `@` that is
# followed by a host. In the name of an image, a digest follows the `@`.
_ADDRESS = re.compile(
    r"""://([^\s/:@"'`<>]{0,64}):(?!\d{1,5}(?![^\s/?#"'`<>,;)\]}|\\]))([^\s"'`<>(){}\[\]*^|\\]{4,128}?)"""
    r"""@(?!sha\d+:)(?:(?:[\w.-]{1,253}|\[[0-9A-Fa-f:.%]{2,48}\]|[$%{<(][^\s/@"'`]{0,64})(?::\d{1,5})?)?(?![\w@:.-])"""
)
_TOKEN_USER = re.compile(r"""://((?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[\w-]{20,255})(?::[^\s/@"'`]{0,64})?@""", re.ASCII)
_VARIABLE = re.compile(r"[$<{]|%[^0-9A-Fa-f]")


def addressed_in(text: str) -> Iterator[Span]:
    """Yield passwords in addresses, and tokens in place of a user."""
    if "://" not in text:
        return
    for match in _ADDRESS.finditer(text):
        user, password = match[1], match[2]
        if password != user and not PLACEHOLDER.fullmatch(password) and not _VARIABLE.match(password):
            yield Span(*match.span(2), match.start(), _PASSWORD_NAME)
    for match in _TOKEN_USER.finditer(text):
        yield Span(*match.span(1), match.start(), _TOKEN_NAME)


# -- private keys ---------------------------------------------------------------------------------

# Private keys have many lines. They are found by their first and last line.
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
# If the first line of a key is missing: all lines before the last one that look like part of a key.
_REST_CHARS = 16 * 1024
_NUMBER = re.compile(r"[ \t]{0,8}(?:\d{1,6}[\t:])?")
_REST_LINE = re.compile(_NUMBER.pattern + r"[A-Za-z0-9+/]{1,76}={0,2}[ \t]{0,8}\r?\Z")
_REST_BEGUN = re.compile(r"[\w+/= \t:-]{0,100}\Z", re.ASCII)
_REST_FULL = 40
_BASE64 = string.ascii_letters + string.digits + "+/"


def private_keys_in(text: str) -> Iterator[Span]:
    """Yield private keys up to their last line or, if that is missing, as far as they look like a key."""
    if "PRIVATE KEY" not in text:
        return
    ends = [match.span() for match in _KEY_ENDS.finditer(text)]
    at, next_end = 0, 0
    for begin in _KEY_BEGINS.finditer(text):
        if begin.start() < at or begin["cut"] is not None:
            continue
        while next_end < len(ends) and ends[next_end][1] < begin.end():
            yield from _rest_of_key(text, at, *ends[next_end])
            next_end += 1
        if next_end < len(ends) and ends[next_end][1] - begin.end() <= _KEY_CHARS:
            at = ends[next_end][1]
            next_end += 1
        elif body := _KEY_BODY.match(text, begin.end()):
            at = body.end()
        else:
            continue
        yield Span(begin.start(), at, begin.start(), _KEY_NAME)
    for end in ends[next_end:]:
        yield from _rest_of_key(text, at, *end)
        at = end[1]


def _rest_of_key(text: str, after: int, end: int, stop: int) -> Iterator[Span]:
    """Yield a key whose first line is missing, found by its last line."""
    line = text.rfind("\n", after, end) + 1
    end = line if line and _NUMBER.fullmatch(text, line, end) else end
    start = _base64_before(text, max(after, end - _REST_CHARS), end)
    if start < end:
        yield Span(start, stop, start, _KEY_NAME)


def _base64_before(text: str, low: int, end: int) -> int:
    """Return where the lines of base64 that end at a place begin; the place itself if there are none.

    The last line may be short, or a checksum. Those before it are long. Other words may precede the first one.
    """
    start, full = end, False
    while start > low and text[start - 1] == "\n":
        line_start = text.rfind("\n", low, start - 1) + 1 or low
        line = text[line_start : start - 1]
        if not _REST_LINE.match(line) or (full and len(line) < _REST_FULL):
            letters = line.rstrip(" \t\r=")
            run = len(letters) - len(letters.rstrip(_BASE64))
            if run >= _REST_FULL:
                return line_start + len(letters) - run
            break
        start, full = line_start, full or len(line) >= _REST_FULL
    number = _NUMBER.match(text, start)
    return number.end() if full and number else end


def open_key(text: str) -> int:
    """Return where a private key begins whose last line may still come; the length of the text if there is none."""
    near = max(0, len(text) - _KEY_BEGUN_CHARS)
    begun = _KEY_BEGUN.search(text, near)
    first = min(begun.start() if begun else len(text), _open_rest(text))
    if "PRIVATE KEY" not in text:
        return first
    last_end = max((match.start() for match in _KEY_ENDS.finditer(text)), default=0)
    since = max(last_end, len(text) - _KEY_CHARS - 2 * _KEY_BEGUN_CHARS)
    begin = _KEY_BEGINS.search(text, since)
    return min(first, begin.start()) if begin else first


def _open_rest(text: str) -> int:
    """Return where base64 lines at the end of a text begin, since the last line of a key may follow them."""
    whole = text.rfind("\n") + 1
    start = _base64_before(text, max(0, whole - _REST_CHARS), whole) if _REST_BEGUN.match(text, whole) else whole
    return start if start < whole else len(text)
