"""A list of teams to choose from, at a terminal.

Arrow keys move, typing filters, Enter chooses. It is drawn below the prompt of the shell and erased at the end.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import BufferControl, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from deskmate.app import environment, wants_colour
from deskmate.errors import Refused
from deskmate.faces.common.listings import short_dollars
from deskmate.faces.common.progress_lines import cells_of
from deskmate.faces.common.text_tables import Sheet, ago
from deskmate.queries.team_view import SeenTeam, look_at_teams

_ROWS = 12
_PROMPT = "Continue which team? "
_HELP = "Enter: continue it. Arrow keys: move. Type to filter. Esc: leave."


def pick_team(folder: Path | None, now: Callable[[], float] = time.time) -> SeenTeam | None:
    """Let the person choose a team of a workspace, the one used last first. Return None if they leave.

    Raises Refused if there is no team.
    """
    teams = continuable(look_at_teams(folder))
    if not teams:
        raise Refused("There is no team to continue here", 'To start one, run: deskmate "TEXT"')
    return _Picker(teams, now()).run()


def continuable(teams: Sequence[SeenTeam]) -> list[SeenTeam]:
    """Return the teams that can be continued by name, the one used last first.

    A team that a lead created from its first team is continued by the name of that first team.
    """
    return sorted((team for team in teams if team.begun and not team.home), key=lambda team: -team.written)


def matching(teams: Sequence[SeenTeam], typed: str) -> list[SeenTeam]:
    """Return the teams that have every typed word in their name, title or state."""
    words = typed.casefold().split()
    return [
        team for team in teams if all(word in f"{team.name} {team.title} {team.state}".casefold() for word in words)
    ]


class _Picker:
    def __init__(self, teams: Sequence[SeenTeam], now: float) -> None:
        self._teams, self._now = teams, now
        self._chosen = 0
        self._filter = Buffer(multiline=False, on_text_changed=lambda _: self._choose(0))
        environ = environment()
        self._cells = cells_of(sys.stdout.fileno())
        output = Vt100_Output(sys.stdout, self._size, environ.get("TERM"), enable_cpr=False)
        self._app: Application[SeenTeam | None] = Application(
            layout=Layout(HSplit([self._line(), Window(FormattedTextControl(self._rows), dont_extend_height=True)])),
            key_bindings=self._bindings(),
            color_depth=None if wants_colour(environ) else ColorDepth.DEPTH_1_BIT,
            erase_when_done=True,
            input=create_input(sys.stdin),
            output=output,
        )
        # Esc is a key of its own here, so it need not wait long for the rest of another one.
        self._app.ttimeoutlen = 0.1

    def run(self) -> SeenTeam | None:
        return self._app.run(set_exception_handler=False, handle_sigint=False)

    def _size(self) -> Size:
        return Size(rows=_ROWS + 3, columns=self._cells)

    def _line(self) -> Window:
        return Window(BufferControl(self._filter, [BeforeInput(_PROMPT, "bold")]), height=1)

    @property
    def _found(self) -> list[SeenTeam]:
        return matching(self._teams, self._filter.text)

    def _rows(self) -> StyleAndTextTuples:
        found = self._found
        first = max(0, min(self._chosen - _ROWS // 2, len(found) - _ROWS))
        shown = found[first : first + _ROWS]
        table = Sheet(self._cells - 3, colour=False).table([_row(team, self._now) for team in shown], gives=0)
        rows: StyleAndTextTuples = []
        for index, line in enumerate(table, first):
            chosen = index == self._chosen
            rows.append(("reverse" if chosen else "", f"{'>' if chosen else ' '} {line}"))
            rows.append(("", "\n"))
        more = len(found) - len(shown)
        note = f"{more} more. {_HELP}" if more else _HELP
        return [*rows, ("", note if found else "No team matches. Esc: leave.")]

    def _choose(self, index: int) -> None:
        self._chosen = max(0, min(index, len(self._found) - 1))

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()
        for names, by in ((("up", "c-p"), -1), (("down", "c-n"), 1), (("pageup",), -_ROWS), (("pagedown",), _ROWS)):
            for name in names:
                keys.add(name)(lambda event, by=by: self._choose(self._chosen + by))

        @keys.add("enter")
        def _take(event: KeyPressEvent) -> None:
            if found := self._found:
                event.app.exit(result=found[self._chosen])

        @keys.add("escape", eager=True)
        @keys.add("c-c")
        @keys.add("c-d")
        def _leave(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        return keys


def _row(team: SeenTeam, now: float) -> list[str]:
    age = f"{ago(now - team.written)} ago" if team.written else ""
    return [team.title or "(no messages)", age, team.state, short_dollars(team.spent), team.name]
