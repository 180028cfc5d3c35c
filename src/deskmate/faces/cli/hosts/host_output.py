"""What host and hosts print."""

import sys
from collections.abc import Mapping
from pathlib import Path

import anyio

from deskmate import app
from deskmate.app.hosts.host_actions import look_at_hosts, new_offer, run_host
from deskmate.core.hosts.placement import SeenHost
from deskmate.faces.cli.output import json_output
from deskmate.faces.common.error_log import error_text, logging_to
from deskmate.faces.common.stop_signals import StopSignals
from deskmate.faces.common.text_tables import note, put, sheet_for
from deskmate.faces.common.trust_prompt import consent_of
from deskmate.trust.approvals import NO_CONSENT


def serve(
    folder: Path | None, name: str | None, labels: str, slots: int | None, flags: Mapping[str, object], *, trusts: bool
) -> int:
    """Run teammates here until told to stop. Return the exit code. Raises DeskmateError."""
    offer = new_offer(name, labels, slots)
    app.seclude()
    app.raise_open_files(app.environment())
    settings = app.load(app.environment(), {name: value for name, value in flags.items() if value is not None})
    for warning in settings.warnings:
        note(error_text(warning, before="deskmate: warning: "))
    consent = consent_of(folder, settings, note, trusts=trusts, asks=False) or NO_CONSENT

    stop_signals = StopSignals(note)

    async def told() -> None:
        with anyio.CancelScope() as scope, stop_signals.stops(scope):
            await anyio.sleep_forever()

    def tell(line: str) -> None:
        note(f"deskmate: {line}")

    with stop_signals.signals(), logging_to(note):
        anyio.run(run_host, folder, offer, consent.narrowed(settings), consent, tell, told)
    return 0


def listing(folder: Path | None, *, as_json: bool) -> int:
    """Print the hosts."""
    with logging_to(note):
        found = anyio.run(look_at_hosts, folder)
    if as_json:
        return put([json_output.line({"hosts": [_fields(one) for one in found]})])
    if not found:
        return put(["There are no hosts. To run teammates on this machine, use: deskmate host"])
    sheet = sheet_for(sys.stdout)
    return put(sheet.table([_row(one) for one in found], gives=5))


def _row(host: SeenHost) -> list[str]:
    load = "" if host.load is None else f"load {host.load:.2f}"
    slots = f"{len(host.members)} of {host.slots} slots used"
    return [host.name, host.state, slots, load, ", ".join(sorted(host.labels)), ", ".join(sorted(host.members))]


def _fields(host: SeenHost) -> json_output.Fields:
    return {
        "name": host.name,
        "state": host.state,
        "labels": sorted(host.labels),
        "slots": host.slots,
        "used": len(host.members),
        "free": host.free,
        "load": host.load,
        "machine": host.machine,
        "members": sorted(host.members),
    }
