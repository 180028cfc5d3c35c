"""/mode and /delegate: what is permitted, shown and changed."""

from typing import TYPE_CHECKING

from deskmate.core.policy.permissions import Mode
from deskmate.errors import Refused
from deskmate.faces.common.chat.chat_commands import COMMANDS, ChatCommand
from deskmate.faces.common.listings import sandbox_of
from deskmate.faces.common.terminal_text import one_line

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession


def usage_error(command: ChatCommand) -> Refused:
    """Return the error for a command with too many or too few words."""
    return Refused(f"Usage: {command.usage} ({command.about})")


async def mode_lines(session: "TeamSession", rest: str) -> list[str]:
    """Carry out /mode and return the lines to show. Raises Refused."""
    first, second = (*rest.split(None, 1), "", "")[:2]
    if not first:
        return permitted_lines(session)
    if first == "drop":
        return await _drop(session, second)
    if first == "delegate":
        return await delegate_lines(session, second)
    modes = [mode.value for mode in Mode]
    if first not in modes:
        raise Refused(f"There is no mode '{one_line(first)[:80]}'", f"Modes: {', '.join(modes)}, delegate")
    if len(second.split()) > 1:
        raise usage_error(COMMANDS["mode"])
    await session.set_mode(Mode(first), second or None)
    return [f"mode of {second or 'the team'} from now on: {first}"]


async def delegate_lines(session: "TeamSession", rest: str) -> list[str]:
    """Let the lead delegate, or with `off` no longer. Return the lines to show. Raises Refused."""
    if rest not in ("", "on", "off"):
        raise Refused("Usage: /delegate, or /delegate off")
    delegates = rest != "off"
    await session.delegate(delegates)
    if delegates:
        return ["The lead now delegates: its teammates do the work. To end it: /delegate off"]
    return ["The lead no longer delegates"]


async def _drop(session: "TeamSession", rule: str) -> list[str]:
    rules = session.permitted.rules
    if rule not in rules:
        if rule in session.permitted.own:
            raise Refused(f"The rule '{one_line(rule)[:80]}' is in your settings", "Remove it from the settings file.")
        there = f"Rules: {', '.join(rules)}" if rules else "There are no rules."
        raise Refused(f"There is no rule '{one_line(rule)[:80]}'", there)
    await session.drop_rules([rule])
    return [f"removed the rule: {rule}"]


def permitted_lines(session: "TeamSession") -> list[str]:
    """Return what is permitted: the mode, how commands are confined, and the rules."""
    permitted = session.permitted
    own = [f"{name}: {mode.value}" for name, mode in permitted.modes.items()]
    rules = [f"rule: {rule}" for rule in permitted.rules]
    rules += [f"rule in your settings: {rule}" for rule in permitted.own]
    head = [f"mode: {permitted.mode.value}", f"commands: {sandbox_of(permitted.sandbox)}"]
    planning = [f"in plan mode: {', '.join(permitted.planning)}"] if permitted.planning else []
    planning += ["the lead delegates"] if permitted.delegates else []
    return [*head, *own, *planning, *rules]
