"""The slash commands and their help, for every face that has a conversation."""

import difflib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A slash command. `least` and `most`: how many words may follow. `most` is None if the rest is one text.

    `aliases`: other names that people know.
    """

    name: str
    usage: str
    about: str
    least: int = 0
    most: int | None = 0
    aliases: tuple[str, ...] = ()

    def fits(self, words: list[str]) -> bool:
        """Return whether this many words may follow."""
        return self.least <= len(words) and (self.most is None or len(words) <= self.most)


_TEAM = (
    ChatCommand("team", "/team", "show the members: role, status, task, cost", aliases=("members",)),
    ChatCommand("tasks", "/tasks", "show the board", aliases=("todos", "board")),
    ChatCommand("inbox", "/inbox [NAME]", "show a member's mail, by default the lead's", most=1),
    ChatCommand("agents", "/agents", "show the members, and the agent types that the lead can start"),
    ChatCommand("interrupt", "/interrupt [NAME]", "stop what a member is doing, by default the lead", most=1),
    ChatCommand(
        "resume",
        "/resume [NAME]",
        "let a parked or interrupted member continue; without a name: choose another team to continue",
        most=1,
    ),
    ChatCommand("stop", "/stop NAME", "ask a teammate to leave", least=1, most=1),
)
_ANSWERS = (
    ChatCommand("questions", "/questions", "show the questions that wait for your answer"),
    ChatCommand("yes", "/yes [N,…]", "allow what is asked; N: the number of the question", most=1),
    ChatCommand(
        "always", "/always [N,…]", "allow this and all similar calls; for a plan: also accept its edits", most=1
    ),
    ChatCommand("no", "/no [N,…] [WORDS]", "refuse what is asked, with a reason if you give one", most=None),
)
_SETTINGS = (
    ChatCommand(
        "mode",
        "/mode [MODE [NAME] | drop RULE]",
        "show what is permitted, set a mode, delegate, or remove a rule",
        most=None,
        aliases=("permissions",),
    ),
    ChatCommand("delegate", "/delegate [off]", "make the lead leave the work to its teammates, or end this", most=1),
    ChatCommand("model", "/model [PROVIDER:MODEL]", "show the model, or use another one", most=1),
    ChatCommand(
        "budget",
        "/budget [LIMIT NUMBER]",
        "show the limits and how much of each is used, or set one",
        most=2,
        aliases=("limits",),
    ),
    ChatCommand("theme", "/theme [NAME]", "show the colour themes, or use another one", most=1),
    ChatCommand("hooks", "/hooks", "show the hooks, and which are in force"),
    ChatCommand("config", "/config", "show the settings, and where each is set", aliases=("settings",)),
)
_CONVERSATION = (
    ChatCommand(
        "goal",
        "/goal [WORDS | !COMMAND | off]",
        "let the lead go on until the model judges that this is so, or until the command succeeds",
        most=None,
    ),
    ChatCommand(
        "loop",
        "/loop [INTERVAL WORDS | off N]",
        "tell the lead something again and again, such as every 10m; without words: show what is scheduled",
        most=None,
        aliases=("schedule",),
    ),
    ChatCommand("init", "/init [WORDS]", "let the lead write or improve AGENTS.md", most=None),
    ChatCommand(
        "memory",
        "/memory [edit|keep] [SCOPE|N]",
        "show the notes that new teams get, edit those of a SCOPE (user, project, team), or keep one of the lead's",
        most=2,
    ),
    ChatCommand("run", "/run", "run the shell commands of the custom command that waits, and send it"),
    ChatCommand("status", "/status", "show the team, model, mode, context, cost and workspace"),
    ChatCommand("context", "/context [NAME]", "show how full a member's context is, and with what", most=1),
    ChatCommand("cost", "/cost", "show what the team has used and spent", aliases=("usage",)),
    ChatCommand(
        "diff", "/diff [FILE|NAME|#N]", "show what the team changed, in one file, by one member or for one task", most=1
    ),
    ChatCommand("conflicts", "/conflicts", "show which teammates with their own trees change the same files"),
    ChatCommand("merge", "/merge", "merge the team's branch into yours, if teammates have their own trees"),
    ChatCommand(
        "rewind",
        "/rewind [N [HOW]]",
        "list points to go back to, or restore files; HOW: diff, force, both, conversation",
        most=2,
        aliases=("checkpoint", "undo"),
    ),
    ChatCommand("mcp", "/mcp [restart|approve NAME]", "show the MCP servers and their tools", most=3),
    ChatCommand("copy", "/copy", "copy the lead's last answer to the clipboard"),
    ChatCommand("export", "/export [FILE]", "write the conversation with the lead to a Markdown file", most=None),
    ChatCommand("compact", "/compact [FOCUS]", "summarise the lead's conversation", most=None),
    ChatCommand(
        "clear",
        "/clear [WORDS]",
        "leave this team and start a new one, with a first message if you give one",
        most=None,
        aliases=("new", "reset"),
    ),
    ChatCommand("doctor", "/doctor", "check the machine, settings, workspace and this team"),
    ChatCommand("help", "/help", "show this list", aliases=("?",)),
    ChatCommand("quit", "/quit", "leave; you can continue the team later", aliases=("exit",)),
)

COMMANDS: dict[str, ChatCommand] = {
    command.name: command for command in (*_TEAM, *_ANSWERS, *_SETTINGS, *_CONVERSATION)
}
_NAMED = {name: command for command in COMMANDS.values() for name in (command.name, *command.aliases)}


def command_named(name: str) -> ChatCommand | None:
    """Return the command with this name or alias, or None if there is none."""
    return _NAMED.get(name)


def nearest(name: str) -> str | None:
    """Return the name or alias closest to a mistyped name, or None if none is close."""
    near = difflib.get_close_matches(name.lower(), _NAMED, n=1)
    return near[0] if near else None
