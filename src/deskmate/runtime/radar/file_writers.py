"""Who changed a file that several agents share."""

from deskmate.core.log.names import log
from deskmate.core.radar.edited_files import EditedFiles
from deskmate.runtime.team_state import TeamState


async def writer_of(team_state: TeamState, me: str, path: str, fingerprint: str) -> str | None:
    """Return the other member whose last change left a file with this fingerprint, or None if it is not known.

    Reads the transcripts of all members that work in the same folder, so use it only if something went wrong.
    """
    members = (await team_state.roster.refresh()).members
    if me in members and members[me].isolated:
        return None
    for name in (member.name for member in members.values() if not member.isolated and member.name != me):
        edited = EditedFiles(name).after(await team_state.writer.store.read(log(name), sync=False))
        if edited.files.get(path) == fingerprint:
            return name
    return None
