"""What the user said to a lead, and which files the members of its team wrote."""

from pathlib import Path

from deskmate.core.agent.entries import Entry, Heard
from deskmate.core.agent.turn_results import edited_files
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import LEAD, USER, log
from deskmate.core.prompt.user_frames import parted
from deskmate.core.team.messages import Broadcast, Envelope, Plain, read_envelope
from deskmate.queries.member_view import entries_in
from deskmate.queries.stream_reader import Reading
from deskmate.stores.engines.engine import teams_from
from deskmate.trust.chosen_engine import engine_at


def words_by_entry(workspace: Path, team: str) -> dict[int, str]:
    """Return what the user said to the lead, by the number of the lead's entry that has it."""
    entries = entries_in(Reading(workspace, team).items(log(LEAD)))
    return {number: words for number, entry in entries if (words := user_words(entry))}


def user_words(entry: Entry) -> str:
    """Return what the user says in an entry, or an empty string."""
    known = [one.message for one in user_envelopes(entry)]
    return "\n\n".join(parted(one.content)[0] for one in known if isinstance(one, Plain | Broadcast))


def user_envelopes(entry: Entry) -> list[Envelope]:
    """Return what the user sent, in an entry."""
    envelopes = [read_envelope(body) for body in entry.mail] if isinstance(entry, Heard) else []
    return [one for one in envelopes if not isinstance(one, Foreign) and one.sender == USER]


def written_files(workspace: Path, team: str) -> set[tuple[str, str]]:
    """Return path and fingerprint of the files that members wrote with a file tool, as each of them last knew them.

    That includes members of the team that the lead created from this one.
    """
    found = set[tuple[str, str]]()
    for name in (team, *teams_from(engine_at(workspace), team)):
        reading = Reading(workspace, name)
        for member in reading.roster().members:
            entries = list(entries_in(reading.items(log(member))))
            known: dict[str, str] = {}
            for _, entry in entries:
                known |= getattr(entry, "files", {})
            found |= {(path, known[path]) for path in edited_files(member, entries) if path in known}
    return found
