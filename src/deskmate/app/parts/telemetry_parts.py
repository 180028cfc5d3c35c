"""What exports teams to an OpenTelemetry collector: a team that runs here, or any team on demand."""

from pathlib import Path

from deskmate.config import Settings, environment
from deskmate.config.telemetry_choice import TelemetryChoice, telemetry_choice
from deskmate.core.telemetry.span_values import TeamIdentity
from deskmate.core.telemetry.usage_facts import ContentChoice
from deskmate.core.values import frozen
from deskmate.errors import BadSettings
from deskmate.ports import Store
from deskmate.queries.installation import Installation, has_telemetry
from deskmate.queries.stream_reader import reading_of, telling
from deskmate.runtime.running_team import Keeper
from deskmate.runtime.system_clock import SystemClock
from deskmate.runtime.team_state import TeamState
from deskmate.telemetry.export_positions import ExportPositions
from deskmate.telemetry.live_export import LiveExport
from deskmate.telemetry.span_export import NotSent, Sender, SpanExport
from deskmate.telemetry.team_reader import TeamReader
from deskmate.trust.folders import open_store
from deskmate.trust.known_secrets import redaction_of


def telemetry_of(team_state: TeamState, settings: Settings) -> tuple[Keeper, ...]:
    """Return what exports a team while it runs, nothing if that is switched off or its packages are missing."""
    choice = telemetry_choice(environment())
    if choice.disabled or not (choice.spans or choice.metrics) or not has_telemetry():
        return ()

    def load(identity: TeamIdentity) -> ExportPositions:
        # Without spans, there is nothing to keep: if they are turned on later, those from before are wanted too.
        kept = ExportPositions.load(settings.state, identity.trace_id, identity.team)
        return kept if choice.spans else ExportPositions()

    writer = team_state.writer
    reader = TeamReader(writer.store, ContentChoice(choice.content, writer.redaction), sync=True)
    export = SpanExport(reader, lambda identity: _sender_of(identity, choice), load)
    return (LiveExport(writer.store, writer.clock, export, choice.place, ends_run=True),)


def _sender_of(identity: TeamIdentity, choice: TelemetryChoice) -> Sender:
    # On the thread that sends: importing it takes a while.
    from deskmate.telemetry.otlp_sender import OtlpSender

    return OtlpSender.of_environment(identity, spans=choice.spans, metrics=choice.metrics)


@frozen
class TeamExported:
    """What was exported of a team. `place`: where to. `metrics`: whether its metrics were.

    `metrics_failure`: why they were not accepted, empty if they were. `runs`: a process runs it, so some spans have not
    ended yet.
    """

    team: str
    place: str
    spans: int
    metrics: bool
    metrics_failure: str
    runs: bool
    damage: tuple[str, ...]


def check_collector() -> str:
    """Return where spans go on demand. Raises BadSettings if the variables or the installation do not allow that."""
    choice = telemetry_choice(environment())
    if choice.disabled:
        raise BadSettings("OTEL_SDK_DISABLED is true, so nothing is exported", "Unset it, or print spans: --console")
    if not (choice.spans or choice.metrics):
        raise BadSettings(
            "OTEL_TRACES_EXPORTER and the other variables leave nothing to export", "Unset them, or print: --console"
        )
    if not has_telemetry():
        command = Installation.current().command_for("all", "telemetry")
        raise BadSettings("The packages for telemetry are not installed", f"To install them, run: {command}")
    return choice.place


async def export_team(folder: Path | None, team: str | None, sender: Sender | None, *, follows: bool) -> TeamExported:
    """Send everything of a team, also the last run and cut turns of one that does not run, and return what was sent.

    `sender`: None sends to the collector. `follows`: then go on with what is new, until cancelled. Raises Refused,
    StoreError, or NotSent.
    """
    reading = reading_of(folder, team)
    choice = telemetry_choice(environment())
    with telling(reading.workspace), open_store(reading.workspace, reading.team) as store:
        runs = reading.holder() is not None
        content = ContentChoice(choice.content, redaction_of())
        reader = TeamReader(store, content, sync=False)
        export = SpanExport(
            reader,
            lambda identity: _sender_of(identity, choice) if sender is None else sender,
            lambda _: ExportPositions(),
        )
        try:
            await export.export(SystemClock().timestamp(), over=not runs, unfinished=not follows)
        except NotSent as error:
            hint = "Start it, or name another one in OTEL_EXPORTER_OTLP_ENDPOINT."
            raise NotSent(f"The collector at {choice.place} did not take the spans: {error}", hint) from error
        if follows:
            await _follow(store, export, choice.place)
        for stream in reader.projection.numbers:
            # Notes what is damaged, and so is in no span.
            reading.items(stream)
    return TeamExported(
        team=reading.team,
        place=choice.place,
        spans=export.sent if choice.spans else 0,
        metrics=choice.metrics and not export.metrics_failure,
        metrics_failure=export.metrics_failure,
        runs=runs,
        damage=reading.damage,
    )


async def _follow(store: Store, export: SpanExport, place: str) -> None:
    await LiveExport(store, SystemClock(), export, place, ends_run=False).keep()
