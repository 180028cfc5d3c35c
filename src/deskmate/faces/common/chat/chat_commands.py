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
        ChatCommand("team", "/team", "who is on the team, what each does, and what it came to"),
        ChatCommand("tasks", "/tasks", "the board"),
        ChatCommand("inbox", "/inbox [NAME]", "the mail of a member, of the lead if none is named", most=1),
        ChatCommand("questions", "/questions", "what waits for your word"),
        ChatCommand("yes", "/yes [N,…]", "allow what is asked; N where more than one asks", most=1),
        ChatCommand(
            "always", "/always [N,…]", "allow it, and all like it from now on; of a plan: accept edits", most=1
        ),
        ChatCommand("no", "/no [N,…] [WORDS]", "refuse what is asked, with a reason if you give one", most=None),
        ChatCommand("interrupt", "/interrupt [NAME]", "cut what a member does, the lead if none is named", most=1),
        ChatCommand("resume", "/resume NAME", "let a member go on that is parked or was interrupted", least=1, most=1),
        ChatCommand("stop", "/stop NAME", "ask a teammate to leave", least=1, most=1),
        ChatCommand(
            "mode",
            "/mode [MODE [NAME] | drop RULE]",
            "what is permitted; change it, delegate, or drop a rule",
            most=None,
        ),
        ChatCommand("model", "/model [PROVIDER:MODEL]", "the model that is asked; ask another", most=1),
        ChatCommand("compact", "/compact [FOCUS]", "have the lead's conversation summarised", most=None),
        ChatCommand("cost", "/cost", "what the team has used and spent"),
        ChatCommand("budget", "/budget [CAP NUMBER]", "the caps and what is used of them; set one", most=2),
        ChatCommand("help", "/help", "this"),
        ChatCommand("quit", "/quit", "leave; you can continue the team later"),
    )
}


def nearest(name: str) -> ChatCommand | None:
    """Return the command closest to a mistyped name, or None if none is close."""
    near = difflib.get_close_matches(name.lower(), COMMANDS, n=1)
    return COMMANDS[near[0]] if near else None
