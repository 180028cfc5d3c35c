"""One connection to a server, made with the SDK.

Only this module and the transports import the SDK.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from typing import Any

import anyio
from mcp import Client, MCPError, UrlElicitationRequiredError
from mcp.client._transport import TransportStreams
from mcp.client.session import ClientRequestContext
from mcp_types import (
    URL_ELICITATION_REQUIRED,
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    EmbeddedResource,
    Implementation,
    ServerNotification,
    TextContent,
    TextResourceContents,
    ToolListChangedNotification,
)

from deskmate.core.mcp.server_tools import MOST_TOOLS
from deskmate.errors import DeskmateError, ToolError
from deskmate.mcp.user_input import Inquiry
from deskmate.workspace.command_output import clean

Transport = Callable[[Callable[[str], None]], AbstractAsyncContextManager[TransportStreams]]
# It warns of questions that nobody answered when a server ends.
logging.getLogger("mcp.shared.jsonrpc_dispatcher").setLevel(logging.ERROR)
# The call that the current task makes.
_INQUIRY = ContextVar[Inquiry | None]("inquiry", default=None)
_PAGE_OPENED = "Nothing was done yet: the user had to open a page first, and agreed. Call the tool again."
_PAGE_REFUSED = "Nothing was done: the user had to open a page first, and did not. Do not call the tool again."
# A server could list pages for ever.
_MOST_PAGES = 20


class SdkConnection:
    """A connection while it is open. `ended`: set once the server is gone. `why`: why it is, empty if nobody knows."""

    def __init__(self, transport: Transport, version: str) -> None:
        self._transport, self._version = transport, version
        self._client: Client | None = None
        self.ready, self.ended = anyio.Event(), anyio.Event()
        self.why = ""
        self.is_stale = False
        # The calls that run now, the oldest first.
        self.inquiries: list[Inquiry] = []

    async def hold(self) -> None:
        """Connect, and keep the connection until the server or somebody else ends it. Reports errors in `why`."""
        try:
            client = Client(
                self._transport(self.end),
                client_info=Implementation(name="deskmate", version=self._version),
                message_handler=self._hear,
                elicitation_callback=self._elicit,
                cache=None,
            )
            async with client:
                self._client = client
                self.ready.set()
                await self.ended.wait()
        except Exception as error:
            self.end(words_of(error))
        finally:
            self._client = None
            self.end("")
            self.ready.set()

    def end(self, why: str) -> None:
        """End the connection. The first reason that says something is kept."""
        self.why = self.why or why
        self.ended.set()

    async def _hear(self, message: ServerNotification | Exception) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.is_stale = True

    async def _elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        """Let the server ask the user, during a call. Older servers do not say which call it is."""
        inquiry = _INQUIRY.get() or next(iter(self.inquiries), None)
        return await inquiry.answer(params) if inquiry else ElicitResult(action="cancel")

    @property
    def client(self) -> Client:
        """The client of the SDK. Raises ToolError if the connection has ended."""
        if self._client is None or self.ended.is_set():
            raise ToolError(self.why or "the connection has ended")
        return self._client

    async def list_tools(self) -> list[dict[str, Any]]:
        """Return what the server lists, with `name`, `description` and `inputSchema` of each tool."""
        self.is_stale = False
        tools: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self.client.list_tools(cursor=cursor)
            tools += (
                {"name": one.name, "description": one.description, "inputSchema": one.input_schema}
                for one in page.tools
            )
            cursor = page.next_cursor
            if cursor is None or len(tools) > MOST_TOOLS:
                break
        return tools

    async def call(self, tool: str, arguments: dict[str, Any], inquiry: Inquiry) -> CallToolResult:
        """Call a tool and return its result. If the user must open a page first, the result says what came of that."""
        self.inquiries.append(inquiry)
        token = _INQUIRY.set(inquiry)
        try:
            return await self.client.call_tool(tool, arguments)
        except MCPError as error:
            if error.error.code != URL_ELICITATION_REQUIRED:
                raise
            wanted = UrlElicitationRequiredError.from_error(error.error).elicitations
            answers = [(await inquiry.answer(one)).action for one in wanted]
            said = _PAGE_OPENED if set(answers) == {"accept"} else _PAGE_REFUSED
            return CallToolResult(content=[TextContent(type="text", text=said)], is_error=True)
        finally:
            _INQUIRY.reset(token)
            self.inquiries.remove(inquiry)

    async def read_resource(self, uri: str) -> str:
        """Return the text of a resource. What is no text is described."""
        result = await self.client.read_resource(uri)
        return "\n".join(_text_of(one) for one in result.contents)

    async def get_prompt(self, name: str, words: str) -> str:
        """Return the text of a prompt. `words`: its arguments in order, the last one with the rest of the words."""
        prompts = (await self.client.list_prompts()).prompts
        prompt = next((one for one in prompts if one.name == name), None)
        if prompt is None:
            names = ", ".join(ascii(one.name)[1:81] for one in prompts[:20]) or "none"
            raise ToolError(f"There is no prompt '{name[:80]}'. Prompts of this server: {names}")
        arguments = prompt.arguments or []
        given = words.split(None, len(arguments) - 1) if arguments else []
        if missing := [one.name for one in arguments[len(given) :] if one.required]:
            raise ToolError(f"The prompt {name} needs {', '.join(ascii(one)[1:81] for one in missing)} as well")
        names_of = [one.name for one in arguments]
        result = await self.client.get_prompt(name, dict(zip(names_of, given, strict=False)))
        return "\n\n".join(_text_of(message.content) for message in result.messages)


def _text_of(part: object) -> str:
    match part:
        case TextContent(text=text) | TextResourceContents(text=text):
            return clean(text)
        case EmbeddedResource(resource=TextResourceContents(text=text)):
            return clean(text)
        case _:
            return f"[left out: {type(part).__name__}]"


def words_of(error: BaseException) -> str:
    """Return what went wrong, on one bounded line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError):
        return _line(error.error.message)
    if isinstance(error, DeskmateError):
        return str(error)
    return f"{type(error).__name__}: {_line(str(error))}"


def _line(text: str) -> str:
    """Return the words of a server on one bounded line, without control characters."""
    return " ".join(clean(text[:5_000]).split())[:500]
