"""What roster and board say: runs, new members, merged work. And what is counted."""

from deskmate.core.log.records import Record
from deskmate.core.team.messages import Envelope, Plain
from deskmate.core.team.roster_records import Joined, MemberIdle, MemberLeft, MemberWorking, PolicySet, TeamFounded
from deskmate.core.team.spending import Spent
from deskmate.core.team.tasks import Claimed, Completed, Created, Offered, Released, Returned
from deskmate.core.telemetry import conventions as names
from deskmate.core.telemetry.projection import Projection, closing, identity_of, project
from deskmate.core.telemetry.span_values import FinishedSpan
from deskmate.core.telemetry.team_metrics import Distribution

AT = 1000.0
ROSTER = [
    TeamFounded(team="main", at=AT),
    PolicySet(by="user", attended=True, at=AT + 1),
    Joined(name="ann", at=AT + 2, cause="lead:3.0"),
    Joined(name="bob", at=AT + 2),
    MemberWorking(name="ann", at=AT + 3),
    MemberIdle(name="ann", at=AT + 5),
    PolicySet(by="user", mode=None, at=AT + 90),
    PolicySet(by="user", attended=False, at=AT + 100),
    MemberLeft(name="ann", at=AT + 103),
]
COMMIT = "1f" * 20
BOARD = [
    Created(by="lead", at=AT, task=1, subject="Parse"),
    Claimed(by="ann", at=AT + 1, task=1, epoch=0),
    Offered(by="ann", at=AT + 2, cause="ann:4.0", task=1, epoch=1, commit=COMMIT),
    Returned(by="ann", at=AT + 4, task=1, offer=3, reason="conflict"),
    Offered(by="ann", at=AT + 5, task=1, epoch=1, commit=COMMIT),
    Completed(by="ann", at=AT + 9, task=1, epoch=1, merged=COMMIT),
    Created(by="lead", at=AT, task=2, subject="Print"),
    Claimed(by="ann", at=AT + 10, task=2, epoch=0),
    Offered(by="ann", at=AT + 11, task=2, epoch=1, commit=COMMIT),
    Released(by="ann", at=AT + 12, task=2, epoch=1),
]


def told(stream: str, facts: list[object], projection: Projection) -> tuple[Projection, list[FinishedSpan]]:
    return project(projection, stream, [Record(n, fact.body()) for n, fact in enumerate(facts, 1)])  # type: ignore[attr-defined]


def begun() -> Projection:
    return Projection(identity_of([Record(1, ROSTER[0].body())], ()))


def brief(spans: list[FinishedSpan]) -> list[tuple[str, float, float, str]]:
    return [(span.name, span.start - AT, span.end - AT, span.error) for span in spans]


def test_a_run_lasts_from_the_start_of_a_process_to_the_last_status_in_it() -> None:
    projection, spans = told("roster", list(ROSTER), begun())
    assert brief([*spans, *closing(projection, unfinished=False)]) == [
        ("create_agent ann", 2, 2, ""),
        ("create_agent bob", 2, 2, ""),
        ("invoke_workflow main", 1, 5, ""),
        ("invoke_workflow main", 100, 103, ""),
    ]
    assert spans[0].parent_id == projection.identity.call_span("lead:3.0")
    assert spans[1].parent_id == spans[2].span_id
    assert [projection.roster.run_at(AT + seconds) for seconds in (0, 50, 100)] == [
        spans[2].span_id,
        spans[2].span_id,
        projection.identity.span_id("roster", 8),
    ]


def test_work_is_merged_or_returned_or_given_up() -> None:
    projection, _ = told("roster", list(ROSTER), begun())
    projection, spans = told("board", list(BOARD), projection)
    assert brief(spans) == [("merge", 2, 4, "returned"), ("merge", 5, 9, "")]
    assert [span.attributes[names.MERGED] for span in spans] == [False, True]
    assert spans[0].parent_id == projection.identity.call_span("ann:4.0")
    assert spans[1].parent_id == projection.identity.span_id("roster", 2)
    assert not projection.board.offers


def test_metrics_add_up_the_whole_logs() -> None:
    spent = [
        Spent(member="ann", model="openai:gpt", input=10, output=3, cache_read=90, cost=0.5, at=AT, seconds=2.0),
        Spent(member="ann:4.0", model="openai:gpt", input=5000, output=3, cost=0.25, at=AT),
        Spent(member="lead", model="own", output=1, at=AT),
    ]
    letters = [Envelope(f"ann:{n}", "ann", "lead", AT + n, Plain(content="hi")) for n in (-1, 1, 2)]
    projection, _ = told("roster", list(ROSTER), begun())
    for stream, facts in (("board", BOARD), ("spend", spent), ("mail/lead", letters)):
        projection, _ = told(stream, list(facts), projection)
    found = {one.definition.name: one.points for one in projection.metrics}
    ann_in, ann_out, lead_in, _ = found["gen_ai.client.token.usage"]
    value = ann_in.value
    assert isinstance(value, Distribution)
    assert (value.count, value.total, value.least, value.most) == (2, 5100, 100, 5000)
    assert [at for at, count in enumerate(value.counts) if count] == [4, 7]
    assert (ann_in.attributes[names.AGENT_NAME], ann_out.attributes[names.TOKEN_TYPE]) == ("ann", "output")
    assert lead_in.attributes[names.REQUEST_MODEL] == "own"
    [duration] = found["gen_ai.client.operation.duration"]
    assert isinstance(duration.value, Distribution)
    assert duration.value.total == 2.0
    assert [(one.attributes[names.AGENT_NAME], one.value) for one in found["deskmate.model.cost"]] == [("ann", 0.75)]
    assert {one.attributes[names.TASK_STATUS]: one.value for one in found["deskmate.tasks"]} == {
        "pending": 1,
        "in_progress": 0,
        "completed": 1,
    }
    assert {one.attributes[names.MEMBER_STATUS]: one.value for one in found["deskmate.members"]} == {
        "working": 1,
        "idle": 1,
        "left": 1,
    }
    # A letter from before the team is a copy of a fork.
    assert [one.value for one in found["deskmate.messages"]] == [2]


def test_every_attribute_of_a_point_belongs_to_its_metric() -> None:
    projection, _ = told("roster", list(ROSTER), begun())
    projection, _ = told("spend", [Spent(member="ann", model="openai:gpt", cost=1.0, seconds=1.0, at=AT)], projection)
    for measured in projection.metrics:
        for point in measured.points:
            assert set(point.attributes) == set(measured.definition.attributes)
