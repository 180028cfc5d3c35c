"""Hosts in words, for models and for people."""

from collections.abc import Mapping, Sequence

from deskmate.core.hosts.placement import SeenHost, Wish
from deskmate.core.prompt.prompts import ToolSpec

_MOST = 20


def host_words(host: SeenHost) -> str:
    """Return a host with its labels and free slots, such as `gpu1 (gpu, linux; 3 of 8 slots free)`."""
    state = "" if host.state == "up" else f", {host.state}"
    labels = f"{', '.join(sorted(host.labels))}; " if host.labels else ""
    return f"{host.name} ({labels}{host.free} of {host.slots} slots free{state})"


def hosts_words(hosts: Sequence[SeenHost]) -> str:
    """Return all hosts on one line, at most 20 of them."""
    if not hosts:
        return "none"
    more = [f"and {len(hosts) - _MOST} more"] if len(hosts) > _MOST else []
    return ", ".join([*map(host_words, hosts[:_MOST]), *more])


def no_host_text(hosts: Sequence[SeenHost], wish: Wish) -> str:
    """Return that no host fits what is wished, and which hosts there are."""
    wanted = [f"host '{wish.host[:80]}'"] if wish.host else []
    wanted += [f"labels {', '.join(sorted(wish.labels))}"] if wish.labels else []
    what = f" with {' and '.join(wanted)}" if wanted else ""
    return f"No host{what} has a free slot. Hosts: {hosts_words(hosts)}."


def with_hosts(spec: ToolSpec, hosts: Sequence[SeenHost]) -> ToolSpec:
    """Return the tool that starts teammates with the fields that say where. Only a lead with hosts is told of them."""
    there = ", ".join(f"{host.name} ({', '.join(sorted(host.labels))})" if host.labels else host.name for host in hosts)
    fields: Mapping[str, object] = {
        "host": {
            "type": "string",
            "description": f"run the teammate on this host: {there[:1000]}. lead: your machine. Default: any host",
        },
        "labels": {
            "type": "array",
            "items": {"type": "string"},
            "description": "run the teammate on a host that has all these labels",
        },
    }
    return ToolSpec(spec.name, spec.text, {**spec.schema, "properties": {**spec.schema["properties"], **fields}})
