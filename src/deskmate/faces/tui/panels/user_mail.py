"""What agents wrote to the user, as it arrives."""

from collections.abc import Iterable

from deskmate.core.log.names import USER
from deskmate.core.team.messages import Broadcast, Plain
from deskmate.faces.common.items.mail_items import MailItem, mail_items
from deskmate.queries.member_view import Letter


class UserMail:
    """Messages to the user. `since`: earlier ones are not new. `unread`: how many were not looked at."""

    def __init__(self, since: float) -> None:
        self._since = since
        self._known: set[str] = set()
        self.unread = 0

    def take(self, letters: Iterable[Letter]) -> list[MailItem]:
        """Take in the latest mail. Return the new messages."""
        found = [letter for letter in letters if self._is_new(letter)]
        self._known |= {letter.envelope.id for letter in found}
        self.unread += len(found)
        return mail_items(found)

    def _is_new(self, letter: Letter) -> bool:
        envelope = letter.envelope
        is_written = envelope.recipient == USER and isinstance(envelope.message, Plain | Broadcast)
        return is_written and envelope.timestamp >= self._since and envelope.id not in self._known

    def read(self) -> None:
        """Note that the user looked at the mail."""
        self.unread = 0
