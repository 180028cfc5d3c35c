"""Telling a person who looks elsewhere: a bell, a notification, the title of the window, or a command of theirs."""

import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from deskmate.app import redaction_of
from deskmate.core.log.names import LEAD
from deskmate.core.team.status import Parked
from deskmate.faces.common.items.question_items import question_item
from deskmate.faces.common.terminal_text import cut, one_line

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession

# A person waits for a shorter turn anyway.
LONG_TURN_SECONDS = 10.0
_TEXT_CELLS, _TITLE_CELLS = 200, 80
_COMMAND_SECONDS = 60
BELL = "\a"
# Save and restore the title of the window.
_SAVE_TITLE, _RESTORE_TITLE = "\x1b[22;0t", "\x1b[23;0t"


class UserAlerts:
    """Notices when a question waits, everybody is done or somebody is parked, and tells it once.

    `write`: sends control sequences to the terminal. `note`: shows a message of the program.
    """

    def __init__(
        self,
        session: "TeamSession",
        write: Callable[[str], None],
        note: Callable[[str], None],
        environ: Mapping[str, str],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session, self._write, self._note, self._environ, self._now = session, write, note, environ, now
        self._notify = session.settings.notify
        # What is so already is no news.
        self._asked = {question.key for question in session.questions}
        self._parked = self._parked_now()
        self._busy_since: float | None = None
        self._title, self._name = "", ""
        self._failed = False

    def look(self) -> None:
        """Tell what is new. It neither waits nor raises."""
        if self._notify is False:
            return
        for text in self._news():
            self._tell(text)
        # The title is in a file, and never changes.
        self._name = self._name or self._session.title
        self._show_title(_title_of(self._session, self._name or self._session.team))

    def close(self) -> None:
        """Give the window its own title back."""
        if self._title:
            self._write(_RESTORE_TITLE)

    def _news(self) -> list[str]:
        session = self._session
        asked = [one for one in session.questions if one.key not in self._asked]
        self._asked |= {one.key for one in asked}
        parked, before = self._parked_now(), self._parked
        self._parked = parked
        news = [f"{item.asker} {item.asks}" for item in map(question_item, asked)]
        news += [f"{name} is parked: {why}" for name, why in parked.items() if name not in before]
        lasted = self._turn_seconds()
        if lasted is not None and lasted >= LONG_TURN_SECONDS and not news and not session.questions and not parked:
            news.append(f"{LEAD} is done")
        return news

    def _turn_seconds(self) -> float | None:
        """Return how long somebody was busy if nobody is any more, otherwise None."""
        since = self._busy_since
        if self._session.busy:
            self._busy_since = self._now() if since is None else since
            return None
        self._busy_since = None
        return None if since is None else self._now() - since

    def _parked_now(self) -> dict[str, str]:
        statuses = {member.name: member.status for member in self._session.members}
        return {name: status.reason for name, status in statuses.items() if isinstance(status, Parked)}

    def _tell(self, text: str) -> None:
        words = cut(one_line(f"{self._session.team}: {text}"), _TEXT_CELLS)
        if isinstance(self._notify, str):
            command = [*shlex.split(self._notify), words]
            threading.Thread(target=self._run, args=(command,), daemon=True).start()
        else:
            self._write(BELL + notification_sequence(words, self._environ))

    def _run(self, command: list[str]) -> None:
        """Run the user's command, without a shell: the words are one argument, whatever is in them."""
        nothing, secrets = subprocess.DEVNULL, redaction_of(environ=self._environ)
        environ = {name: value for name, value in self._environ.items() if secrets.text(value) == value}
        try:
            subprocess.run(
                command,
                env=environ,
                stdin=nothing,
                stdout=nothing,
                stderr=nothing,
                timeout=_COMMAND_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            if not self._failed:
                self._failed = True
                self._note(f"The command in the setting `notify` failed: {error}")

    def _show_title(self, title: str) -> None:
        if title != self._title:
            save = "" if self._title else _SAVE_TITLE
            self._title = title
            self._write(f"{save}\x1b]0;{title}\a")


def notification_sequence(words: str, environ: Mapping[str, str]) -> str:
    """Return what makes a terminal show a notification: OSC 777 for those that know it, otherwise OSC 9."""
    if environ.get("TERM", "").startswith(("rxvt", "foot")) or environ.get("VTE_VERSION"):
        return f"\x1b]777;notify;Deskmate;{words.replace(';', ',')}\a"
    return f"\x1b]9;{words}\a"


def _title_of(session: "TeamSession", name: str) -> str:
    """Return a title for the window: the team, and what it waits for or does."""
    parked = [member.name for member in session.members if isinstance(member.status, Parked)]
    if count := len(session.questions):
        state = f"? {count} question{'' if count == 1 else 's'} - "
    elif parked:
        state = f"! {parked[0]} is parked - "
    else:
        state = "* " if session.busy else ""
    return cut(one_line(f"{state}{name} - deskmate"), _TITLE_CELLS)
