"""The runner of the team's scenarios, for each way in which teammates can be launched."""

from tests.scenarios.team.conftest import launcher, runner

__all__ = ["launcher", "runner"]
