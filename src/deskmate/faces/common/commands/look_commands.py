"""The slash commands that only show something."""

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread

from deskmate.core.log.names import LEAD
from deskmate.faces.common.chat.export_commands import diff_lines
from deskmate.faces.common.chat.status_commands import (
    config_lines,
    context_lines,
    doctor_lines,
    session_type_lines,
    status_lines,
)
from deskmate.faces.common.chat.typed_answers import TypedAnswers
from deskmate.faces.common.commands.cell_lines import Lines, cell_lines, damage_lines, plain_lines
from deskmate.faces.common.commands.command_help import help_lines
from deskmate.faces.common.commands.command_sender import CommandSender
from deskmate.faces.common.handover.tree_reports import branch_lines
from deskmate.faces.common.hooks.hook_lines import session_hook_lines
from deskmate.faces.common.items.member_items import colours_of_team, session_items
from deskmate.faces.common.listings import board_lines, conflict_lines, cost_lines, inbox_lines, member_lines
from deskmate.faces.common.text_tables import Sheet
from deskmate.queries.member_view import look_at_inbox
from deskmate.queries.team_view import look_at_cost

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession


class LookCommands:
    """What `/status`, `/team`, `/help` and the like show of a session."""

    def __init__(
        self,
        session: "TeamSession",
        cells: Callable[[], int | None],
        answers: TypedAnswers,
        sender: CommandSender,
    ) -> None:
        self._session, self._cells, self._answers, self._sender = session, cells, answers, sender

    async def lines(self, name: str, words: list[str]) -> Lines:
        """Return what a command shows."""
        session, sheet = self._session, Sheet(self._cells(), colour=False)
        match name:
            case "status":
                return cell_lines(await status_lines(session))
            case "context":
                return await context_lines(session, words[0] if words else LEAD, sheet)
            case "agents":
                members = member_lines(session.team, session_items(session), sheet, time.time())
                types = await session_type_lines(session, sheet)
                return [*members, *plain_lines("agent types that the lead can start:"), *types]
            case "hooks":
                return await session_hook_lines(session, sheet)
            case "config":
                return cell_lines(config_lines(session))
            case "mcp":
                from deskmate.faces.common.mcp.mcp_lines import mcp_lines

                return cell_lines(await mcp_lines(session, words))
            case "doctor":
                return cell_lines(await doctor_lines(session, sheet.cells))
            case "diff":
                return await self._diff(words[0] if words else "")
            case "team":
                return member_lines(session.team, session_items(session), sheet, time.time())
            case "tasks":
                boards = session.boards.items()
                colours = partial(colours_of_team, session)
                return [line for team, one in boards for line in board_lines(team, one, colours(team), sheet)]
            case "conflicts":
                return [line for team, one in session.boards.items() for line in conflict_lines(team, one, sheet)]
            case "inbox":
                look = partial(look_at_inbox, session.workspace, *session.place_of(words[0] if words else LEAD))
                seen = await anyio.to_thread.run_sync(look)
                return [*inbox_lines(seen, time.time()), *damage_lines(seen.damage)]
            case "cost":
                cost = await anyio.to_thread.run_sync(look_at_cost, session.workspace, session.team)
                return [*cost_lines(cost, sheet), *damage_lines(cost.damage)]
            case "questions":
                shown = [line for one in session.questions for line in self._answers.question(one)]
                return shown or plain_lines("No question is open")
            case _:
                return help_lines(await self._sender.list.load(), sheet)

    async def _diff(self, wanted: str) -> Lines:
        """Return the changes in the branch of the team, if it has one, and what members changed in the user's files."""
        branch = await branch_lines(self._session, wanted)
        return cell_lines(await diff_lines(self._session, wanted)) if branch is None else branch
