"""The slots of a host, and what is recorded of them."""

from collections.abc import Callable

from deskmate.app.hosts.host_registry import HostRegistry
from deskmate.core.hosts.host_records import HostFreed, HostTook
from deskmate.core.log.names import agent_id


class Slots:
    """How many teammates this host can run, and which it runs. `tell`: gets a line for everything that happens."""

    def __init__(self, name: str, slots: int, registry: HostRegistry, tell: Callable[[str], None]) -> None:
        self._name, self._slots, self._registry, self._tell = name, slots, registry, tell
        self._members = set[str]()
        self.clock = registry.clock

    def take(self, member: str, team: str) -> bool:
        """Take a slot, or return False if none is free."""
        if len(self._members) >= self._slots:
            return False
        self._members.add(agent_id(member, team))
        return True

    async def tell_taken(self, member: str, team: str) -> None:
        """Record that a member runs here."""
        self._tell(f"host {self._name} runs {agent_id(member, team)}")
        taken = HostTook(name=self._name, member=agent_id(member, team), at=self.clock.timestamp())
        await self._registry.record(taken)

    async def free(self, member: str, team: str) -> None:
        """Free the slot of a member, if it has one."""
        if (id_ := agent_id(member, team)) in self._members:
            self._members.discard(id_)
            self._tell(f"host {self._name} does not run {id_} any more")
            await self._registry.record(HostFreed(name=self._name, member=id_, at=self.clock.timestamp()))
