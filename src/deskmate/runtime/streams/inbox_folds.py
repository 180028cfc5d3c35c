"""What the mailboxes of a team ask of their owners, for those who look at the mail of others."""

from deskmate.core.agent import inbox
from deskmate.core.agent.inbox import Inbox
from deskmate.core.log.names import mail
from deskmate.runtime.streams.log_writer import Folded, LogWriter


class InboxFolds:
    """One fold for each mailbox that somebody in this process looks at."""

    def __init__(self, writer: LogWriter) -> None:
        self._writer = writer
        self._folds: dict[str, Folded[Inbox]] = {}

    async def refresh(self, name: str) -> Inbox:
        """Read what is new in a mailbox and return what it asks."""
        if name not in self._folds:
            self._folds[name] = Folded(self._writer.store, mail(name), inbox.EMPTY, inbox.fold)
        return await self._folds[name].refresh()
