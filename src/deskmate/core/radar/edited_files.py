"""Which files a member changed with its file tools, folded from its transcript."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import field

from deskmate.core.agent.entries import Did, Said, read_entry
from deskmate.core.agent.open_calls import open_calls
from deskmate.core.log.records import Item, Record
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.values import frozen


@frozen
class EditedFiles:
    """The files that a member changed up to record `number`. `files`: each with its fingerprint after that.

    `calls`: calls that change files and have no result yet.
    """

    member: str
    number: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    calls: Set[str] = frozenset()

    def after(self, items: Iterable[Item]) -> "EditedFiles":
        """Return the files after more records of the transcript."""
        number, files, calls = self.number, dict(self.files), set(self.calls)
        for item in items:
            number = item.number
            entry = read_entry(item.body) if isinstance(item, Record) else None
            if isinstance(entry, Said):
                opened = open_calls(self.member, number, entry).values()
                calls |= {call.id for call in opened if call.tool in TOOLS and TOOLS[call.tool].edits}
            elif isinstance(entry, Did) and entry.call in calls:
                calls.discard(entry.call)
                for path, known in entry.files.items():
                    # The file that was changed last is the last one.
                    files.pop(path, None)
                    files[path] = known
        return EditedFiles(self.member, number, files, calls)
