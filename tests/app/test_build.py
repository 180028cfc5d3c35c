"""What agents are given follows from the settings alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from deskmate.app.parts.asked_models import _secure
from deskmate.app.parts.provider_models import check_model
from deskmate.config import load
from deskmate.core.team.roster_records import Joined
from deskmate.errors import BadSettings, Refused
from deskmate.testing import ScriptedModel
from tests.runtime.agent_harness import AgentHarness

KEYS = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b", "DESKMATE_MODEL": "anthropic:claude-sonnet-5-5"}
HERE = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("environ", "fallback", "secure"),
    [
        ({}, None, True),
        ({"ANTHROPIC_BASE_URL": HERE, "OPENAI_API_KEY": ""}, None, False),
        # A teammate can have a model of any provider with a key.
        ({"ANTHROPIC_BASE_URL": HERE}, None, True),
        ({"ANTHROPIC_BASE_URL": "https://gate.example"}, None, True),
        ({"ANTHROPIC_BASE_URL": HERE}, "openai:gpt-5.5", True),
        ({"ANTHROPIC_BASE_URL": HERE, "OPENAI_BASE_URL": HERE}, "openai:gpt-5.5", False),
    ],
)
def test_certificates_are_checked_unless_every_provider_is_asked_in_the_clear(
    tmp_path: Path, environ: dict[str, str], fallback: str | None, secure: bool
) -> None:
    flags = {"fallback_model": fallback} if fallback else {}
    assert _secure(load({"HOME": str(tmp_path), **KEYS, **environ}, flags)) is secure


@pytest.mark.behaviour("S2")
def test_a_cap_that_could_never_be_reached_is_refused(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), **KEYS, "DESKMATE_MODEL": "openai:llama-of-my-own"}
    check_model(load(environ))
    with pytest.raises(BadSettings, match="--max-cost"):
        check_model(load(environ, {"max_cost": 1.0}))
    with pytest.raises(BadSettings, match="max_member_cost"):
        check_model(load(environ, {"max_member_cost": 1.0}))
    check_model(load(environ, {"max_tokens": 1, "max_member_tokens": 1}))


@pytest.mark.anyio
@pytest.mark.behaviour("S2", "budget")
async def test_a_teammate_whose_model_no_cap_could_hold_is_refused(tmp_path: Path) -> None:
    harness = await AgentHarness.opened(ScriptedModel([], name="openai:llama-of-my-own"))
    joined = Joined(name="alice", model="llama-of-my-own", at=0.0)
    assert harness.team_parts.hires(joined).name == "alice"
    capped = replace(harness.team_parts, settings=load({"HOME": str(tmp_path), **KEYS}, {"max_cost": 1.0}))
    with pytest.raises(Refused, match="price of openai:llama-of-my-own"):
        capped.hires(joined)
