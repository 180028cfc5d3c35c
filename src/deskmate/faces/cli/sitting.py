"""A sitting: what was typed to begin a conversation with a team, and what is said when somebody leaves it.

`commands` makes it; the terminal UI and the plain conversation carry it out.
"""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deskmate import app
from deskmate.app import Settings, Sum, Wanted
from deskmate.faces.cli.listings import dollars


@dataclass(frozen=True, slots=True)
class Sitting:
    """What was typed. `latest`: the team last written to is gone on with."""

    workspace: Path | None
    words: str | None
    team: str | None
    latest: bool
    flags: Mapping[str, object]

    def settings(self) -> Settings:
        """Return the settings, flags above all else; raise BadSettings where no model can be asked with them."""
        settings = app.load(os.environ, {name: value for name, value in self.flags.items() if value is not None})
        app.choose_model(settings)
        return settings

    def wanted(self, settings: Settings) -> Wanted:
        """Return what the app is wanted to open."""
        return Wanted(self.workspace, self.words, self.team, settings)

    def way_on(self, team: str) -> str:
        """Return what to type to go on with a team."""
        return self._typed("--team", team)

    def parting(self, team: str, busy: tuple[str, ...], spent: Sum) -> str:
        """Return what is said on leaving: what it came to, who was busy, and how to go on."""
        stopped = f"{', '.join(busy)} {'was' if len(busy) == 1 else 'were'} busy and stopped here; " if busy else ""
        sum_ = f"team {team}: {spent.calls:,} call{'' if spent.calls == 1 else 's'}, {dollars(spent)}"
        return f"{sum_}\n{stopped}go on with: {self.way_on(team)}\nor without you: {self._typed('resume', team)}"

    def _typed(self, *words: str) -> str:
        where = [] if self.workspace is None else ["-C", str(self.workspace)]
        return shlex.join(["deskmate", *where, *words])
