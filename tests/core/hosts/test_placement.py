"""Where a teammate runs: a table of cases, and what is always so."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.hosts.placement import (
    WAIT_SECONDS,
    Choice,
    HostWord,
    NoHost,
    OnHost,
    OnLead,
    SeenHost,
    WaitForHost,
    Wish,
    fits,
    place,
)
from deskmate.core.log.names import LEAD


def host(name: str, *labels: str, used: int = 0, slots: int = 2, load: float = 0.0, state: HostWord = "up") -> SeenHost:
    return SeenHost(name, frozenset(labels), slots, state, frozenset(f"m{n}@t" for n in range(used)), load)


GPU1, GPU2, CPU = host("gpu1", "gpu", "linux"), host("gpu2", "gpu"), host("cpu", "linux", slots=8)
FULL, LOST, DRAINING = host("full", used=2), host("lost", "gpu", state="lost"), host("draining", state="draining")
ANYWHERE = Wish()


@pytest.mark.parametrize(
    ("hosts", "wish", "last", "waited", "choice"),
    [
        pytest.param([], ANYWHERE, "", WAIT_SECONDS, OnLead(), id="without hosts, all is as before"),
        pytest.param([LOST, DRAINING], ANYWHERE, "", WAIT_SECONDS, OnLead(), id="no host is up"),
        pytest.param([GPU1, CPU], ANYWHERE, "", WAIT_SECONDS, OnHost("cpu"), id="the most free slots"),
        pytest.param([GPU2, GPU1], ANYWHERE, "", WAIT_SECONDS, OnHost("gpu1"), id="of equals the first name"),
        pytest.param(
            [host("a", load=2.0), host("b", load=0.5)], ANYWHERE, "", WAIT_SECONDS, OnHost("b"), id="the less busy one"
        ),
        pytest.param([GPU1, CPU], Wish("gpu1"), "", WAIT_SECONDS, OnHost("gpu1"), id="by name"),
        pytest.param(
            [GPU1, GPU2, CPU], Wish("", frozenset({"gpu", "linux"})), "", WAIT_SECONDS, OnHost("gpu1"), id="all labels"
        ),
        pytest.param([GPU1], Wish(LEAD), "", WAIT_SECONDS, OnLead(), id="on the lead's machine"),
        pytest.param([GPU1], Wish("cpu"), "", WAIT_SECONDS, NoHost(), id="a host that is not there"),
        pytest.param([], Wish("cpu"), "", WAIT_SECONDS, NoHost(), id="a name, and no hosts"),
        pytest.param([CPU], Wish("", frozenset({"gpu"})), "", WAIT_SECONDS, NoHost(), id="a label that nobody has"),
        pytest.param([FULL], ANYWHERE, "", WAIT_SECONDS, NoHost(), id="all slots are used"),
        pytest.param([GPU1, CPU], ANYWHERE, "gpu1", 0.0, OnHost("gpu1"), id="it stays where it was"),
        pytest.param([LOST, CPU], ANYWHERE, "lost", 0.0, OnHost("cpu"), id="its host is lost"),
        pytest.param([DRAINING, CPU], ANYWHERE, "draining", 0.0, OnHost("cpu"), id="its host drains"),
        pytest.param([LOST], ANYWHERE, "lost", 10.0, WaitForHost(20.0), id="its host may come back"),
        pytest.param([LOST], ANYWHERE, "lost", WAIT_SECONDS, OnLead(), id="no host came back"),
        pytest.param([LOST, FULL], ANYWHERE, "lost", WAIT_SECONDS, NoHost(), id="the others are full"),
        pytest.param([LOST], Wish("", frozenset({"gpu"})), "lost", WAIT_SECONDS, NoHost(), id="none with its labels"),
    ],
)
def test_a_teammate_runs_where_it_can(
    hosts: Sequence[SeenHost], wish: Wish, last: str, waited: float, choice: Choice
) -> None:
    assert place(hosts, wish, last, waited) == choice


LABELS = st.frozensets(st.sampled_from(["gpu", "linux", "big"]))
STATES: st.SearchStrategy[HostWord] = st.sampled_from(["up", "draining", "lost"])
HOSTS = st.lists(
    st.builds(
        SeenHost,
        name=st.sampled_from(["a", "b", "c", "d"]),
        labels=LABELS,
        slots=st.integers(1, 3),
        state=STATES,
        members=st.frozensets(st.sampled_from(["m1@t", "m2@t", "m3@t", "m4@t"])),
        load=st.floats(0, 9) | st.none(),
    ),
    unique_by=lambda one: one.name,
)
WISHES = st.builds(Wish, host=st.sampled_from(["", "", "a", "b", LEAD]), labels=LABELS)
LASTS = st.sampled_from(["", "a", "b", "gone"])


@given(HOSTS, WISHES, LASTS, st.floats(0, 2 * WAIT_SECONDS))
def test_a_chosen_host_fits_and_no_wish_is_broken(hosts: list[SeenHost], wish: Wish, last: str, waited: float) -> None:
    match place(hosts, wish, last, waited):
        case OnHost(host=name):
            (chosen,) = [one for one in hosts if one.name == name]
            assert fits(chosen, wish)
            assert name == last or not any(one.name == last and fits(one, wish) for one in hosts)
            assert name == last or chosen.free == max(one.free for one in hosts if fits(one, wish))
        case OnLead():
            assert wish.host == LEAD or not (wish.host or wish.labels or any(one.state == "up" for one in hosts))
        case WaitForHost(seconds=seconds):
            assert last
            assert 0 < seconds <= WAIT_SECONDS
            assert not any(fits(one, wish) for one in hosts)
        case NoHost():
            assert not any(fits(one, wish) for one in hosts)


@given(HOSTS, WISHES, LASTS, st.floats(0, 2 * WAIT_SECONDS), st.randoms())
def test_the_order_of_the_hosts_does_not_matter(
    hosts: list[SeenHost], wish: Wish, last: str, waited: float, random: Random
) -> None:
    mixed = list(hosts)
    random.shuffle(mixed)
    assert place(mixed, wish, last, waited) == place(hosts, wish, last, waited)


@given(HOSTS, WISHES, LASTS)
def test_waiting_ends(hosts: list[SeenHost], wish: Wish, last: str) -> None:
    assert not isinstance(place(hosts, wish, last, WAIT_SECONDS), WaitForHost)
