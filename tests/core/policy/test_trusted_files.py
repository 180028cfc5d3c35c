"""What counts of a repository: the very bytes that were approved, and nothing else; and how that is kept."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskmate.core.policy.trusted_files import (
    Approval,
    Definition,
    counting,
    digests,
    read_trust,
    signature,
    standing,
    write_trust,
)
from deskmate.errors import BadRecord

pytestmark = pytest.mark.behaviour("trust")

NOTES = Definition("AGENTS.md", b"Be kind.\n")
PATHS = st.sampled_from(["AGENTS.md", "a/AGENTS.md", ".deskmate/settings.toml"])
FILES = st.lists(st.builds(Definition, PATHS, st.binary(max_size=3)), unique_by=lambda one: one.path)


def test_one_changed_byte_is_a_change_and_another_path_is_new() -> None:
    approved = digests([NOTES])
    assert standing(NOTES, approved) is Approval.TRUSTED
    assert standing(Definition("AGENTS.md", b"Be kind\n"), approved) is Approval.CHANGED
    assert standing(Definition("a/AGENTS.md", NOTES.data), approved) is Approval.NEW


@given(before=FILES, now=FILES)
def test_what_counts_are_the_bytes_that_were_approved_at_that_path(
    before: list[Definition], now: list[Definition]
) -> None:
    assert counting(now, digests(before)) == tuple(one for one in now if one in before)


@settings(max_examples=25)
@given(st.dictionaries(st.text(), FILES.map(digests), max_size=3))
def test_what_was_approved_is_read_as_it_was_kept(approved: dict[str, dict[str, str]]) -> None:
    assert read_trust(write_trust(approved)) == approved


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"version": 2, "workspaces": {}}',
        b'{"version": 1}',
        b'{"version": 1, "workspaces": []}',
        b'{"version": 1, "workspaces": {"/w": []}}',
        b'{"version": 1, "workspaces": {"/w": {"AGENTS.md": true}}}',
        write_trust({"/w": digests([NOTES])})[:-5],
    ],
)
def test_what_is_not_whole_is_refused(data: bytes) -> None:
    with pytest.raises(BadRecord):
        read_trust(data)


@given(st.binary(max_size=200))
def test_whatever_stands_in_the_file_is_read_or_refused(data: bytes) -> None:
    try:
        found = read_trust(data)
    except BadRecord:
        return
    assert json.loads(data)["workspaces"] == found


def test_a_signature_is_of_one_key_one_folder_and_one_team() -> None:
    made = {
        signature(key, workspace, team)
        for key in (b"k" * 32, b"l" * 32)
        for workspace in (b"/w", b"/w/x")
        for team in ("main", "web")
    }
    assert len(made) == 8
    assert signature(b"k" * 32, b"/w", "main") == signature(b"k" * 32, b"/w", "main")
