"""A file with a secret is not saved anywhere, is named, and is never touched by a restore."""

import os
import subprocess
import tempfile
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings

from deskmate.core.policy.redaction import Redaction
from deskmate.workspace.checkpoints.points import MOST_FILE_BYTES
from tests.scenarios.secrets.planted_secrets import ENVIRON, SHAPED
from tests.workspace.checkpoints.checkpoint_ground import Files, Ground
from tests.workspace.checkpoints.test_restoring import some_files

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("secrets")]
EXAMPLES = 300 if os.environ.get("DESKMATE_SOAK") else 15
KNOWN, SHAPE = ENVIRON["DEPLOY_PASSPHRASE"].encode(), SHAPED["typed"].encode()
REDACTION = Redaction({"DEPLOY_PASSPHRASE": ENVIRON["DEPLOY_PASSPHRASE"]})
SECRET = (b"say: " + KNOWN + b"\n", b"\xff\0" + SHAPE, b"GITHUB_TOKEN=" + SHAPE + b"\n")
TREES = some_files(0o644, 0o755, more=SECRET * 4)


def secret_in(files: Files) -> set[str]:
    """Return the files that have a secret."""
    return {path for path, file in files.items() if not isinstance(file, str) and file[1] in SECRET}


def _has_in_its_way(path: str, others: set[str]) -> bool:
    return any(other.startswith(f"{path}/") or path.startswith(f"{other}/") for other in others)


async def _keeps_secrets_out(ground: Ground, before: Files, after: Files) -> None:
    ground.fill(before)
    saved = await ground.checkpoints.save()
    ground.checkpoints.add(saved)
    assert set(saved.secret) == secret_in(before)
    ground.fill(after)
    now = await ground.checkpoints.save()
    ground.checkpoints.add(now, undoes=1)
    await ground.bring_back(saved)
    restored, untouched = ground.files(), secret_in(before) | secret_in(after)
    for path in {*before, *after} & untouched:
        assert restored.get(path) == after.get(path)
    for path in {*before, *after} - untouched:
        if not _has_in_its_way(path, untouched & after.keys()):
            assert restored.get(path) == before.get(path)
    await ground.bring_back(now)
    assert ground.files() == after
    assert KNOWN not in ground.kept_bytes()
    assert SHAPE not in ground.kept_bytes()


@settings(max_examples=EXAMPLES)
@given(before=TREES, after=TREES)
def test_in_git_what_was_saved_comes_back_and_what_has_a_secret_is_untouched_and_no_object(
    before: Files, after: Files
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(_keeps_secrets_out, Ground(Path(folder), in_git=True, redaction=REDACTION), before, after)


@settings(max_examples=EXAMPLES * 4)
@given(before=TREES, after=TREES)
def test_outside_git_what_was_saved_comes_back_and_what_has_a_secret_is_untouched_and_not_copied(
    before: Files, after: Files
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(_keeps_secrets_out, Ground(Path(folder), in_git=False, redaction=REDACTION), before, after)


@pytest.mark.parametrize("in_git", [True, False], ids=["git", "copies"])
async def test_a_name_that_is_a_secret_is_written_nowhere(tmp_path: Path, in_git: bool) -> None:
    ground = Ground(tmp_path, in_git)
    ground.fill({f"asked-{SHAPE.decode()}": (0o644, b"1"), "link": SHAPE.decode(), "plain": (0o644, b"2")})
    (ground.root / f"large-{SHAPE.decode()}").write_bytes(b"0" * (MOST_FILE_BYTES + 1))
    saved = await ground.checkpoints.save()
    ground.checkpoints.add(saved)
    assert (len({*saved.secret, *saved.left_out}), ground.checkpoints.content(saved.tree, "plain")) == (3, b"2")
    assert SHAPE not in ground.kept_bytes()


async def test_a_file_whose_secrets_are_in_the_commit_of_the_user_is_saved(tmp_path: Path) -> None:
    ground = Ground(tmp_path, in_git=True)
    ground.fill({"fixture": (0o644, SHAPE + b"\nold\n"), "other": (0o644, b"old\n")})
    ground.git("add", "-A")
    ground.git("commit", "-qm", "begin")
    edited: Files = {"fixture": (0o644, SHAPE + b"\nnew\n"), "other": (0o644, SHAPE + b"\n")}
    ground.fill(edited)
    saved = await ground.checkpoints.save()
    assert saved.secret == ("other",)
    ground.fill({})
    await ground.bring_back(saved)
    assert ground.files() == {"fixture": edited["fixture"]}


@pytest.mark.parametrize("in_git", [True, False], ids=["git", "copies"])
async def test_a_file_with_a_secret_in_the_place_of_a_folder_stays(tmp_path: Path, in_git: bool) -> None:
    ground = Ground(tmp_path, in_git)
    ground.fill({"a/b": (0o644, b"1"), "c": (0o644, b"2"), "d/e": (0o644, b"3")})
    saved = await ground.checkpoints.save()
    now: Files = {"a": (0o644, SHAPE), "c/x": (0o644, SHAPE), "d": SHAPE.decode()}
    ground.fill(now)
    await ground.bring_back(saved)
    assert ground.files() == now


async def test_a_conflict_with_a_secret_is_left_out_and_the_rest_is_saved(tmp_path: Path) -> None:
    ground = Ground(tmp_path, in_git=True)
    ground.fill({"both": (0o644, b"base\n"), "other": (0o644, b"other\n")})
    ground.git("add", "-A")
    ground.git("commit", "-qm", "First")
    for name in ("one", "two"):
        ground.git("checkout", "-q", "-b", name, *(["HEAD^"] if name == "two" else []))
        (ground.root / "both").write_text(f"{name}\n")
        ground.git("commit", "-qam", name)
    with pytest.raises(subprocess.CalledProcessError):
        ground.git("merge", "one")
    (ground.root / "both").write_bytes((ground.root / "both").read_bytes() + SECRET[2])
    (ground.root / "other").write_text("changed\n")
    index = (ground.root / ".git/index").read_bytes()
    saved = await ground.checkpoints.save()
    assert (saved.left_out, saved.secret) == ((), ("both",))
    assert ground.checkpoints.content(saved.tree, "other") == b"changed\n"
    assert (ground.root / ".git/index").read_bytes() == index
