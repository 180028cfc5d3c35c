"""Team files: what they describe, what is wrong with them in words, and what hostile ones come to."""

import time
from pathlib import Path

import pytest

from deskmate.app.run_request import Teammate
from deskmate.app.team_files.team_description import TeamDescription, read_team_file
from deskmate.config import Settings, load
from deskmate.core.policy.isolation import Isolation
from deskmate.core.policy.permissions import Mode
from deskmate.errors import DeskmateError

pytestmark = pytest.mark.behaviour("team-files")

WHOLE = """
about = "Builds the page"
words = "Build the page."
check = "make test"
permission_mode = "acceptEdits"

[budget]
max_cost = 2
max_members = 5

[[members]]
name = "ann"
role = "backend"
mode = "plan"
prompt = "Plan the server."

[[members]]
name = "bob"
type = "tester"
model = "anthropic:claude-haiku-4-5"
isolation = "own"

[[tasks]]
id = "page"
subject = "Write the page"
blocked_by = ["server"]
role = "tester"
verify = "make page"

[[tasks]]
id = "server"
subject = "Write the server"
description = "In src/."
owner = "ann"
"""


def read(text: str) -> TeamDescription:
    return read_team_file(text.encode(), "web.toml")


def settings_of(tmp_path: Path, **flags: object) -> Settings:
    return load({"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "sk-test"}, flags)


def test_everything_is_read_and_tasks_follow_those_that_block_them() -> None:
    found = read(WHOLE)
    assert found.teammates == (
        Teammate("ann", "backend", "Plan the server.", plans_first=True),
        Teammate("bob", "tester", model="anthropic:claude-haiku-4-5", type="tester", isolation=Isolation.OWN),
    )
    server, page = found.tasks
    assert (server.subject, server.description, server.owner) == ("Write the server", "In src/.", "ann")
    assert (page.subject, page.blocked_by, page.role, page.verify) == (
        "Write the page",
        [server],
        "tester",
        "make page",
    )
    assert (found.words, found.about, found.check) == ("Build the page.", "Builds the page", "make test")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("words = 3", "'words' must be a text"),
        ("wrods = 'x'", "there is no field 'wrods'"),
        ("words = 'x'\n[budget]\nmax_cost = -1", "[budget]: 'max_cost' must be a number of dollars"),
        ("words = 'x'\n[budget]\nmax_csot = 1", "[budget]: there is no field 'max_csot'"),
        ("words = 'x'\nbudget = 3", "'budget' must be a table"),
        ("words = 'x'\nmembers = 'ann'", "'members' must be"),
        ("members = ['ann']", "[[members]] number 1"),
        ("[[members]]\nrole = 'x'", "[[members]] number 1: 'name' is missing"),
        ("[[members]]\nname = 'ann'\nrolle = 'x'", "[[members]] number 1 (ann): there is no field 'rolle'"),
        ("[[members]]\nname = 'ann'\nmode = 'all'", "[[members]] number 1 (ann): 'mode' must be one of default"),
        ("[[members]]\nname = 'lead'", "[[members]] number 1 (lead)"),
        ("[[members]]\nname = '../x'", "[[members]] number 1 (../x)"),
        ("[[members]]\nname = 'ann'\n[[members]]\nname = 'Ann'", "[[members]] number 2 (Ann): there are two"),
        ("[[members]]\nname = 'ann'\nmode = 'plan'", "nothing to plan"),
        ("[[tasks]]\nsubject = ''", "[[tasks]] number 1: 'subject' must be"),
        (
            "[[tasks]]\nsubject = 'a'\nowner = 'bob'",
            "[[tasks]] number 1 (a): 'owner' is 'bob', which is not the name of a member",
        ),
        ("[[tasks]]\nsubject = 'a'\nrole = 'x'", "no member has the role 'x'"),
        ("[[tasks]]\nsubject = 'a'\nblocked_by = ['b']", "'blocked_by' names 'b', which is not the id of a task"),
        ("[[tasks]]\nid = 'a'\nsubject = 'x'\n[[tasks]]\nid = 'a'\nsubject = 'y'", "task 1 has the same id"),
        ("[[tasks]]\nid = 'a'\nsubject = 'x'\nblocked_by = ['a']", "these tasks wait for each other: a"),
        ("", "describes no team"),
        ("words = ", "is not valid TOML"),
        ("\x00", "is not valid TOML"),
    ],
)
def test_a_mistake_is_named_with_its_table_and_field(text: str, told: str) -> None:
    with pytest.raises(DeskmateError) as refused:
        read(text)
    assert str(refused.value).startswith("web.toml")
    assert told in str(refused.value)


def test_a_file_lowers_limits_and_never_raises_them(tmp_path: Path) -> None:
    narrowed = read(WHOLE).narrowed(settings_of(tmp_path, max_cost=1.0, max_members=9))
    assert (narrowed.max_cost, narrowed.max_members, narrowed.max_tokens) == (1.0, 5, None)
    assert read(WHOLE).narrowed(settings_of(tmp_path)).max_cost == 2.0
    assert read(WHOLE).narrowed(settings_of(tmp_path, check="make all")).check == "make all"


def test_a_file_never_widens_the_mode(tmp_path: Path) -> None:
    wide = read("words = 'x'\npermission_mode = 'bypass'")
    assert wide.narrowed(settings_of(tmp_path)).mode_over(Mode.DEFAULT) is None
    assert wide.narrowed(settings_of(tmp_path, permission_mode="plan")).mode_over(Mode.DEFAULT) is Mode.PLAN
    trusted = settings_of(tmp_path, permission_mode="bypass")
    assert read(WHOLE).narrowed(trusted).mode_over(Mode.DEFAULT) is Mode.ACCEPT_EDITS
    project = trusted.model_copy(update={"widest_mode": Mode.PLAN})
    assert read(WHOLE).narrowed(project).mode_over(Mode.DEFAULT) is Mode.PLAN


def test_bombs_cost_little() -> None:
    bombs = [
        "words = 'x'\n" + "[[tasks]]\nsubject = 'a'\n" * 20_000,
        "[[members]]\nname = 'a'\n" * 10_000,
        "a = " + "[" * 100_000,
        "words = '" + "x" * 250_000 + "'",
        "".join(f"[[tasks]]\nid = 't{n}'\nsubject = 'a'\nblocked_by = ['t{n + 1}']\n" for n in range(499))
        + "[[tasks]]\nid = 't499'\nsubject = 'a'",
    ]
    began = time.process_time()
    for bomb in bombs[:-1]:
        with pytest.raises(DeskmateError) as refused:
            read(bomb)
        assert len(str(refused.value)) < 1000
    assert len(read(bombs[-1]).tasks) == 500
    assert time.process_time() - began < 20
