"""A task has the same fields in every place where it is created or changed."""

from dataclasses import fields

from deskmate.core.team.task_fields import TEXTS, NewTask, TaskChange
from deskmate.core.team.tasks import BoardFact, Created, Task, TaskEdited
from deskmate.tools.team.board_tools import BoardArguments, CreateArguments, GetArguments, UpdateArguments

NEW = {field.name for field in fields(NewTask)}
CHANGE = {field.name for field in fields(TaskChange)}
HEAD = {*BoardFact.model_fields, "task"}


def test_a_new_task_on_disk_has_the_fields_of_a_new_task() -> None:
    assert Created.model_fields.keys() - HEAD == NEW


def test_a_change_on_disk_has_the_fields_of_a_change() -> None:
    assert TaskEdited.model_fields.keys() - HEAD == CHANGE


def test_a_model_can_set_every_field_of_a_new_task() -> None:
    assert CreateArguments.model_fields.keys() - BoardArguments.model_fields.keys() == NEW


def test_a_model_can_change_everything_but_the_command_that_verifies_a_task() -> None:
    own = UpdateArguments.model_fields.keys() - GetArguments.model_fields.keys()
    assert own - {"status", "owner"} == CHANGE - {"verify"}


def test_a_task_shows_every_field_that_it_was_created_with() -> None:
    assert {field.name for field in fields(Task)} >= NEW >= set(TEXTS)
    assert set(TEXTS) <= CHANGE
