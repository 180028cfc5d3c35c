"""Run and resume, from arguments to exit code.

`deskmate.app` does the work, or a replacement in tests.
"""

import signal
import sys
from functools import partial
from typing import Protocol

import anyio

from deskmate import app
from deskmate.app import Changed, Feed, Outcome, Printed, RunRequest, TeamEvent, TeamStarted
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.status import Parked
from deskmate.faces.common.error_log import error_text, logging_to
from deskmate.faces.common.exit_codes import INTERRUPTED, UNUSABLE
from deskmate.faces.common.output_stream import PATIENCE_SECONDS, OutputStream
from deskmate.faces.common.progress_lines import Progress, progress_on
from deskmate.faces.common.run_start import NEVER_ANSWERED, model_of, typed
from deskmate.faces.common.stop_signals import StopSignals
from deskmate.faces.common.terminal_text import clean, one_line
from deskmate.faces.common.trust_prompt import consent_of
from deskmate.trust.approvals import NO_CONSENT

# Exit code: answered, but unfinished work is left.
LEFT = 4
EXIT_CODES = {"answered": 0, "planned": 0, "parked": 1, "interrupted": INTERRUPTED}


class Runner(Protocol):
    """What runs teams: `deskmate.app`."""

    async def run(self, request: RunRequest, feed: Feed) -> Outcome:
        """Start or continue a team and run it to the end of its turn."""


def carry_out(request: RunRequest, runner: Runner | None, *, output: str, trusts: bool, quiet: bool = False) -> int:
    """Run or resume a team and return the exit code. Raises DeskmateError.

    `trusts`: trust everything in the folder, for this run. `quiet`: print no progress.
    """
    app.seclude()
    app.raise_open_files(app.environment())
    settings = request.settings
    model = model_of(request)
    with OutputStream(sys.stderr) as stderr:
        progress = progress_on(stderr, colour=settings.colour)
        for warning in settings.warnings:
            progress.note(error_text(warning, before="deskmate: warning: "))
        consent = consent_of(request.workspace, settings, progress.note, trusts=trusts, asks=False)
        request = _prepared(request.with_consent(consent or NO_CONSENT), progress)
        if not quiet:
            progress.note(", ".join(filter(None, [model, _mode_note(request)])))
        stop_signals = StopSignals(progress.note)
        with (
            OutputStream(sys.stdout, alarm=stop_signals.pull) as stdout,
            stop_signals.signals(),
            logging_to(progress.note),
        ):
            run = _Run(request, output, progress, stdout, quiet=quiet)
            try:
                outcome = anyio.run(run.play, runner or app, stop_signals)
            finally:
                progress.close()
                # On a terminal, stdout and stderr write to the same place.
                stderr.drain(PATIENCE_SECONDS)
            return run.end(outcome, model)


def _prepared(request: RunRequest, progress: Progress) -> RunRequest:
    """Return the request with the prompt and the team that its words and its option name. Say what is sent."""
    if not request.team_file and not (request.goal or "").startswith("/"):
        return request
    # Imported here because loading it would slow down every start.
    from deskmate.faces.common.commands.first_line import prompt_lines, with_known_command, with_team

    request = with_team(with_known_command(request))
    if request.prompt is not None:
        progress.note("\n".join(prompt_lines(request.prompt)))
    return request


def _mode_note(request: RunRequest) -> str:
    # A resumed team keeps its mode unless another is set.
    settings = request.settings
    own = settings.permission_mode if request.continues else Mode.DEFAULT
    return f"permission mode {settings.mode_over(own) or own}" if own else ""


class _Run:
    """One run, reported as it happens."""

    def __init__(
        self, request: RunRequest, output: str, progress: Progress, stdout: OutputStream, *, quiet: bool
    ) -> None:
        self._quiet = quiet
        self._request, self._output, self._progress, self._stdout = request, output, progress, stdout
        self._team: str | None = None

    async def play(self, runner: Runner, stop_signals: StopSignals) -> Outcome | None:
        """Return the outcome, or None if the run was stopped first."""
        feed = Feed()
        feed.listen(self._hear)
        if not self._quiet:
            feed.listen(self._show)
        with anyio.CancelScope() as scope, stop_signals.stops(scope):
            return await runner.run(self._request, feed)
        return None

    def end(self, outcome: Outcome | None, model: str) -> int:
        """Report how the run ended. Return the exit code."""
        if outcome is not None:
            self._team = outcome.team
            self._print(outcome, model)
        # Wait for the reader of an answer, but not after an interrupt: a reader that stopped would block the exit.
        self._stdout.drain(PATIENCE_SECONDS if outcome is None else None)
        if self._stdout.failure:
            self._progress.note(f"deskmate: cannot write to stdout: {self._stdout.failure}{self._way_on()}")
            return UNUSABLE
        if outcome is not None:
            self._tell(outcome)
            self._hand_over(outcome)
            return self._code(outcome)
        # A reader that closed the output knows that it was cut short.
        if self._stdout.trouble is None:
            self._progress.note(f"deskmate: interrupted{self._way_on()}")
        return INTERRUPTED

    def _lacks_result(self, outcome: Outcome) -> bool:
        return self._request.result is not None and outcome.end == "answered" and not outcome.has_result

    def _code(self, outcome: Outcome) -> int:
        left = outcome.end == "answered" and outcome.leaves_work
        return LEFT if left or self._lacks_result(outcome) else EXIT_CODES[outcome.end]

    def _print(self, outcome: Outcome, model: str) -> None:
        from deskmate.faces.cli.output import json_output

        wants_result = self._request.result is not None
        result = json_output.of_outcome(outcome, model, self._code(outcome), wants_result=wants_result)
        if self._output == "json":
            self._stdout.put(json_output.line(result) + "\n")
        elif self._output == "stream-json":
            self._stdout.put(json_output.line({"type": "result", **result}) + "\n")
        elif wants_result:
            # The words of the lead are not the answer then.
            self._stdout.put(json_output.line(outcome.result) + "\n" if outcome.has_result else "")
        elif text := clean(outcome.text).rstrip():
            self._stdout.put(text + "\n")

    def _hear(self, event: TeamEvent) -> None:
        if isinstance(event, TeamStarted):
            self._team = event.team
        # What a command prints is in its result. The rest is only for screens.
        if self._output == "stream-json" and not isinstance(event, Printed):
            self._stdout.put(app.to_line(event) + "\n")

    def _show(self, event: TeamEvent) -> None:
        match event:
            case Changed(member, Parked()) if member == LEAD:
                # It is the reason why the run ends, which is printed last.
                pass
            case _:
                self._progress.hear(event)

    def _tell(self, outcome: Outcome) -> None:
        if outcome.kept and not self._quiet:
            self._progress.note(_sum(outcome))
        # Imported here, like other things that only the end of a run needs, so that it begins sooner.
        from deskmate.faces.common.listings import left_lines

        for line in left_lines(outcome):
            self._progress.note(line)
        # An empty answer needs a line too.
        if outcome.end == "planned":
            self._progress.note(
                f"deskmate: {outcome.reason}\nTo answer it, run: {typed(self._request, '--team', outcome.team)}"
            )
        elif outcome.end != "answered" or not (outcome.text.strip() or outcome.has_result):
            end = "stopped" if outcome.end == "parked" else outcome.end
            what = ": ".join(filter(None, [end, one_line(outcome.reason)]))
            way_on = self._way_on(outcome.reason) if outcome.kept else f"\n{NEVER_ANSWERED}"
            self._progress.note(f"deskmate: {what}{way_on}")
        elif self._lacks_result(outcome):
            self._progress.note(f"deskmate: {one_line(outcome.reason)}{self._way_on()} --json-schema FILE")
        elif outcome.leaves_work:
            self._progress.note(f"deskmate: answered, but work is left{self._way_on()}")

    def _hand_over(self, outcome: Outcome) -> None:
        """Merge the branch of the team into the user's, or say how to do that."""
        if not outcome.kept:
            return
        from deskmate.faces.common.handover.tree_reports import end_lines

        folder, command = self._request.workspace, partial(typed, self._request, "merge")
        choice = self._request.settings.merge if outcome.end == "answered" else "leave"
        if choice == "ask" and sys.stdin.isatty() and sys.stderr.isatty():
            from deskmate.faces.common.handover.merge_question import ask_at_end

            ask_at_end(folder, outcome.team, self._progress.note, _typed_line, command)
            return
        for line in end_lines(folder, outcome.team, choice, command):
            self._progress.note(line)

    def _way_on(self, reason: str = "") -> str:
        if self._team is None:
            return " before anything started"
        from deskmate.faces.common.chat.budget_command import flag_for

        flag = flag_for(reason)
        return f"\nTo continue, run: {typed(self._request, 'resume', self._team)}" + (f" {flag} NUMBER" if flag else "")


def _typed_line() -> str:
    """Return a line that the user types, empty after Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return sys.stdin.readline()
    except KeyboardInterrupt:
        return ""
    finally:
        signal.signal(signal.SIGINT, before)


def _sum(outcome: Outcome) -> str:
    if outcome.end == "answered" and not outcome.steps:
        return f"team {outcome.team} had nothing left to do. This is its previous answer"
    cost = "cost unknown" if outcome.cost is None else f"${outcome.cost:.4f}"
    steps = f"{outcome.steps} step{'' if outcome.steps == 1 else 's'}"
    return f"team {outcome.team}: {steps}, {outcome.usage.prompt:,} tokens in, {outcome.usage.output:,} out, {cost}"
