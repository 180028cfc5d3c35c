"""Hosts on machines of their own are killed and cut off: every task is done once, with the results of a quiet run.

Each host is in a network namespace. The lead, the server and the provider are outside.
"""

import os
import random
import subprocess
from functools import partial
from itertools import groupby
from pathlib import Path

import anyio
import pytest

from deskmate.core.hosts.placement import SeenHost
from deskmate.core.log.names import log
from deskmate.core.log.records import Record
from deskmate.testing.servers.cut_network import CutNetwork, can_cut
from tests.app.hosts.host_harness import HostSpace, host_space, starts, story, works
from tests.chaos.kills.test_cut_off import network, url

__all__ = ["network", "url"]
pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not can_cut(), reason="network namespaces need root")]
SOAK = bool(os.environ.get("DESKMATE_SOAK"))
MATES, TASKS, KILLS, SOON, PAUSE = (30, 300, 25, 3600, 6.0) if SOAK else (6, 20, 2, 240, 0.3)
HOSTS = ("one", "two", "three")


def team(mates: int) -> list[dict[str, object]]:
    return [{"name": f"mate-{number}"} for number in range(1, mates + 1)]


@pytest.mark.behaviour("other-machines")
@pytest.mark.slow
async def test_hosts_are_killed_at_random_and_every_task_is_done_once(
    network: CutNetwork, url: str, tmp_path: Path
) -> None:
    for name in HOSTS:
        network.add(name)
    async with host_space(
        url, tmp_path, story(starts(TASKS, team(MATES)), works(f"sleep {PAUSE}")), network.here
    ) as space:
        hosts = {name: start(space, network, name) for name in HOSTS}
        await space.up(*HOSTS)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill_some, space, network, hosts)
            outcome = await space.run(soon=SOON, max_members=MATES)
            tasks.cancel_scope.cancel()
        everything = list(range(1, TASKS + 1))
        assert (outcome.end, space.done(), space.results()) == ("answered", everything, everything)
        assert set(space.where()) == {str(one["name"]) for one in team(MATES)}


def start(space: HostSpace, network: CutNetwork, name: str) -> "subprocess.Popen[bytes]":
    return space.start(name, slots=MATES, inside=network.inside(name))


async def kill_some(space: HostSpace, network: CutNetwork, hosts: dict[str, "subprocess.Popen[bytes]"]) -> None:
    """Kill a host each time that some more results are there, and start it again at once or once it is lost."""
    dice = random.Random(7)
    for number in range(1, KILLS + 1):
        enough = number * TASKS // (KILLS + 2)
        await space.has_results(enough, SOON)
        name = dice.choice(HOSTS)
        hosts[name].kill()
        await anyio.to_thread.run_sync(hosts[name].wait)
        if dice.random() < 0.5:
            await space.fact(partial(is_lost, name))
        hosts[name] = start(space, network, name)
        await space.up(name)


def is_lost(name: str, seen: list[SeenHost]) -> bool:
    return any(one.name == name and one.state == "lost" for one in seen)


@pytest.mark.soak
@pytest.mark.behaviour("other-machines")
async def test_a_host_that_is_cut_off_writes_nothing_more_and_comes_back(
    network: CutNetwork, url: str, tmp_path: Path
) -> None:
    network.add("far")
    async with host_space(
        url, tmp_path, story(starts(12, [{"name": "ann"}]), works("sleep 1.0")), network.here
    ) as space:
        space.start("far", inside=network.inside("far"))
        await space.up("far")

        async def cut() -> None:
            await space.has_results(1)
            network.cut("far")
            space.start("near")
            await space.fact(lambda seen: any(one.name == "near" and one.members for one in seen))
            network.heal("far")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cut)
            outcome = await space.run(soon=SOON)
        assert (outcome.end, space.done()) == ("answered", list(range(1, 13)))
        assert space.results() == list(range(1, 13))
        assert space.where() == {"ann": ["far", "near"]}
        # Once the second process has written, the first one has not.
        runs = [item.body["run"] for item in space.items(log("ann")) if isinstance(item, Record)]
        assert len(list(groupby(runs))) == len(set(runs)) == 2
        # It is a host again, with nobody on it.
        seen = await space.fact(lambda seen: any(one.name == "far" and one.state == "up" for one in seen))
        assert [one.members for one in seen if one.name == "far"] == [frozenset()]
