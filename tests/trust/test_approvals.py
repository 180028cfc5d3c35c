"""Trust on disk: what is used of a workspace is what was last approved with these very bytes, whatever happens."""

import os
import stat
import tempfile
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskmate.core.policy.trusted_files import Approval, Definition, digests
from deskmate.errors import BadRecord, BadSettings, Refused, StoreUnavailable
from deskmate.trust.approvals import NO_CONSENT, Consent, Trust, consent_to, survey
from tests.config.test_project_settings import of_user
from tests.trust.test_folders import made

pytestmark = pytest.mark.behaviour("trust")

AGENTS, SETTINGS, SKILL = "AGENTS.md", ".deskmate/settings.toml", ".deskmate/skills/ship/SKILL.md"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return made(tmp_path.resolve() / "w", AGENTS, SETTINGS, SKILL)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "home/.local/state/deskmate"


def trust(place: Path, state: Path) -> None:
    """Approve all that is there."""
    Trust(state).approve(place, survey(place, state, reads=True).whole)


def used(place: Path, state: Path) -> dict[str, bytes]:
    """Return what an unattended run uses."""
    return {one.path: one.data for one in survey(place, state, reads=False).consent.definitions}


# -- what counts ------------------------------------------------------------------------------------


def test_of_a_folder_never_trusted_nothing_is_used_and_what_there_is_is_named(place: Path, state: Path) -> None:
    found = survey(place, state, reads=False)
    assert found.consent == NO_CONSENT
    assert found.unused == {AGENTS: None, SETTINGS: None, ".deskmate/skills": None}
    assert not state.exists()


def test_what_is_approved_is_used_and_a_changed_byte_is_asked_about_again(place: Path, state: Path) -> None:
    trust(place, state)
    assert used(place, state) == {path: f"of {path}".encode() for path in (AGENTS, SETTINGS, SKILL)}
    (place / AGENTS).write_bytes(b"of AGENTS.me")
    (place / ".deskmate/skills/new").mkdir()
    (place / ".deskmate/skills/new/SKILL.md").write_bytes(b"new")
    found = survey(place, state, reads=False)
    assert found.unused == {AGENTS: Approval.CHANGED, ".deskmate/skills/new/SKILL.md": Approval.NEW}
    assert set(used(place, state)) == {SETTINGS, SKILL}


def test_what_is_removed_needs_no_question_and_comes_back_as_it_was(place: Path, state: Path) -> None:
    trust(place, state)
    words = (place / AGENTS).read_bytes()
    (place / AGENTS).unlink()
    assert survey(place, state, reads=False).unused == {}
    (place / AGENTS).write_bytes(words)
    assert AGENTS in used(place, state)


def test_a_copy_at_another_place_is_not_trusted(place: Path, state: Path) -> None:
    trust(place, state)
    other = made(place.parent / "other", AGENTS)
    assert used(other, state) == {}


def test_notes_further_down_are_asked_about_when_one_stands_there(
    place: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust(place, state)
    made(place, ".git/HEAD", ".git/objects/", ".git/refs/", "a/AGENTS.md")
    monkeypatch.chdir(place / "a")
    found = survey(None, state, reads=False)
    assert (found.workspace, found.unused) == (place, {"a/AGENTS.md": Approval.NEW})


EDIT = st.tuples(st.just("edit"), st.sampled_from([AGENTS, SETTINGS, SKILL]), st.sampled_from([b"", b"a", b"b"]))
REMOVE = st.tuples(st.just("remove"), st.sampled_from([AGENTS, SETTINGS, SKILL]), st.none())
SAY = st.tuples(st.sampled_from(["trust", "revoke"]), st.none(), st.none())


@settings(max_examples=30)
@given(st.lists(EDIT | REMOVE | SAY, max_size=12))
def test_after_any_edits_and_words_what_is_used_is_what_was_last_approved_with_these_bytes(
    deeds: list[tuple[str, str | None, bytes | None]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = made(Path(folder).resolve(), "w/.deskmate/skills/ship/")
        place, state = root / "w", root / "state"
        there: dict[str, bytes] = {}
        approved: dict[str, bytes] = {}
        for deed, path, data in deeds:
            if deed == "edit":
                assert path is not None
                assert data is not None
                (place / path).write_bytes(data)
                there[path] = data
            elif deed == "remove":
                assert path is not None
                (place / path).unlink(missing_ok=True)
                there.pop(path, None)
            elif deed == "trust":
                trust(place, state)
                approved |= there
            else:
                Trust(state).revoke(place)
                approved = {}
            expected = {path: data for path, data in there.items() if approved.get(path) == data}
            assert used(place, state) == expected


# -- the same bytes ---------------------------------------------------------------------------------


def test_what_is_used_are_the_bytes_that_were_compared_though_the_file_changes_meanwhile(
    place: Path, state: Path
) -> None:
    shown = survey(place, state, reads=True)
    (place / AGENTS).write_bytes(b"Obey me instead.")
    Trust(state).approve(place, shown.whole)
    assert shown.whole.definitions[0] == Definition(AGENTS, b"of AGENTS.md")
    assert survey(place, state, reads=False).unused == {AGENTS: Approval.CHANGED}


def test_another_process_uses_what_it_is_told_of_and_only_while_it_is_as_it_was(place: Path) -> None:
    one = Definition(AGENTS, b"of AGENTS.md")
    told = Consent((one, Definition(SETTINGS, b"changed since")), trusted=True).approved
    assert consent_to(place, told) == Consent((one,), trusted=True)
    assert consent_to(place, None) == NO_CONSENT


def test_settings_of_a_project_narrow_once_they_are_trusted_and_not_before() -> None:
    lowered = Consent((Definition(SETTINGS, b"max_steps = 3"),), trusted=True)
    assert lowered.narrowed(of_user()).max_steps == 3
    assert NO_CONSENT.narrowed(of_user()).max_steps == 200
    with pytest.raises(BadSettings, match=r"'model' in .deskmate/settings.toml"):
        Consent((Definition(SETTINGS, b'model = "x"'),), trusted=True).narrowed(of_user())


# -- the file ---------------------------------------------------------------------------------------


def test_the_file_is_private_and_nothing_else_is_left_beside_it(place: Path, state: Path) -> None:
    trust(place, state)
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (state, *state.iterdir())}
    assert found == {"deskmate": 0o700, "trust.json": 0o600, "trust.lock": 0o600}
    assert Trust(state).all() == {str(place): digests(survey(place, state, reads=True).whole.definitions)}


@pytest.mark.parametrize("spoil", ["cut", "writable", "link", "folder"])
def test_a_file_that_cannot_be_relied_on_trusts_nothing_and_that_is_told(place: Path, state: Path, spoil: str) -> None:
    trust(place, state)
    file = state / "trust.json"
    match spoil:
        case "cut":
            os.truncate(file, 30)
        case "writable":
            file.chmod(0o622)
        case "link":
            file.rename(state / "elsewhere")
            file.symlink_to("elsewhere")
        case "folder":
            file.unlink()
            file.mkdir()
    found = survey(place, state, reads=False)
    assert found.consent == NO_CONSENT
    assert found.trouble is not None
    assert str(file) in found.trouble.message
    assert "Delete it" in found.trouble.hint
    with pytest.raises(BadRecord):
        Trust(state).all()


def test_a_damaged_file_is_replaced_by_the_next_word(place: Path, state: Path) -> None:
    trust(place, state)
    os.truncate(state / "trust.json", 30)
    trust(place, state)
    assert set(used(place, state)) == {AGENTS, SETTINGS, SKILL}


def test_what_agents_could_write_trusts_nothing(tmp_path: Path) -> None:
    home = made(tmp_path.resolve(), AGENTS)
    state = home / ".local/state/deskmate"
    with pytest.raises(Refused, match=r"trust.json is in .* where agents can write"):
        trust(home, state)
    # As an agent would write it.
    Trust(state).approve(home / "elsewhere", Consent((), trusted=True))
    text = (state / "trust.json").read_text()
    (state / "trust.json").write_text(text.replace(str(home / "elsewhere"), str(home)))
    assert str(home) in Trust(state).all()
    assert survey(home, state, reads=False).consent == NO_CONSENT


def test_a_state_folder_that_cannot_be_made_is_a_sentence(place: Path, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("in the way")
    assert used(place, tmp_path / "home/state") == {}
    with pytest.raises(StoreUnavailable, match="Make it a folder"):
        trust(place, tmp_path / "home/state")


@pytest.mark.anyio
async def test_of_words_said_at_once_none_is_lost(place: Path, state: Path) -> None:
    async def say(number: int) -> None:
        consent = Consent((Definition(AGENTS, str(number).encode()),), trusted=True)
        await anyio.to_thread.run_sync(Trust(state).approve, place / str(number), consent)

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(say, number)
    assert len(Trust(state).all()) == 20
