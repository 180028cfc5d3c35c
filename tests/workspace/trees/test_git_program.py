"""Git outside the sandbox runs no program that the configuration of a repository names."""

from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.core.agent.merge_texts import MergeConflict
from deskmate.workspace.trees.git_program import GitFailed
from deskmate.workspace.trees.team_branch import TeamBranch
from deskmate.workspace.trees.trial_merges import TrialMerges
from tests.workspace.trees.tree_repository import TreeRepository

PLANTED = {
    "default driver": {"merge.default": "x", "merge.x.driver": "touch {mark}"},
    "attribute": {"merge.y.driver": "touch {mark}", "attributes": "* merge=y\n"},
    "filter": {
        "merge.renormalize": "true",
        "filter.z.clean": "touch {mark}; cat",
        "filter.z.smudge": "touch {mark}; cat",
        "attributes": "* filter=z\n",
    },
}


def _trial(repository: TreeRepository, one: str, other: str) -> object:
    return dict(TrialMerges(repository.places.git).conflicts([frozenset({one, other})]))[frozenset({one, other})]


def _merge(repository: TreeRepository, one: str, other: str) -> object:
    merged = TeamBranch(repository.places.git, "main").merge(one, other)
    return merged.files if isinstance(merged, MergeConflict) else ()


@pytest.mark.parametrize("merge", [_trial, _merge])
@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_a_merge_runs_no_driver_and_no_filter_of_the_repository(
    repository: TreeRepository,
    tmp_path: Path,
    planted: dict[str, str],
    merge: Callable[[TreeRepository, str, str], object],
) -> None:
    base, mark = repository.git("rev-parse", "HEAD"), tmp_path / "mark"
    commits = list[str]()
    for text in ("ONE\ntwo\nthree\n", "uno\ntwo\nthree\n", "one\ntwo\nTHREE\n"):
        repository.git("checkout", "-q", "--detach", base)
        repository.write("list.txt", text)
        commits.append(repository.commit("Next"))
    for key, value in planted.items():
        if key == "attributes":
            (repository.root / ".git/info").mkdir(exist_ok=True)
            (repository.root / ".git/info/attributes").write_text(value)
        else:
            repository.git("config", key, value.format(mark=mark))
    assert merge(repository, commits[0], commits[1]) == ("list.txt",)
    assert merge(repository, commits[0], commits[2]) == ()
    assert not mark.exists()


def test_a_missing_object_is_not_fetched(repository: TreeRepository, tmp_path: Path) -> None:
    mark, blob = tmp_path / "mark", repository.git("rev-parse", "HEAD:list.txt")
    (repository.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    planted = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": str(repository.root),
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": f"touch {mark}; git-upload-pack",
        "protocol.file.allow": "always",
    }
    for key, value in planted.items():
        repository.git("config", key, value)
    with pytest.raises(GitFailed):
        repository.places.git.data("cat-file", "blob", "HEAD:list.txt")
    assert not mark.exists()
