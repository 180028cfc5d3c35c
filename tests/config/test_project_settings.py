"""The settings of a project: they narrow what the user set, and can say nothing else."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.config import Permission, Settings
from deskmate.config.project_settings import Project, ProjectRules, narrowed, read_project
from deskmate.core.policy.permissions import Mode
from deskmate.errors import BadSettings

pytestmark = pytest.mark.behaviour("trust")

FILE = ".deskmate/settings.toml"
CAPS = [name for name in Project.model_fields if name.startswith("max_")]
MODES = st.none() | st.sampled_from(Mode)
RULES = st.lists(st.sampled_from(["bash", "bash(git push *)", "write_file(src/**)"]), max_size=2, unique=True)
NUMBERS = st.fixed_dictionaries({}, optional={name: st.integers(1, 9) for name in CAPS})


def of_user(**set_: object) -> Settings:
    return Settings.model_validate({"file": Path("settings.toml"), "state": Path("state"), **set_})


def test_a_project_may_add_rules_that_limit_and_lower_caps_and_mode() -> None:
    written = b"""
permission_mode = "plan"
max_cost = 2.5
max_steps = 10
[permission]
ask = ["bash(git push *)"]
deny = ["write_file(secrets/**)"]
"""
    assert read_project(written, FILE) == Project(
        permission_mode=Mode.PLAN,
        max_cost=2.5,
        max_steps=10,
        permission=ProjectRules(ask=["bash(git push *)"], deny=["write_file(secrets/**)"]),
    )


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ('[openai]\nbase_url = "http://evil"', "'openai' in"),
        ('[anthropic]\nkey = "sk"', "'anthropic' in"),
        ('[providers.openrouter]\nbase_url = "http://evil"', "'providers' in"),
        ('[aliases]\nsonnet = "ollama/evil"', "'aliases' in"),
        ('model = "openai:x"', "'model' in"),
        ('[permission]\nallow = ["bash"]', "'permission.allow' in"),
        ('launcher = "process"', "'launcher' in"),
        ("delegate = false", "'delegate' in"),
        ('[models."openai:x"]\nwindow = 1', "'models' in"),
        ("claude_hooks = true", "'claude_hooks' in"),
    ],
)
def test_anything_else_is_refused_and_what_may_stand_there_is_named(written: str, named: str) -> None:
    with pytest.raises(BadSettings) as refused:
        read_project(written.encode(), FILE)
    assert f"{named} {FILE}" in refused.value.message
    assert refused.value.hint.endswith("permission.ask, permission.deny, " + ", ".join(CAPS))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (b"max_cost = -1", f"'max_cost' in {FILE} must be a number of dollars above 0"),
        (b'permission_mode = "yolo"', f"'permission_mode' in {FILE} must be one of default,"),
        (b"permission = 1", f"'permission' in {FILE} must be a table with `ask` or `deny`"),
        (b"[permission]\ndeny = 1", f"'permission.deny' in {FILE} must be a list of rules"),
        (b'[permission]\ndeny = ["bash", "bsh"]', f"Rule 2 of 'permission.deny' in {FILE}: 'bsh' is not a tool"),
        (b"x = [[[", f"{FILE} is not valid TOML"),
        (b"x = " + b"[" * 20_000, f"{FILE} is not valid TOML"),
        (b"\xff", f"{FILE} is not valid UTF-8 at byte 0"),
    ],
)
def test_what_does_not_fit_is_told_with_what_is_expected(written: bytes, said: str) -> None:
    with pytest.raises(BadSettings) as refused:
        read_project(written, FILE)
    assert str(refused.value).startswith(said)


@given(user=NUMBERS, project=NUMBERS, ask=RULES, deny=RULES, theirs=RULES, mode=MODES, widest=MODES)
def test_whatever_a_project_says_nothing_gets_wider(
    user: dict[str, int],
    project: dict[str, int],
    ask: list[str],
    deny: list[str],
    theirs: list[str],
    mode: Mode | None,
    widest: Mode | None,
) -> None:
    caps = {name: float(cap) if "cost" in name or "time" in name else cap for name, cap in user.items()}
    own = of_user(**caps, permission_mode=mode, permission=Permission(allow=["grep"], ask=ask, deny=deny))
    said = Project.model_validate({**project, "permission_mode": widest, "permission": {"ask": theirs, "deny": theirs}})
    narrow = narrowed(own, said)
    for name in CAPS:
        told = [cap for cap in (getattr(own, name), getattr(said, name)) if cap is not None]
        assert getattr(narrow, name) == min(told, default=None)
    assert narrow.permission.allow == ["grep"]
    assert set(narrow.permission.ask) == {*ask, *theirs}
    assert set(narrow.permission.deny) == {*deny, *theirs}
    for had in Mode:
        before, after = own.mode_over(had) or had, narrow.mode_over(had) or had
        assert not after.wider_than(before)
        assert widest is None or not after.wider_than(widest)
    kept = {*CAPS, "permission", "widest_mode"}
    assert narrow.model_dump(exclude=kept) == own.model_dump(exclude=kept)
    assert narrowed(narrow, said) == narrow
