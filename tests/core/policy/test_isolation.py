"""Who works in the user's folder, and who in its own copy of the repository."""

import pytest

from deskmate.core.policy.isolation import Isolation, isolation_of, wanted_isolation
from deskmate.core.policy.tool_table import AgentType
from deskmate.errors import Refused

SHARED, OWN, AUTO = Isolation


@pytest.mark.parametrize(
    ("asked", "usual", "wanted"), [(None, OWN, OWN), (None, AUTO, AUTO), ("shared", OWN, SHARED), ("own", SHARED, OWN)]
)
def test_who_starts_a_teammate_overrules_the_settings(asked: str | None, usual: Isolation, wanted: Isolation) -> None:
    assert wanted_isolation(asked, usual, AgentType.GENERAL) is wanted


@pytest.mark.parametrize("type_", [one for one in AgentType if one is not AgentType.GENERAL])
def test_a_teammate_that_only_reads_gets_no_tree(type_: AgentType) -> None:
    assert wanted_isolation("own", AUTO, type_) is SHARED


@pytest.mark.parametrize(("wanted", "place"), [(SHARED, SHARED), (AUTO, OWN), (OWN, OWN)])
def test_a_teammate_gets_what_is_wanted_if_nothing_is_in_the_way(wanted: Isolation, place: Isolation) -> None:
    assert isolation_of("ann", wanted, "") is place


@pytest.mark.parametrize("wanted", [SHARED, AUTO])
def test_if_no_tree_is_possible_the_folder_is_shared(wanted: Isolation) -> None:
    assert isolation_of("ann", wanted, "no repository") is SHARED


def test_if_no_tree_is_possible_own_is_refused_with_the_reason() -> None:
    with pytest.raises(Refused, match="no repository"):
        isolation_of("ann", OWN, "no repository")
