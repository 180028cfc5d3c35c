"""What the model is told about hosts that a command wanted to reach and did not."""

import re
from collections.abc import Iterable, Mapping

UNLISTED = "the user can allow it with --network HOST or the setting 'network'"
_MOST_TOLD = 5
_HOST = r"(?P<host>[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+)"
# How programs say that they cannot find a host: curl and git, wget, npm, pip, apt, Go.
_UNFOUND = tuple(
    re.compile(pattern.replace("HOST", _HOST), re.IGNORECASE)
    for pattern in (
        "could not resolve (?:host(?:name)?|proxy):? '?HOST",
        "unable to resolve host address .?HOST",
        "getaddrinfo (?:EAI_AGAIN|ENOTFOUND) HOST",
        "host='HOST'",
        "(?:failed to|could not) resolve '?HOST",
        "lookup HOST(?: on [^ ]+)?: ",
    )
)
_OFFLINE = re.compile(
    "name resolution|name or service not known|could not resolve|unable to resolve|network is unreachable"
    "|eai_again|failed to resolve|dial tcp: lookup",
    re.IGNORECASE,
)


def refused_words(refused: Mapping[str, str]) -> str:
    """Return which hosts were refused and why, on one line. Empty if none."""
    reasons: dict[str, list[str]] = {}
    for host, why in refused.items():
        reasons.setdefault(why, []).append(host)
    return "; ".join(f"commands may not reach {', '.join(hosts)}: {why}" for why, hosts in reasons.items())


def offline_words(output: str) -> str:
    """Return what a command without a network may have missed, judged by its output. Empty if nothing.

    Without a proxy nobody sees what it wanted to reach.
    """
    if not _OFFLINE.search(output):
        return ""
    hosts = dict.fromkeys(found["host"].lower() for pattern in _UNFOUND for found in pattern.finditer(output))
    return f"commands have no network{_named(list(hosts)[:_MOST_TOLD])}"


def _named(hosts: Iterable[str]) -> str:
    options = " ".join(f"--network {host}" for host in hosts)
    return f": the user can allow it with {options or '--network HOST'} or the setting 'network'"
