"""How a conversation was started, and what is said on leaving.

The CLI builds a `ConversationStart`. The terminal UI and the plain chat carry it out.
"""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from deskmate import app
from deskmate.app import Settings, Wanted
from deskmate.app.session import Session
from deskmate.faces.common.command_start import at_terminal
from deskmate.faces.common.listings import dollars, open_line
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import note
from deskmate.faces.common.trust_prompt import consent_of
from deskmate.trust.approvals import NO_CONSENT, Consent

NOTHING_SAID = "Nothing was said, so no team was kept."
NEVER_ANSWERED = "The model never answered, so no team was kept. Fix that, then try again."


@dataclass(frozen=True, slots=True)
class ConversationStart:
    """What was typed. `continues`: continue the named team, or the last one. If false, start a new team.

    `trusts`: trust everything in the folder, for this run only.
    `consent`: which files of the workspace are used, once that is known.
    """

    workspace: Path | None
    words: str | None
    team: str | None
    continues: bool
    flags: Mapping[str, object]
    trusts: bool = False
    consent: Consent = NO_CONSENT

    def agreed(self, *, asks: bool) -> "ConversationStart | None":
        """Return a copy that has the consent, or None if the person leaves. `asks`: a person is there to answer."""
        consent = consent_of(self.workspace, self.settings(), note, trusts=self.trusts, asks=asks)
        return None if consent is None else replace(self, consent=consent)

    def settings(self) -> Settings:
        """Return the settings. Flags override everything else. Raises BadSettings if they allow no model."""
        settings = app.load(os.environ, {name: value for name, value in self.flags.items() if value is not None})
        app.choose_model(settings)
        return self.consent.narrowed(settings)

    def wanted(self, settings: Settings) -> Wanted:
        """Return the request that the app opens a team from."""
        return Wanted(self.workspace, self.words, self.team, settings, consent=self.consent, watched=at_terminal())

    def way_on(self, team: str) -> str:
        """Return the command that continues a team."""
        return self._typed("--team", team)

    def parting(self, session: Session) -> str:
        """Return what to print on leaving: cost, open tasks, who was busy, and how to continue."""
        if not session.kept:
            return NEVER_ANSWERED if session.letters else NOTHING_SAID
        team, busy, spent, left = session.home, session.busy, session.spent, open_line(session.tasks)
        stopped = f"{', '.join(busy)} {'was' if len(busy) == 1 else 'were'} busy and stopped here; " if busy else ""
        title = one_line(session.title)
        sum_ = f"team {team}: {spent.calls:,} call{'' if spent.calls == 1 else 's'}, {dollars(spent)}"
        sum_ = f"{sum_} ({title})" if title else sum_
        sum_ = f"{sum_}\n{left}" if left else sum_
        return f"{sum_}\n{stopped}go on with: {self.way_on(team)}\nor without you: {self._typed('resume', team)}"

    def _typed(self, *words: str) -> str:
        where = [] if self.workspace is None else ["-C", str(self.workspace)]
        return shlex.join(["deskmate", *where, *words])
