"""Questions to the user about hosts that commands want to reach, asked while the commands run."""

from collections.abc import Awaitable, Callable
from dataclasses import field

import anyio

from deskmate.core.policy.host_access import host_rule
from deskmate.core.policy.permissions import Effect, Verdict
from deskmate.core.team.messages import InputRequest, InputResponse
from deskmate.core.values import frozen

# A command that wants more hosts than this only annoys.
_MOST_QUESTIONS = 10
_SHOWN_CHARS, _REASON_CHARS = 4_000, 200


class HostAnswers:
    """What the user answered about hosts, for all members that this process runs, until it ends."""

    def __init__(self) -> None:
        self._answers: dict[str, str] = {}
        self._open: dict[str, anyio.Event] = {}

    def known(self, host: str) -> str | None:
        """Return why a host is refused, empty if it is allowed, None if the user has not answered."""
        return self._answers.get(host)

    async def answer(self, host: str, ask: Callable[[], Awaitable[str]]) -> str:
        """Return the answer about a host. If nobody asks yet, ask. If that is cut off, the next who waits asks."""
        while (known := self.known(host)) is None:
            if asked := self._open.get(host):
                await asked.wait()
                continue
            self._open[host] = anyio.Event()
            try:
                self._answers[host] = await ask()
            finally:
                self._open.pop(host).set()
        return known


@frozen
class HostQuestions:
    """Judges the hosts that one command wants to reach, and asks the user about them.

    `judge`: says what rules and mode say of a host as of now. `waiting`: as in InputRequest.call. `id_`: begins the ids
    of the questions.
    """

    answers: HostAnswers
    judge: Callable[[str], Verdict]
    ask_user: Callable[[InputRequest], Awaitable[InputResponse]]
    command: str
    waiting: str
    id_: str
    _asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str) -> str:
        """Return why the command may not reach a host, empty if it may."""
        verdict = self.judge(host)
        known = self.answers.known(host)
        if verdict.effect is Effect.DENY or (verdict.effect is Effect.ASK and known):
            return known or verdict.reason
        if verdict.effect is Effect.ALLOW or known == "":
            return ""
        if host not in self._asked and len(self._asked) >= _MOST_QUESTIONS:
            return f"the user was asked about {_MOST_QUESTIONS} hosts for this command already"
        return await self.answers.answer(host, lambda: self._ask(host))

    async def _ask(self, host: str) -> str:
        if host not in self._asked:
            self._asked.append(host)
        answer = await self.ask_user(
            InputRequest(
                request_id=f"{self.id_}.host-{self._asked.index(host) + 1}",
                call=self.waiting,
                server="",
                content=self.command[:_SHOWN_CHARS],
                host=host,
                rule=host_rule(host),
            )
        )
        # The command reads this too, in the status line of an answer.
        words = " ".join(answer.content.split())[:_REASON_CHARS]
        return "" if answer.approve else f"the user refused it{f': {words}' if words else ''}"
