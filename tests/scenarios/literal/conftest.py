"""The stage of the team's scenarios, for each way in which teammates can be launched."""

from tests.scenarios.team.conftest import launcher, stage

__all__ = ["launcher", "stage"]
