"""What a person does with hosts: starts one, and looks at all of them."""

import os
import platform
import re
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

from anyio import to_thread

from deskmate.app.hosts.host_registry import HostRegistry
from deskmate.app.hosts.host_worker import HostOffer, HostWorker
from deskmate.app.hosts.hosted_team import HostSetup
from deskmate.app.parts.asked_models import sandbox_and_client
from deskmate.config import Settings, choose_model
from deskmate.core.hosts.host_records import host_name, parse_labels
from deskmate.core.hosts.placement import SeenHost, seen_hosts
from deskmate.core.log.names import RESERVED
from deskmate.errors import BadName, Refused
from deskmate.queries.stream_reader import workspace_at
from deskmate.runtime.system_clock import SystemClock
from deskmate.runtime.task_groups import meanwhile
from deskmate.stores.engines.engine_url import shown_url, spaced_url
from deskmate.trust.approvals import Consent
from deskmate.trust.chosen_engine import engine_at, use_store

NO_SERVER = "A host needs teams that other machines can reach, and the teams of this workspace are in its files"
USE_SERVER = "Set DESKMATE_STORE to the URL of your PostgreSQL or NATS server, with the same ?space= as the lead."


def new_offer(name: str | None, labels: str, slots: int | None) -> HostOffer:
    """Return what this machine offers. Without a name, it has that of the machine. Raises BadInput."""
    found = name or re.sub(r"[^a-z0-9_-]+", "-", platform.node().partition(".")[0].lower()).strip("-_")[:64]
    if found in RESERVED:
        raise BadName(f"The host name '{found}' is reserved", "Choose another with --name.")
    return HostOffer(host_name(found), parse_labels(labels), slots or os.cpu_count() or 1)


async def run_host(
    folder: Path | None,
    offer: HostOffer,
    settings: Settings,
    consent: Consent,
    tell: Callable[[str], None],
    told: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    """Run teammates on this machine until `told` returns, and then until they are handed over.

    Raises Refused if other machines cannot reach the teams here, or if the name is taken.
    """
    place = workspace_at(folder)
    if settings.store is None:
        raise Refused(NO_SERVER, USE_SERVER)
    # Settings that cannot be used are told now, not when a teammate is placed here.
    choose_model(settings)
    use_store(place, settings.store)
    url = spaced_url(settings.store, place)
    sandbox, client = await sandbox_and_client(settings, to_any=True)
    async with client:
        # Processes use the same space, whatever folder they work in.
        own = settings.model_copy(update={"store": url})
        setup = HostSetup(place, own, consent, sandbox, client, engine_at(place))
        tell(f"host {offer.name} works in {place}, for teams in {shown_url(url)}. To stop, press Ctrl-C")
        worker = HostWorker(setup, offer, tell, SystemClock())

        async def drain() -> None:
            await told()
            worker.draining.set()

        await meanwhile(drain, worker.keep())


async def look_at_hosts(folder: Path | None) -> list[SeenHost]:
    """Return the hosts for the teams of a workspace. Raises Refused if other machines cannot reach these teams."""
    engine = engine_at(workspace_at(folder))
    if not engine.shared:
        raise Refused("The teams of this workspace are in its files, which other machines cannot reach", USE_SERVER)
    store = await to_thread.run_sync(engine.hosts)
    if store is None:
        return []
    with closing(store):
        registry = HostRegistry(engine, store, SystemClock())
        await registry.refresh()
        await registry.look_at_seats()
        return seen_hosts(registry.state, registry.held)
