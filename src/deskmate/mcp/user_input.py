"""What a server asks the user during a call: passed on to a person, and the answer back. No model ever answers."""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitRequestURLParams, ElicitResult

from deskmate.core.mcp.forms import read_form
from deskmate.core.mcp.server_logins import check_address
from deskmate.core.team.messages import InputRequest, InputResponse
from deskmate.errors import BadInput
from deskmate.workspace.command_output import clean

Ask = Callable[[InputRequest], Awaitable[InputResponse]]
_MOST_CHARS = 4_000
# A server that asks more often during one call only annoys.
_MOST_QUESTIONS = 10
# No link of a server leads to this machine or its network.
_ELSEWHERE = "https://mcp.invalid/"


@dataclass
class Inquiry:
    """A call during which its server may ask the user. `scope`: limits its time, which stands still meanwhile.

    `notes`: what the model is told about the questions, besides the result.
    """

    call: str
    server: str
    ask: Ask
    scope: anyio.CancelScope
    seconds: float
    notes: list[str] = field(default_factory=list)
    _asked: int = 0
    _open: int = 0

    async def answer(self, wanted: ElicitRequestParams) -> ElicitResult:
        """Ask the user, and return the answer as the server expects it. It is no if this cannot be asked."""
        self._asked += 1
        try:
            if self._asked > _MOST_QUESTIONS:
                raise BadInput(f"it asked more than {_MOST_QUESTIONS} times")
            given = await self._given(self._request(wanted))
        except BadInput as error:
            self.notes.append(f"{self.server} asked the user for input, and was refused: {error}")
            return ElicitResult(action="decline")
        if not given.approve:
            why = f": {given.content}" if given.content else ""
            self.notes.append(f"{self.server} asked the user for input, and got none{why}")
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content=given.values)

    def _request(self, wanted: ElicitRequestParams) -> InputRequest:
        """Return what to ask. Raises BadInput if a person cannot be asked that."""
        content = clean(wanted.message)
        if len(content) > _MOST_CHARS:
            raise BadInput(f"its question has more than {_MOST_CHARS:,} characters")
        fields, url = None, None
        match wanted:
            case ElicitRequestFormParams():
                fields = read_form(wanted.requested_schema)
            case ElicitRequestURLParams():
                url = check_address(wanted.url, _ELSEWHERE, "link")
        return InputRequest(
            request_id=f"{self.call}.input-{self._asked}",
            call=self.call,
            server=self.server,
            content=content,
            fields=fields,
            url=url,
        )

    async def _given(self, request: InputRequest) -> InputResponse:
        self._open += 1
        self.scope.deadline = math.inf
        try:
            return await self.ask(request)
        finally:
            self._open -= 1
            if not self._open:
                self.scope.deadline = anyio.current_time() + self.seconds
