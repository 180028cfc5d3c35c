"""The URLs of stores: our own options in them, and how they are shown."""

from collections.abc import Collection
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit


def parted_url(url: str, ours: Collection[str]) -> tuple[str, dict[str, str]]:
    """Return a URL without the options that are ours, and these options."""
    parts = urlsplit(url)
    options = parse_qsl(parts.query, keep_blank_values=True)
    rest = urlencode([option for option in options if option[0] not in ours])
    return urlunsplit(parts._replace(query=rest)), {name: value for name, value in options if name in ours}


def shown_url(url: str) -> str:
    """Return a URL without its password and its options, which may contain one."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, f"{user.partition(':')[0]}{at}{host}", parts.path, "", ""))


def spaced_url(url: str, workspace: Path) -> str:
    """Return a URL that names the space it is used for, which without the option is the path of the workspace."""
    query = urlsplit(url).query
    if dict(parse_qsl(query)).get("space"):
        return url
    return f"{url}{'&' if query else '?'}space={quote(str(workspace), safe='')}"
