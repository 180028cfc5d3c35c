"""Which words of a prompt are ours.

What a prompt says is read from the prompt alone. The transcript only tells which of its texts are our notices.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from html import unescape
from typing import Literal, NamedTuple, TypeAlias

from deskmate.core.agent.entries import Entry, Noticed, Nudged, Started, Took
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.prompt.compaction import LEFT_OUT, summary_request
from deskmate.core.prompt.frames import INSTRUCTIONS, MESSAGE, NOTES, NOTIFICATION, TASK, TASK_NOTE, TYPES
from deskmate.core.prompt.prompts import CallBlock, Prompt, ResultBlock, Spoke, TextBlock, ThinkingBlock, Told
from deskmate.core.prompt.rendering import SUMMARISED, told_texts

Source: TypeAlias = Literal["system", "start", "notice", "summary", "mail", "words", "call", "result"]

# Text by members, files and commands is in one of these frames, or in quotes.
_FRAME = re.compile(
    rf"<({MESSAGE}|{NOTIFICATION}|{TASK}|{TASK_NOTE}|{NOTES}|{INSTRUCTIONS}|{TYPES})\b.*?</\1>", re.DOTALL
)
_QUOTED = re.compile(r'"[^"\n]*"')
# A line about a task. It contains the task's subject.
_TASK_LINE = re.compile(r"^(?:created )?#\d+ .*$", re.MULTILINE | re.IGNORECASE)
_SUMMARY = re.compile(r"<summary>(.*)</summary>", re.DOTALL)
# These sections of a summary contain the words of others.
_FOREIGN_SECTION = re.compile(r"request|answered", re.IGNORECASE)
_TEAM_TOOLS = frozenset(tool.name for tool in TOOLS.values() if tool.home in ("team", "task", "mail", "plan"))
# Their results come from files, commands and models.
_FOREIGN_TOOLS = frozenset({"bash", "Skill", "TaskOutput"})
_READING = frozenset({"read_file", "glob", "grep"})


class PromptPart(NamedTuple):
    """One text of a prompt. `call`: the id that pairs a call with its result. `fresh`: the model has not seen it."""

    source: Source
    text: str
    tool: str = ""
    call: str = ""
    ok: bool = True
    fresh: bool = False


class Section(NamedTuple):
    """A titled list in a summary, written by the runtime, not by the model."""

    title: str
    lines: tuple[str, ...]


class PromptParts:
    """All texts of a prompt, in order."""

    def __init__(self, prompt: Prompt, entries: Sequence[tuple[int, Entry]]) -> None:
        self.offered = frozenset(tool.name for tool in prompt.tools)
        self._starts = frozenset(_texts(entries, Started))
        self._notices = frozenset(_texts(entries, Noticed, Nudged, Took)) - self._starts
        tools = _tools(prompt)
        self.parts = [PromptPart("system", prompt.system)]
        for place, passage in enumerate(prompt.passages):
            fresh = place == len(prompt.passages) - 1
            blocks = passage.blocks if isinstance(passage, Told) else ()
            self.parts += [self._told(block, tools, fresh=fresh) for block in blocks]
            self.parts += list(_calls(passage)) if isinstance(passage, Spoke) else []

    def _told(self, block: TextBlock | ResultBlock, tools: Mapping[str, str], *, fresh: bool) -> PromptPart:
        if isinstance(block, ResultBlock):
            return PromptPart("result", block.text, tools.get(block.id, ""), block.id, block.ok, fresh)
        if block.text.startswith(SUMMARISED):
            return PromptPart("summary", block.text, fresh=fresh)
        if block.text in self._notices:
            return PromptPart("notice", block.text, fresh=fresh)
        if block.text in self._starts:
            return PromptPart("start", block.text, fresh=fresh)
        framed = block.text.startswith(f"<{MESSAGE} ")
        return PromptPart("mail" if framed else "words", block.text, fresh=fresh)

    @cached_property
    def sums_up(self) -> bool:
        """Whether this prompt asks for a summary."""
        return any(part.text.startswith(summary_request()) for part in self.parts if part.fresh)

    @cached_property
    def was_cut(self) -> bool:
        """Whether the older part was left out to make the request for a summary fit."""
        return any(LEFT_OUT in part.text for part in self.parts[1:2])

    @cached_property
    def whole(self) -> str:
        """Everything that the model can read, with frames opened and each run of spaces as one space."""
        return plain("\n".join(part.text for part in self.parts))

    @cached_property
    def told(self) -> str:
        """Everything that the model was told, without its own words."""
        return "\n".join(part.text for part in self.parts if part.source != "call")

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The lists in the summary that replaces earlier messages."""
        return tuple(section for part in self.parts if part.source == "summary" for section in _sections(part.text))

    @cached_property
    def about_the_team(self) -> list[str]:
        """The texts that tell this model about its team. None is written by a person, a peer or a model."""
        answered = {part.call for part in self.parts if part.source == "result" and part.ok}
        texts = []
        for part in self.parts:
            match part:
                case PromptPart(source="system" | "notice", text=text):
                    texts.append(text)
                case PromptPart(source="result", text=text, tool=tool) if tool in _TEAM_TOOLS:
                    texts.append(text)
                case PromptPart(source="call", text=text, tool="Task", call=call) if call in answered:
                    texts.append(text)
        own = [section for section in self.sections if not _FOREIGN_SECTION.search(section.title)]
        return texts + [line for section in own for line in section.lines]

    def new_sentences(self) -> Iterator[tuple[PromptPart, str]]:
        """Yield each new text of ours, without the words of others in it."""
        for part in self.parts:
            if part.fresh and (part.source == "notice" or _is_ours(part)):
                yield part, own_words(part.text)

    @property
    def system(self) -> str:
        """The system prompt without what files of the project and the user say."""
        return _FRAME.sub("", self.parts[0].text)


def plain(text: str) -> str:
    """Return a text as it reads: frames opened, one space between words."""
    return " ".join(unescape(text).split())


def own_words(text: str) -> str:
    """Return a text of ours without what others wrote in it."""
    return _TASK_LINE.sub("", _QUOTED.sub('""', _FRAME.sub("", text)))


def names(text: str, name: str) -> bool:
    """Return whether a text names a member: as a separate word, or as `name@team`."""
    return name in text and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _is_ours(part: PromptPart) -> bool:
    if part.source != "result" or part.tool not in TOOLS or part.tool in _FOREIGN_TOOLS:
        return False
    # A subagent's answer and file content are not ours. The reason for a failure is.
    return not part.ok or (part.tool not in _READING and part.tool != "Task")


def _texts(entries: Iterable[tuple[int, Entry]], *kinds: type[Entry]) -> Iterator[str]:
    return (text for _, entry in entries if isinstance(entry, kinds) for text in told_texts(entry))


def _tools(prompt: Prompt) -> dict[str, str]:
    spoken = (block for passage in prompt.passages if isinstance(passage, Spoke) for block in passage.blocks)
    return {block.id: block.tool for block in spoken if isinstance(block, CallBlock)}


def _calls(passage: Spoke) -> Iterator[PromptPart]:
    for block in passage.blocks:
        match block:
            case CallBlock(id=id_, tool=tool, arguments=arguments):
                yield PromptPart("call", "\n".join(_strings(arguments)), tool, id_)
            case TextBlock(text=text):
                yield PromptPart("call", text)
            case ThinkingBlock():
                pass


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for one in value.values():
                yield from _strings(one)
        case list() | tuple():
            for one in value:
                yield from _strings(one)


def _sections(text: str) -> Iterator[Section]:
    found = _SUMMARY.search(text)
    for chunk in unescape(found[1]).split("\n\n") if found else ():
        title, _, rest = chunk.partition("\n")
        if title.endswith(":") and rest.startswith("- "):
            yield Section(title, tuple(rest.splitlines()))
