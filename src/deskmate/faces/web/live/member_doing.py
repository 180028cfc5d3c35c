"""What each member does now, and how full its context is."""

from deskmate.app import Settings
from deskmate.app.attach.team_on_disk import TeamOnDisk
from deskmate.app.parts.provider_models import window_of
from deskmate.core.team.status import Working
from deskmate.faces.common.items.entry_items import EntryReader
from deskmate.faces.common.items.transcript_items import CallItem, CallState


class _Doing:
    """What a member does now: the call that has been running longest."""

    def __init__(self, name: str) -> None:
        self.name, self.last = name, 0
        self._reader = EntryReader()
        self._running: dict[str, str] = {}

    async def read(self, team: TeamOnDisk) -> None:
        """Take in what is new in the transcript."""
        for number, entry in await team.entries(self.name, self.last):
            for item in self._reader.read(self.name, number, entry):
                if isinstance(item, CallItem) and item.state is CallState.RUNNING:
                    self._running[item.key] = item.title
                elif isinstance(item, CallItem) and item.is_over:
                    self._running.pop(item.key, None)
            self.last = number

    @property
    def words(self) -> str:
        """The call; empty if none runs."""
        return next(iter(self._running.values()), "")


class TeamDoing:
    """What the members of a team do now. Only transcripts of members that work are read."""

    def __init__(self) -> None:
        self._doing: dict[str, _Doing] = {}
        self.words: dict[str, str] = {}
        # Up to which entry the transcript of each member that works was read.
        self.read_upto: dict[str, int] = {}

    async def refresh(self, team: TeamOnDisk) -> None:
        """Take in what is new."""
        self.words, self.read_upto = {}, {}
        for name, member in team.roster.members.items():
            if isinstance(member.status, Working):
                one = self._doing.setdefault(name, _Doing(name))
                await one.read(team)
                self.words[name], self.read_upto[name] = one.words, one.last


class TeamContexts:
    """How full the context of each member was at its last model call, in percent."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._number = settings, 0
        self._windows: dict[str, int] = {}
        self.shares: dict[str, int] = {}

    async def refresh(self, team: TeamOnDisk) -> None:
        """Take in new model calls."""
        for number, spent in await team.calls(self._number):
            self._number = number
            # A subagent has a context of its own.
            if ":" not in spent.member:
                tokens = spent.input + spent.cache_read + spent.cache_write + spent.output
                self.shares[spent.member] = min(100, round(100 * tokens / self._window(spent.model)))

    def _window(self, model: str) -> int:
        if model not in self._windows:
            self._windows[model] = window_of(model, self._settings)
        return self._windows[model]
