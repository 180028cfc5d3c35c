"""A client that acts for the user can narrow the user's settings, and never widen them."""

import pytest

from deskmate.config import Settings, load
from deskmate.config.project_settings import Project, limited, narrowed
from deskmate.core.policy.permissions import Mode
from deskmate.errors import BadSettings


def own(**flags: object) -> Settings:
    return load({"HOME": "/nowhere"}, flags)


@pytest.mark.parametrize("mode", ["acceptEdits", "dontAsk", "bypass"])
def test_a_mode_wider_than_default_is_refused_unless_the_person_set_it(mode: str) -> None:
    asked = Project.model_validate({"permission_mode": mode})
    with pytest.raises(BadSettings):
        limited(own(), asked, begins=True)
    assert limited(own(permission_mode=mode), asked, begins=True).permission_mode == mode


@pytest.mark.parametrize(
    ("set_by_person", "asked", "works_in"),
    [
        (None, None, Mode.DEFAULT),
        (None, "plan", Mode.PLAN),
        ("bypass", None, Mode.DEFAULT),
        ("bypass", "acceptEdits", Mode.ACCEPT_EDITS),
        ("plan", None, Mode.PLAN),
    ],
)
def test_a_new_team_works_in_default_mode_unless_a_narrower_or_allowed_one_is_asked_for(
    set_by_person: str | None, asked: str | None, works_in: Mode
) -> None:
    flags = {} if set_by_person is None else {"permission_mode": set_by_person}
    project = Project.model_validate({} if asked is None else {"permission_mode": asked})
    assert limited(own(**flags), project, begins=True).mode_over(Mode.DEFAULT) == works_in


def test_a_team_that_is_continued_keeps_its_mode_unless_that_is_too_wide() -> None:
    settings = limited(own(), Project(), begins=False)
    assert settings.mode_over(Mode.PLAN) is None
    assert settings.mode_over(Mode.BYPASS) == Mode.DEFAULT
    assert settings.mode_over(Mode.PLAN, Mode.BYPASS) is not None


def test_of_two_caps_the_lower_one_counts() -> None:
    asked = Project(max_cost=5.0, max_members=2, max_steps=500)
    settings = limited(own(max_cost=3.0, max_members=9), asked, begins=True)
    assert (settings.max_cost, settings.max_members, settings.max_steps) == (3.0, 2, 200)


def test_a_project_does_not_undo_what_a_client_narrowed() -> None:
    settings = limited(own(), Project(), begins=False)
    again = narrowed(settings, Project(permission_mode=Mode.BYPASS))
    assert again.widest_mode == Mode.DEFAULT
    assert narrowed(settings, Project(permission_mode=Mode.PLAN)).widest_mode == Mode.PLAN
