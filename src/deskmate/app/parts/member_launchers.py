"""The ways to run a teammate, by the name of the setting `launcher`."""

from deskmate.app.build import TeamParts
from deskmate.core.values import frozen
from deskmate.ports import Launcher


def launchers_of(team_parts: TeamParts) -> dict[str, Launcher]:
    """Return what runs the teammates of a team."""
    return {"inline": team_parts, "process": _InProcesses(team_parts)}


@frozen
class _InProcesses:
    """Runs teammates in processes of their own. Few teams do, so what that needs is imported with the first."""

    team_parts: TeamParts

    async def play(self, name: str) -> None:
        """Run a teammate until it leaves."""
        from deskmate.app.teammate_process import in_processes

        await in_processes(self.team_parts).play(name)
