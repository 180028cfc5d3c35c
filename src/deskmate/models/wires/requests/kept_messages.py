"""The parts of a request that are written once for a conversation.

The passages of a conversation are the same objects from prompt to prompt until a compaction renders all of them again.
So their JSON is kept, and the next request is put together from it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from operator import is_
from typing import Any

from deskmate.core.prompt.prompts import Passage, Prompt, ResultBlock, TextBlock, ToolSpec
from deskmate.models.wires.requests.request_parts import encode

Message = dict[str, Any]
# Many small parts take longer to send, but the last one is copied for each request.
_PART = 2**18


class KeptMessages(ABC):
    """What is kept of the last request of one conversation. It takes about as many bytes as the request.

    Pictures are not kept: a passage with pictures is written for each request. `provider`: whom the requests are for.
    """

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._passages: list[Passage] = []
        # The last one grows until it is as long as a part is.
        self._parts: list[bytes | bytearray | Passage] = []
        self._tools: tuple[ToolSpec, ...] = ()
        self._tools_json = b"[]"

    @abstractmethod
    def _messages(self, passage: Passage, pictures: Mapping[str, bytes]) -> list[Message]:
        """Return the messages of a passage."""

    @abstractmethod
    def _tool(self, tool: ToolSpec) -> Message:
        """Return a tool as this API describes it."""

    def settled(self, prompt: Prompt, count: int) -> Iterator[bytes]:
        """Yield the JSON of the messages of the first `count` passages, with a comma after each message."""
        kept = len(self._passages)
        if kept > count or not self._begins(prompt.passages):
            self._passages, self._parts, kept = [], [], 0
        for passage in prompt.passages[kept:count]:
            self._keep(passage)
        for part in self._parts:
            if isinstance(part, bytes | bytearray):
                # What is sent must not change any more.
                yield bytes(part)
            else:
                yield self.written(self._messages(part, prompt.pictures))

    def _begins(self, passages: Sequence[Passage]) -> bool:
        """Return whether a conversation begins with the passages that are kept.

        It either grows, or all of it or its beginning is made again, so the ends show it. Passages that are equal may
        differ in JSON, such as 1 and 1.0. The same object never does.
        """
        kept = self._passages
        return not kept or (kept[0] is passages[0] and kept[-1] is passages[len(kept) - 1])

    def tools(self, tools: tuple[ToolSpec, ...]) -> bytes:
        """Return the JSON of the list of tools."""
        if not _are_same(tools, self._tools):
            self._tools, self._tools_json = tools, encode([self._tool(tool) for tool in tools])
        return self._tools_json

    def written(self, messages: Sequence[Message]) -> bytes:
        """Return the JSON of messages, with a comma after each."""
        return b"".join(encode(message) + b"," for message in messages)

    def _keep(self, passage: Passage) -> None:
        self._passages.append(passage)
        if any(isinstance(block, TextBlock | ResultBlock) and block.images for block in passage.blocks):
            self._parts.append(passage)
            return
        if not self._parts or not isinstance(self._parts[-1], bytearray):
            self._parts.append(bytearray())
        last = self._parts[-1]
        assert isinstance(last, bytearray), "a new one was just added if there was none"
        last += self.written(self._messages(passage, {}))
        if len(last) >= _PART:
            self._parts[-1] = bytes(last)


def _are_same(some: Sequence[object], others: Sequence[object]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))
