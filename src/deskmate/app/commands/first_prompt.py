"""The first words of a run. If they are a command, its shell commands are run, and its files attached."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deskmate.app.image_files import ImageFile, keep_images
from deskmate.app.run_request import RunRequest
from deskmate.app.team_files.team_set_up import tell_described
from deskmate.app.user_answers import tell
from deskmate.core.log.names import LEAD
from deskmate.errors import Refused
from deskmate.runtime.team_state import TeamState
from deskmate.workspace.sandbox.mounts import Sandbox

if TYPE_CHECKING:
    from deskmate.core.commands.command_prompts import CommandPrompt


async def tell_first(
    place: Path, home: str, team_state: TeamState, request: RunRequest, sandbox: Sandbox, images: Sequence[ImageFile]
) -> None:
    """Tell the lead the first words of a request, if there are any, with images. `home`: the lead's first team.

    Call it at once, so that a kill from then on does not lose them. Raises Refused if a shell command of a prompt is
    denied.
    """
    kept = await keep_images(place, home, LEAD, images)
    if await tell_described(team_state, kept) and request.described:
        # They contain the words of the request.
        return
    words = request.goal
    if request.prompt is not None:
        words = await _prompted(place, team_state, request, request.prompt, sandbox)
    await tell(team_state, words, kept)


async def _prompted(
    place: Path, team_state: TeamState, request: RunRequest, prompt: "CommandPrompt", sandbox: Sandbox
) -> str:
    # Imported here because loading them would slow down every start.
    from deskmate.app.commands.lead_shell import LeadShell
    from deskmate.app.sessions.mentioned_files import read_mentioned
    from deskmate.config import environment
    from deskmate.workspace.local_workspace import LocalWorkspace

    roster, redaction = await team_state.roster.refresh(), team_state.writer.redaction
    workspace = LocalWorkspace(place, roster.team, LEAD, environ=environment(), sandbox=sandbox, redaction=redaction)
    rules = request.settings.rules
    shell = LeadShell(team_state, workspace, rules, sandbox.confines(place))
    if asking := await shell.asks(prompt):
        # Only a conversation can ask. There, a command is typed after the team was opened.
        command, reason = asking[0]
        raise Refused(f"/{prompt.name} was not sent. It runs `{command}`, and nobody was asked: {reason}")
    files = await read_mentioned(request.mentioned, workspace, (*rules, *roster.rules), redaction)
    ran = await shell.run(prompt)
    return "\n\n".join([prompt.words, *(one.frame for one in ran), *(one.frame for one in files.attached)])
