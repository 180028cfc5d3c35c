"""Agent types: chosen by name, and kept in a journal."""

import pytest

from deskmate.core.agent.entries import Began
from deskmate.core.log.records import encode
from deskmate.core.policy.isolation import Isolation
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.profiles.agent_files import PROMPT_CAP
from deskmate.core.profiles.agent_profiles import BUILT_IN, AgentProfile, profile_of, unpacked
from deskmate.errors import BadInput

pytestmark = pytest.mark.behaviour("agent-types")

# As many as run together.
MOST_CALLS = 16


def test_every_built_in_type_reaches_as_far_as_its_name_says() -> None:
    assert [profile.reach for profile in BUILT_IN.values()] == list(AgentType)


def test_a_type_is_chosen_by_its_name_whatever_its_case_and_none_replaces_a_built_in_one() -> None:
    others = {"tidy": AgentProfile("tidy"), "Explore": AgentProfile("Explore", prompt="no")}
    assert profile_of("Tidy", others) is others["tidy"]
    assert profile_of("explore", others) == AgentProfile("Explore")


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(BadInput) as caught:
        profile_of("wizard\x1b", {"tidy": AgentProfile("tidy")})
    assert str(caught.value) == (
        r"'wizard\x1b' is not an agent type. Choose one of general-purpose, Explore, Plan, tidy."
    )


@pytest.mark.parametrize(
    "profile",
    [
        AgentProfile("x", prompt="a\nb"),
        AgentProfile("x", tools=()),
        AgentProfile("x", "", "größer", ("bash",), "openai:m", Mode.PLAN, Isolation.AUTO, "magenta", of_project=True),
    ],
)
def test_what_a_journal_keeps_of_a_type_makes_the_same_agents(profile: AgentProfile) -> None:
    assert unpacked(profile.packed) == profile


def test_as_many_types_as_run_together_fit_into_one_record() -> None:
    packed = list(AgentProfile("x" * 64, prompt='"' * (PROMPT_CAP // 2 - 1), model="m" * 200).packed)
    ids = [f"lead:123456.{number}" for number in range(MOST_CALLS)]
    encode({**Began(calls=tuple(ids), fixed=dict.fromkeys(ids, packed)).body(), "run": "x" * 16, "ord": 1})
