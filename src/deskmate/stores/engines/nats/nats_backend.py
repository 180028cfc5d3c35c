"""The teams of one space in NATS JetStream.

A directory says which id the team of a name has. Each team has two streams in JetStream: one for all its records, one
for its seats.
"""

import asyncio
import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from deskmate.core.checks import Check
from deskmate.core.log.records import Item, Make, Stamp
from deskmate.stores.engines.nats.nats_checks import check_servers, check_stream
from deskmate.stores.engines.nats.nats_client import JetStreamError, NatsClient
from deskmate.stores.engines.nats.nats_health import check_cluster
from deskmate.stores.engines.nats.nats_log import NatsLog
from deskmate.stores.engines.nats.nats_messages import EXPECTED, LAST, name_of, token
from deskmate.stores.engines.nats.nats_seats import NatsSeats
from deskmate.stores.engines.nats.nats_watch import NatsWatch
from deskmate.stores.engines.server_backend import ServerTeam, StreamEnd, Ticket

T = TypeVar("T")
_DIRECTORY = "DESKMATE_teams"
# How long the place of an expired seat says so.
_MARKER_SECONDS = 3600
_AT_ONCE = 16


class NatsBackend:
    """The teams of one space. `place`: the servers' address as people may see it."""

    def __init__(self, servers: list[str], monitors: list[str], space: str, place: str) -> None:
        self._client = NatsClient(servers, place, lambda client: check_servers(client, place, monitors))
        self._monitors = monitors
        self._place, self._space = place, hashlib.sha256(space.encode()).hexdigest()[:16]
        self._parts: dict[str, tuple[NatsLog, NatsSeats, NatsWatch]] = {}
        self._lost: dict[str, list[Ticket]] = {}
        self._at_once = asyncio.Semaphore(_AT_ONCE)
        self._has_directory = False

    # -- teams ------------------------------------------------------------------------------------

    async def teams(self) -> list[ServerTeam]:
        """Return all teams that have a record."""
        return await self._client.patiently(self._teams)

    async def _teams(self) -> list[ServerTeam]:
        entries = await self._entries()
        # A team in both places was being archived.
        archived = {team.id for team in entries if team.archived}
        listed = [team for team in entries if team.archived or team.id not in archived]
        counts = await asyncio.gather(*(self._count(team) for team in listed))
        return [team for team, count in zip(listed, counts, strict=True) if count]

    async def _count(self, team: ServerTeam) -> int:
        async with self._at_once:
            try:
                return int((await self._client.ask(f"STREAM.INFO.{_records(team.id)}"))["state"]["messages"])
            except JetStreamError as error:
                if error.code == 10059:
                    return 0
                raise

    async def _entries(self) -> list[ServerTeam]:
        await self._make_directory()
        info = await self._client.ask(
            f"STREAM.INFO.{_DIRECTORY}", {"subjects_filter": f"deskmate.teams.{self._space}.>"}
        )
        subjects = sorted(info["state"].get("subjects") or ())
        found = await asyncio.gather(*(self._entry(name_of(subject)) for subject in subjects))
        return [team for team, _ in found if team is not None]

    async def _entry(self, name: str) -> tuple[ServerTeam | None, int]:
        """Return the team of a name in the directory, and the number of that entry."""
        async with self._at_once:
            found = await self._client.message(_DIRECTORY, {"last_by_subj": self._subject(name)})
        if found is None:
            return None, 0
        entry = json.loads(found.body)
        return ServerTeam(entry["id"], name, entry["archived"]) if entry else None, found.sequence

    async def team(self, name: str) -> ServerTeam | None:
        """Return the open team of a name."""

        async def find() -> ServerTeam | None:
            await self._make_directory()
            found, _ = await self._entry(name)
            if found is None or found.archived:
                return None
            return None if found.id in {team.id for team in await self._entries() if team.archived} else found

        return await self._client.patiently(find)

    async def create(self, name: str) -> ServerTeam:
        """Return the open team of a name, created if it is not there."""
        if (found := await self.team(name)) is None:
            new = ServerTeam(secrets.token_hex(8), name)

            async def create() -> ServerTeam:
                there, sequence = await self._entry(name)
                if there is not None and (there.id == new.id or await self.team(name)):
                    return there
                await self._enter(name, {"id": new.id, "archived": False}, sequence)
                return new

            await self._make_directory()
            found = await self._client.patiently(create)
        await self._client.patiently(lambda: self._make_streams(found.id))
        return found

    async def archive(self, team: ServerTeam, place: str) -> None:
        """List a team at its place in the archive, then free its name."""

        async def archive() -> None:
            there, sequence = await self._entry(place)
            if there is None:
                await self._enter(place, {"id": team.id, "archived": True}, sequence)
            there, sequence = await self._entry(team.name)
            if there is not None and there.id == team.id:
                await self._enter(team.name, {}, sequence)

        await self._client.patiently(archive)

    async def remove(self, team: ServerTeam) -> None:
        """Take a team from the directory, then delete its streams."""

        async def remove() -> None:
            there, sequence = await self._entry(team.name)
            if there is not None and there.id == team.id:
                await self._enter(team.name, {}, sequence)
            for stream in (_records(team.id), _seats(team.id)):
                try:
                    await self._client.ask(f"STREAM.DELETE.{stream}")
                except JetStreamError as error:
                    if error.code != 10059:
                        raise

        await self._client.patiently(remove)

    async def _enter(self, name: str, entry: Mapping[str, object], after: int) -> None:
        body = json.dumps(entry).encode()
        await self._client.request(self._subject(name), body, {EXPECTED: str(after)})

    def _subject(self, name: str) -> str:
        return f"deskmate.teams.{self._space}.{token(name)}"

    async def _make_directory(self) -> None:
        if not self._has_directory:
            await self._make_stream(_DIRECTORY, ["deskmate.teams.>"], max_msgs_per_subject=1)
            self._has_directory = True

    async def _make_streams(self, team: str) -> None:
        await self._make_stream(_records(team), [f"deskmate.{team}.s.>"], allow_direct=True, deny_delete=True)
        more: dict[str, Any] = {"allow_msg_ttl": True, "subject_delete_marker_ttl": _MARKER_SECONDS * 10**9}
        await self._make_stream(_seats(team), [f"deskmate.{team}.seat.>"], max_msgs_per_subject=1, **more)

    async def _make_stream(self, name: str, subjects: list[str], **more: object) -> None:
        await self._client.client()
        config = {
            "name": name,
            "subjects": subjects,
            "storage": "file",
            "retention": "limits",
            "discard": "new" if "max_msgs_per_subject" not in more else "old",
            "num_replicas": self._client.replicas,
            **more,
        }
        try:
            info = await self._client.ask(f"STREAM.CREATE.{name}", config)
        except JetStreamError:
            # It may be there with another configuration, which an operator chose.
            info = await self._client.ask(f"STREAM.INFO.{name}")
        check_stream(self._place, info, self._client.replicas)

    async def ends(self, team: ServerTeam) -> dict[str, StreamEnd]:
        """Return the ends of all streams that have a record."""

        async def ends() -> dict[str, StreamEnd]:
            wanted = {"subjects_filter": f"deskmate.{team.id}.s.>"}
            info = await self._client.ask(f"STREAM.INFO.{_records(team.id)}", wanted)
            subjects = sorted(info["state"].get("subjects") or ())
            found = await asyncio.gather(*(self._end(team, subject) for subject in subjects))
            return {name_of(subject): end for subject, end in zip(subjects, found, strict=True)}

        return await self._client.patiently(ends)

    async def _end(self, team: ServerTeam, subject: str) -> StreamEnd:
        async with self._at_once:
            found = await self._client.message(_records(team.id), {"last_by_subj": subject})
        assert found is not None, "it was listed"
        return StreamEnd(int(found.headers[LAST]), datetime.fromisoformat(f"{found.time[:19]}+00:00").timestamp())

    # -- streams, changes and seats ---------------------------------------------------------------

    def _of(self, team: ServerTeam) -> tuple[NatsLog, NatsSeats, NatsWatch]:
        if team.id not in self._parts:
            log = NatsLog(self._client, team.id, _records(team.id))
            watch = NatsWatch(self._client, log, team.id, _records(team.id))
            self._parts[team.id] = log, NatsSeats(self._client, log, team.id, _seats(team.id), watch.ring), watch
        return self._parts[team.id]

    async def read(
        self, team: ServerTeam, stream: str, after: int, *, most: int | None = None, sync: bool = True
    ) -> Sequence[Item]:
        """Return what is after a number, at most so many. All of it was synced."""
        return await self._of(team)[0].read(stream, after, most)

    async def append(
        self,
        team: ServerTeam,
        stream: str,
        lines: Mapping[Stamp, bytes],
        expect: int | None,
        guards: Sequence[Ticket],
        *,
        sync: bool,
    ) -> list[int]:
        """Append lines. The servers sync all of them."""
        return await self._of(team)[0].append(stream, lines, expect, guards)

    async def decide(
        self, team: ServerTeam, stream: str, after: int, make: Make[T], guards: Sequence[Ticket], *, sync: bool
    ) -> tuple[int | None, T]:
        """Append what `make` decides."""
        return await self._of(team)[0].decide(stream, after, make, guards)

    async def changed(self, team: ServerTeam, since: Mapping[str, int]) -> None:
        """Return once a stream has something above its number, or a seat is lost."""
        tickets = self._lost.setdefault(team.id, [])
        await self._of(team)[2].changed(since, lambda: any(ticket.lost is not None for ticket in tickets))

    async def take(self, team: ServerTeam, ticket: Ticket, *, wait: bool) -> None:
        """Take a seat. Raises Held."""
        await self._of(team)[1].take(ticket, wait=wait)
        self._lost.setdefault(team.id, []).append(ticket)

    async def drop(self, team: ServerTeam, ticket: Ticket) -> None:
        """Free a seat, if the ticket has it."""
        await self._of(team)[1].drop(ticket)
        tickets = self._lost.setdefault(team.id, [])
        tickets[:] = [one for one in tickets if one is not ticket]

    async def holders(self, team: ServerTeam, only: str | None = None) -> dict[str, str | None]:
        """Return the seats that are or were held, with the holder's note or None. `only`: at most this one."""
        return await self._client.patiently(lambda: self._of(team)[1].holders(only))

    async def checks(self) -> list[Check]:
        """Check the servers for `deskmate doctor`."""
        own = len(await self.teams())
        return await self._client.patiently(lambda: check_cluster(self._client, self._monitors, own))

    async def close(self) -> None:
        """End the connection."""
        for _, _, watch in self._parts.values():
            watch.close()
        await self._client.close()


def _records(team: str) -> str:
    return f"DESKMATE_{team}"


def _seats(team: str) -> str:
    return f"DESKMATE_{team}_seats"
