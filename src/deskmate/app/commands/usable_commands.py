"""All commands of a folder, and which of them are trusted."""

from pathlib import Path

from deskmate.config import Settings
from deskmate.core.commands.command_files import CustomCommand
from deskmate.core.commands.command_prompts import CommandPrompt, filled_in
from deskmate.core.commands.command_words import typed_command
from deskmate.core.commands.prompt_commands import prompt_commands
from deskmate.core.policy.trusted_files import Approval
from deskmate.core.values import frozen
from deskmate.trust.approvals import NO_CONSENT, Consent, survey
from deskmate.trust.command_folders import commands_in, commands_of
from deskmate.trust.folders import workspace_of


@frozen
class ListedCommands:
    """All commands of a folder. `usable`: by name. `untrusted`: those that need trust, with how each compares with what
    was approved. `problems`: why other files describe none.
    """

    usable: dict[str, CustomCommand]
    untrusted: tuple[tuple[CustomCommand, Approval], ...] = ()
    problems: tuple[str, ...] = ()


NO_COMMANDS = ListedCommands({})


def list_commands(folder: Path | None, settings: Settings, consent: Consent = NO_CONSENT) -> ListedCommands:
    """Return the custom commands of a folder and of the user, also those that need trust.

    `consent`: files that a run uses, although the user may have trusted them for that run only.
    """
    found = survey(folder, settings.state, reads=True)
    in_run = [one for one in found.fresh if one in consent.definitions]
    used = commands_of((*found.consent.definitions, *in_run), found.workspace, settings.command_folders)
    problems = list(used.problems)
    fresh = list(commands_in([one for one in found.fresh if one not in in_run], problems))
    standing = tuple((one, approval) for one in fresh if (approval := found.unused[one.file]))
    return ListedCommands(used.by_name, standing, tuple(problems))


def first_command(words: str, folder: Path | None, settings: Settings, consent: Consent) -> CommandPrompt | None:
    """Return the prompt that the first words of a run ask for, or None if they are no command that there is.

    Raises BadInput if the command cannot take its arguments.
    """
    typed = typed_command(words)
    if typed is None:
        return None
    found = prompt_commands().get(typed.name)
    if found is None:
        own = commands_of(consent.definitions, workspace_of(folder), settings.command_folders)
        found = own.by_name.get(typed.name)
    return filled_in(found, typed) if found else None
