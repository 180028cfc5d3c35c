"""Which messages of the user nobody has read yet.

A message is read when it is in the transcript of its recipient. Only transcripts of members are looked at that the user
has written to since they last said how much mail they had heard. A lead never says that.
"""

from collections import defaultdict
from collections.abc import Mapping, Set
from typing import Any, TypeAlias

from deskmate.app.attach.team_on_disk import TeamOnDisk
from deskmate.core.log.names import USER, log
from deskmate.core.log.records import Item, Record
from deskmate.core.team.messages import Envelope
from deskmate.queries.member_view import Letter

# A lead hears the mail of two teams, so the id alone may not be unique.
_Message: TypeAlias = tuple[object, object]


class UnreadMail:
    """The messages of the user that each member has not read. A member that has left reads nothing any more."""

    def __init__(self) -> None:
        # Up to which entry the transcript of each member was read that has not read everything.
        self.read_upto: dict[str, int] = {}
        self._upto, self._heard = dict[str, int](), defaultdict[str, set[_Message]](set)
        self._unread: Mapping[str, Set[_Message]] = {}

    async def refresh(self, team: TeamOnDisk) -> None:
        """Take in what is new."""
        sent = defaultdict[str, set[_Message]](set)
        for letter in team.letters:
            if _may_wait(team, letter):
                sent[letter.envelope.recipient].add(_message(letter.envelope))
        self._unread = {name: messages - await self._heard_by(team, name) for name, messages in sent.items()}
        self.read_upto = {name: self._upto[name] for name, messages in self._unread.items() if messages}

    async def _heard_by(self, team: TeamOnDisk, name: str) -> Set[_Message]:
        items = await team.records(log(name), self._upto.get(name, 0))
        self._heard[name].update(message for item in items for message in _messages_in(item))
        self._upto[name] = items[-1].number if items else self._upto.get(name, 0)
        return self._heard[name]

    def waits(self, envelope: Envelope) -> bool:
        """Tell whether a message waits to be read."""
        return _message(envelope) in self._unread.get(envelope.recipient, ())

    def count(self, name: str) -> int:
        """Return how many messages wait for a member."""
        return len(self._unread.get(name, ()))


def _may_wait(team: TeamOnDisk, letter: Letter) -> bool:
    reader = team.roster.members.get(letter.envelope.recipient)
    return letter.envelope.sender == USER and reader is not None and reader.here and letter.number > reader.heard


def _message(envelope: Envelope) -> _Message:
    return envelope.id, envelope.timestamp


def _messages_in(item: Item) -> list[_Message]:
    body: Mapping[str, Any] = item.body if isinstance(item, Record) else {}
    mail = body.get("mail") if body.get("type") == "heard" else None
    found = mail if isinstance(mail, list | tuple) else ()
    return [(one.get("id"), one.get("timestamp")) for one in found if isinstance(one, dict)]
