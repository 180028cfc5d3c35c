"""The answer of a turn, taken from the transcript.

A turn ends with words and no call. Its answer is those words, with the pieces of a long answer put together. If a turn
ends without a word, the words that came with its last calls are the answer. Words between other calls are progress.

The answer of a run has the words of all its turns, even if a turn only says that the agent waits. A transcript cannot
tell such words from a report that was followed by one more message, and losing a report is worse than an extra line.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from deskmate.core.agent.entries import Entry, Heard, Said, Started
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import USER
from deskmate.core.team.messages import read_envelope, wakes

Numbered = tuple[int, Entry]
_NOTE = re.compile(r"^#team[ \t]+(\S.*)$", re.MULTILINE)
_MOST_OF_NOTE = 500


def answer(entries: Sequence[Numbered], after: int = 0) -> str:
    """Return the answers of all turns after record `after`, in order, each once. The last turn may be unfinished."""
    said = [entry for number, entry in entries if number > after and isinstance(entry, Said)]
    answers = [words for turn in _turns(said) if (words := _answer(turn).strip())]
    # Of repeated words the last place counts: a report that is repeated at the end stays at the end.
    return "\n\n".join(reversed(dict.fromkeys(reversed(answers))))


def last_answer(entries: Sequence[Numbered]) -> str:
    """Return the answer of the last turn."""
    turn: list[Said] = []
    for _, entry in reversed(entries):
        if isinstance(entry, Said):
            if turn and _ends(entry):
                break
            turn.insert(0, entry)
    return _answer(turn).strip()


def proposed_notes(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return the notes for later teams that the answers of a lead propose, each once. Later answers move none of them.

    They become part of the prompts of later teams. What a lead writes may come from a file or a page that wants to give
    orders there, so only the user keeps one. A line with characters that a person cannot see is none, and neither is a
    very long one.
    """
    answers = [entry.text for entry in entries if isinstance(entry, Said) and not entry.calls]
    lines = [line.strip() for text in answers for line in _NOTE.findall(text)]
    return tuple(dict.fromkeys(line for line in lines if line.isprintable() and len(line) <= _MOST_OF_NOTE))


def asked_at(entries: Sequence[Numbered]) -> int:
    """Return the number of the entry with the user's last message; 0 if there is none."""
    return next((number for number, entry in reversed(entries) if _is_from_user(entry)), 0)


def _is_from_user(entry: Entry) -> bool:
    if isinstance(entry, Started):
        return bool(entry.prompt)
    envelopes = [read_envelope(body) for body in entry.mail] if isinstance(entry, Heard) else []
    known = (envelope for envelope in envelopes if not isinstance(envelope, Foreign))
    return any(envelope.sender == USER and wakes(envelope.message) for envelope in known)


def _turns(said: Iterable[Said]) -> Iterator[list[Said]]:
    turn: list[Said] = []
    for entry in said:
        turn.append(entry)
        if _ends(entry):
            yield turn
            turn = []
    yield turn


def _ends(entry: Said) -> bool:
    return not entry.calls and not entry.unfinished


def _answer(turn: Iterable[Said]) -> str:
    spoken, piece, is_over = [""], "", False
    for entry in turn:
        piece, is_over = piece + entry.text, _ends(entry)
        if entry.calls or is_over:
            spoken.append(piece)
            piece = ""
    if piece:
        return piece
    *_, with_calls, end = ("", *spoken)
    return with_calls if is_over and not end.strip() else end
