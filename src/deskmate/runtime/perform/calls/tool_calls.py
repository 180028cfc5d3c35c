"""Runs what a model asked for: journal, tool, result. A tool sees only the `CallContext` of its call."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import anyio
from pydantic import BaseModel, ValidationError

from deskmate.core.agent.actions import Settle
from deskmate.core.agent.entries import Began, Did
from deskmate.core.agent.open_calls import CUT_UNWRITTEN, UNWRITTEN, OpenCall
from deskmate.core.agent.tool_results import Result
from deskmate.core.agent.view import View
from deskmate.core.log.names import blob_name
from deskmate.core.policy.permissions import Attempt, Effect
from deskmate.core.policy.redaction import Redaction
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.policy.verdicts import verdict_on
from deskmate.core.prompt.argument_names import with_our_names
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.core.team.members import Member
from deskmate.errors import ALSO_AN_EVENT, BadInput, Refused, StoreError, ToolError
from deskmate.ports import Background, Tool, Workspace
from deskmate.runtime.agent_parts import AgentParts, ForeseeingTool
from deskmate.runtime.perform.calls.call_context import CallContext, RunSubagent
from deskmate.runtime.perform.live_words import tell_output
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.task_groups import meanwhile, together
from deskmate.runtime.team_state import TeamState

# The tool whose output is shown while it runs.
COMMAND_TOOL = "bash"
RESULT_CAP = 50_000
_PREVIEW, _FLAWS, _PLACE = 2_000, 3, 80
_LOG, _FAILED = logging.getLogger(__name__), "A call of %s failed: %s"


class Calls:
    """The open calls of one agent, and how they are run."""

    def __init__(
        self,
        team_state: TeamState,
        me: Callable[[], Member],
        mail: Mailbox,
        transcript: Transcript,
        parts: AgentParts,
        background: Background,
        run_subagents: RunSubagent,
    ) -> None:
        self._team_state, self._me, self._mail, self._transcript = team_state, me, mail, transcript
        self._parts, self._background, self._run_subagents = parts, background, run_subagents
        self._attempts: dict[str, Attempt] = {}
        self._printed: dict[str, LiveOutput] = {}
        self._ends: list[Did] = []
        self._recording = anyio.Lock(fast_acquire=True)

    def _context(self, call: OpenCall, fixed: tuple[str, ...] = ()) -> CallContext:
        return CallContext(
            call=call.id,
            again=call.began,
            fixed=fixed,
            printed=self._printed.setdefault(call.id, LiveOutput()),
            me=self._me(),
            team_state=self._team_state,
            mail=self._mail,
            parts=self._parts,
            background=self._background,
            transcript=self._transcript,
            run_subagents=self._run_subagents,
        )

    async def attempts(self) -> Mapping[str, Attempt]:
        """Return the open calls as the permission rules see them."""
        calls = self._transcript.memory.calls
        self._attempts = {id_: attempt for id_, attempt in self._attempts.items() if id_ in calls}
        for call in calls.values():
            if call.id not in self._attempts:
                self._attempts[call.id] = await self._attempt(call)
        return self._attempts

    def reconsider(self, id_: str) -> None:
        """Judge a call again, because its arguments may have changed."""
        self._attempts.pop(id_, None)

    async def _attempt(self, call: OpenCall) -> Attempt:
        try:
            tool, arguments = self._read(call)
        except ToolError:
            return Attempt(call.tool, (), inside=True, flawed=True)
        try:
            return await tool.attempt(arguments, self._context(call))
        except Exception as error:
            # A ToolError becomes the result when the call is run. Other errors would be lost, so log them once.
            if not isinstance(error, ToolError) and call.id not in self._attempts:
                _LOG.exception("%s cannot tell what a call touches", call.tool)
            return Attempt.untold(call.tool)

    async def run(self, ids: tuple[str, ...]) -> None:
        """Run calls together and record a result for each. If cancelled, calls without one have begun and not ended.

        Runs nothing if one of them would now touch something else than what was judged. Then it is judged again.
        """
        calls = [self._transcript.memory.calls[id_] for id_ in ids]
        fresh = [call for call in calls if not call.began]
        if await self._have_changed(fresh):
            return
        if fresh:
            fixed = {call.id: list(names) for call in fresh if (names := self._fixed(call))}
            await self._transcript.record(Began(calls=tuple(call.id for call in fresh), fixed=fixed))
        # Mostly there is one, which needs no task of its own.
        if len(calls) == 1:
            await self._run(calls[0])
        else:
            await together(partial(self._run, call) for call in calls)

    async def _have_changed(self, calls: list[OpenCall]) -> bool:
        """Return whether a call now touches something else than when it was judged.

        For example, a link may have replaced a folder. Calls that only read are not checked: they may be run again.
        """
        judged = [call for call in calls if call.id in self._attempts and not call.only_reads]
        changed = [call.id for call in judged if await self._attempt(call) != self._attempts[call.id]]
        for id_ in changed:
            del self._attempts[id_]
        return bool(changed)

    def _fixed(self, call: OpenCall) -> tuple[str, ...]:
        """Return the values to fix in the journal of a call."""
        try:
            tool, arguments = self._read(call)
        except ToolError:
            return ()
        return tool.fix(arguments, self._context(call))

    def _journalled(self, id_: str) -> tuple[str, ...]:
        """Return the values that the journal fixed for a call."""
        began = (entry for _, entry in reversed(self._transcript.entries) if isinstance(entry, Began))
        return tuple(next((entry.fixed.get(id_, ()) for entry in began if id_ in entry.calls), ()))

    async def foreseen(self, view: View) -> Mapping[str, Settle]:
        """Return results of calls that the user would be asked about now but that would change nothing."""
        calls = [call for call in view.memory.calls.values() if not call.began and call.request is None]
        asking = [call for call in calls if verdict_on(view, call).effect is Effect.ASK]
        results = {call.id: await self._foresee(call) for call in asking}
        return {id_: result for id_, result in results.items() if result}

    async def _foresee(self, call: OpenCall) -> Settle | None:
        try:
            tool, arguments = self._read(call)
            if not isinstance(tool, ForeseeingTool):
                return None
            foreseen = await tool.foresee(arguments, self._context(call))
        except ToolError as error:
            foreseen = Result(str(error), ok=False)
        except Exception:
            # When the call is run, this error becomes its result and is logged.
            return None
        text = self._team_state.writer.redaction.text(foreseen.text) if foreseen else ""
        return Settle((call.id,), text, foreseen.ok) if foreseen else None

    async def settle(self, ids: tuple[str, ...], text: str, *, ok: bool = False) -> None:
        """Give calls a result without running them."""
        if any(self._transcript.memory.calls[id_].tool not in self._parts.tools for id_ in ids):
            _LOG.warning(_FAILED, self._transcript.name, text, extra=ALSO_AN_EVENT)
        await self._end([Result(text, ok=ok).did(id_) for id_ in ids])

    async def cut(self, ids: tuple[str, ...], why: str) -> None:
        """Give a result to calls that were cut: the reason, and what their commands had printed."""
        texts = {}
        for id_ in ids:
            printed = self._team_state.writer.redaction.text(self._printed.pop(id_, LiveOutput()).tail())
            texts[id_] = f"{why}\nIt had printed:\n{printed}" if printed else why
        await self._end([Result(text, ok=False).did(id_) for id_, text in texts.items()])

    async def _run(self, call: OpenCall) -> None:
        working: Awaitable[Result] = self._result(call)
        if call.tool == COMMAND_TOOL:
            printed, team_state = self._printed.setdefault(call.id, LiveOutput()), self._team_state
            tell = partial(
                tell_output, self._transcript.name, call.id, printed, team_state.feed, team_state.writer.redaction
            )
            working = meanwhile(tell, working)
        result = await self._bounded(call.id, await working)
        # Not cancellable: a known outcome must not be reported as unknown.
        with anyio.CancelScope(shield=True):
            await self._end([result.did(call.id)])
        self._printed.pop(call.id, None)

    async def _end(self, ends: Iterable[Did]) -> None:
        """Record the ends of calls, together with those of calls that end while this waits for its turn."""
        self._ends += ends
        async with self._recording:
            ends, self._ends = self._ends, []
            # None are left if another call recorded them all. If that failed, its error ends the agent.
            if ends:
                await self._transcript.record(*ends)

    async def _result(self, call: OpenCall) -> Result:
        try:
            tool, arguments = self._read(call)
        except ToolError as error:
            _LOG.warning(_FAILED, self._transcript.name, error, extra=ALSO_AN_EVENT)
            return Result(str(error), ok=False)
        running = tool.run(arguments, self._context(call, self._journalled(call.id)))
        return await outcome(call.tool, running, self._team_state.writer.redaction)

    def _read(self, call: OpenCall) -> tuple[Tool, Any]:
        if call.flaw:
            raise ToolError(call.flaw)
        arguments = self._transcript.unwritten.get(call.id, call.arguments)
        if call.redacted and arguments is call.arguments:
            raise ToolError(CUT_UNWRITTEN if call.began else UNWRITTEN)
        tool = self._parts.tools.get(call.tool)
        if tool is None:
            raise ToolError(f"There is no tool '{call.tool:.80}'. There are {', '.join(self._parts.tools)}.")
        return tool, _arguments(tool, arguments)

    async def _bounded(self, id_: str, result: Result) -> Result:
        """Return the result, or its ends if it is too long for the context. The whole text is then in a blob."""
        if len(result.text) <= RESULT_CAP:
            return result
        head, tail = result.text[:_PREVIEW], result.text[-_PREVIEW:]
        left_out = len(result.text) - len(head) - len(tail)
        _, rest = await keep(self._parts.workspace, id_, result.text)
        # The cut can be anywhere, so the text no longer consists of whole frames.
        return replace(result, text=f"{head}\n… {left_out:,} more characters. {rest} …\n{tail}", framed=False)


async def keep(workspace: Workspace, id_: str, text: str) -> tuple[str | None, str]:
    """Save a whole text in a blob. Return its path, None if that failed, and a sentence about it."""
    try:
        path = await workspace.keep(f"{blob_name(id_)}.txt", text.encode(errors="replace"))
    except (ToolError, OSError) as error:
        # The result is still reported. Only the rest of the text is lost.
        return None, f"They could not be saved: {error}"
    return path, f"The whole text is in {path}"


async def outcome(what: str, work: Awaitable[Result], redaction: Redaction) -> Result:
    """Return the result of work. Any error except a StoreError becomes a result that the model can read.

    The text is redacted here, before it is cut: half a secret would not be recognised.
    """
    result = await _outcome(what, work)
    return replace(result, text=redaction.text(result.text))


async def _outcome(what: str, work: Awaitable[Result]) -> Result:
    try:
        return await work
    except Refused as error:
        return Result(str(error), ok=False, roster=error.roster)
    except (ToolError, BadInput) as error:
        return Result(str(error), ok=False)
    except StoreError:
        # Not an error of the tool: nobody can continue after it.
        raise
    except Exception as error:
        _LOG.exception("%s failed", what)
        where = "in Deskmate" if what in TOOLS else "of the tool itself"
        return Result(
            f"{what} failed because of an error {where} ({type(error).__name__}: {error}). Try another way.", ok=False
        )


def _arguments(tool: Tool, given: Mapping[str, object]) -> BaseModel:
    try:
        return tool.arguments.model_validate(dict(with_our_names(tool.name, given)))
    except ValidationError as error:
        flaws = "; ".join(map(_flaw, error.errors(include_url=False, include_input=False)[:_FLAWS]))
        raise ToolError(f"{tool.name} was not run. {flaws}. It takes {_known(tool.arguments)}.") from error


# A call is read several times, and making a schema takes longer than everything else.
@lru_cache(maxsize=512)
def _known(arguments: type[BaseModel]) -> str:
    return ", ".join(arguments.model_json_schema().get("properties", ())) or "no arguments"


def _flaw(flaw: Mapping[str, Any]) -> str:
    """Return what is wrong with one argument. A name that the model invented can be of any length and kind."""
    where = ascii(".".join(map(str, flaw["loc"])))[1:-1]
    # A model writes JSON, so it knows lists but no tuples.
    why = flaw["msg"].removeprefix("Value error, ").replace("valid tuple", "valid list")
    return f"{where[:_PLACE] or 'arguments'}: {why}"
