"""The slash commands and their help."""

import difflib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A slash command. `least` and `most`: how many words may follow. `most` is None if the rest is one text."""

    name: str
    usage: str
    about: str
    least: int = 0
    most: int | None = 0

    def fits(self, words: list[str]) -> bool:
        """Return whether this many words may follow."""
        return self.least <= len(words) and (self.most is None or len(words) <= self.most)


COMMANDS: dict[str, ChatCommand] = {
    command.name: command
    for command in (
        ChatCommand("team", "/team", "show the members: role, status, task, cost"),
        ChatCommand("tasks", "/tasks", "show the board"),
        ChatCommand("inbox", "/inbox [NAME]", "show a member's mail, by default the lead's", most=1),
        ChatCommand("questions", "/questions", "show what waits for your answer"),
        ChatCommand("yes", "/yes [N,…]", "allow what is asked; N: the number of the question", most=1),
        ChatCommand(
            "always", "/always [N,…]", "allow it and everything like it; for a plan: also accept edits", most=1
        ),
        ChatCommand("no", "/no [N,…] [WORDS]", "refuse what is asked, with a reason if you give one", most=None),
        ChatCommand("interrupt", "/interrupt [NAME]", "stop what a member is doing, by default the lead", most=1),
        ChatCommand("resume", "/resume NAME", "let a parked or interrupted member continue", least=1, most=1),
        ChatCommand("stop", "/stop NAME", "ask a teammate to leave", least=1, most=1),
        ChatCommand(
            "mode",
            "/mode [MODE [NAME] | drop RULE]",
            "show what is permitted; set a mode, delegate, or drop a rule",
            most=None,
        ),
        ChatCommand("model", "/model [PROVIDER:MODEL]", "show the model, or use another one", most=1),
        ChatCommand("compact", "/compact [FOCUS]", "summarise the lead's conversation", most=None),
        ChatCommand("cost", "/cost", "show what the team has used and spent"),
        ChatCommand("budget", "/budget [CAP NUMBER]", "show the limits and what is used of them, or set one", most=2),
        ChatCommand("help", "/help", "show this list"),
        ChatCommand("quit", "/quit", "leave; you can continue the team later"),
    )
}


def nearest(name: str) -> ChatCommand | None:
    """Return the command closest to a mistyped name, or None if none is close."""
    near = difflib.get_close_matches(name.lower(), COMMANDS, n=1)
    return COMMANDS[near[0]] if near else None
