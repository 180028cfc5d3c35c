"""Code gets to machines without the repository and back, over the store alone."""

import base64
import errno
import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deskmate.core.log.names import CODE
from deskmate.core.log.records import Record
from deskmate.errors import ToolError
from deskmate.ports import Store
from deskmate.stores.engines.engine_table import engine_of
from deskmate.stores.memory_store import MemoryStore
from tests.app.travel.travel_desk import Host, LeadMachine, complete, found, git
from tests.servers.nats_nodes import nats_server, nats_url
from tests.servers.postgres import postgres_server, postgres_url

__all__ = ["nats_server", "nats_url", "postgres_server", "postgres_url"]
pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("travel")]


@pytest.fixture(params=["memory", "files", "postgres", "nats"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A team in each kind of store."""
    if request.param == "memory":
        yield MemoryStore()
        return
    url = None if request.param == "files" else str(request.getfixturevalue(f"{request.param}_url"))
    place = tmp_path / "shared"
    place.mkdir()
    engine = engine_of(url, place)
    with closing(engine), closing(engine.open("main", create=True)) as opened:
        yield opened


async def test_two_machines_get_the_code_and_their_work_comes_back(store: Store, tmp_path: Path) -> None:
    await found(store, "ann", "bob")
    lead = LeadMachine(tmp_path / "lead", store)
    (lead.root / "draft.txt").write_text("not committed\n")
    one, two = Host(tmp_path / "one", store), Host(tmp_path / "two", store)
    async with lead.running():
        anns, ann = await one.tree("ann")
        bobs, bob = await two.tree("bob")
        assert (anns / "draft.txt").read_text() == "not committed\n"
        assert (bobs / "shared.txt").read_text() == (lead.root / "shared.txt").read_text()
        (anns / "ann.txt").write_text("ann\n")
        (bobs / "bob.txt").write_text("bob\n")
        done = await complete(one, "ann", ann)
        assert (await complete(two, "bob", bob)).merged
        assert done.merged
        assert (bobs / "ann.txt").read_text() == "ann\n", "its tree moved to the merge"
    assert {"ann.txt", "bob.txt", "draft.txt", "shared.txt"} <= lead.files().keys()
    assert git(lead.root, "status", "--porcelain", "--", "*.txt") == "?? draft.txt"


async def test_a_conflict_comes_back_with_its_markers_and_can_be_resolved(tmp_path: Path) -> None:
    store = MemoryStore()
    await found(store, "ann", "bob")
    lead = LeadMachine(tmp_path / "lead", store)
    one, two = Host(tmp_path / "one", store), Host(tmp_path / "two", store)
    async with lead.running():
        anns, ann = await one.tree("ann")
        bobs, bob = await two.tree("bob")
        for root, name in ((anns, "ann"), (bobs, "bob")):
            text = (root / "shared.txt").read_text()
            (root / "shared.txt").write_text(text.replace("line 3\n", f"line 3 of {name}\n"))
        assert (await complete(one, "ann", ann)).merged
        task = await complete(two, "bob", bob)
        assert "shared.txt" in (task.returned or "")
        text = (bobs / "shared.txt").read_text()
        assert "<<<<<<<" in text
        assert "line 3 of ann" in text
        (bobs / "shared.txt").write_text(
            text.partition("<<<<<<<")[0] + "line 3 of both\n" + text.rpartition("line 4")[2]
        )
        assert (await complete(two, "bob", bob, task=task)).merged
    assert "line 3 of both" in lead.files()["shared.txt"]


async def test_a_check_that_fails_on_the_merged_files_comes_back(tmp_path: Path) -> None:
    store = MemoryStore()
    await found(store, "ann")
    lead, host = LeadMachine(tmp_path / "lead", store), Host(tmp_path / "one", store)
    async with lead.running(check="test ! -e bad.txt"):
        root, tree = await host.tree("ann")
        (root / "bad.txt").write_text("bad\n")
        task = await complete(host, "ann", tree)
        assert "check" in (task.returned or "")
        (root / "bad.txt").unlink()
        (root / "good.txt").write_text("good\n")
        assert (await complete(host, "ann", tree, task=task)).merged
    assert "bad.txt" not in lead.files()


def sizes(store: MemoryStore, prefix: str) -> int:
    return sum(len(records) for name, records in store._streams.items() if name.startswith(prefix))


async def test_machines_with_the_same_base_do_not_make_it_travel_twice(tmp_path: Path) -> None:
    store = MemoryStore()
    await found(store, "ann", "bob", "carol")
    lead = LeadMachine(tmp_path / "lead", store)
    one, two = Host(tmp_path / "one", store), Host(tmp_path / "two", store)
    async with lead.running():
        await one.tree("ann")
        sent = sizes(store, "chunks/")
        await two.tree("bob")
        await two.tree("carol")
    assert sizes(store, "chunks/") == sent == 1


async def test_a_machine_that_has_the_code_of_an_earlier_team_gets_only_what_is_new(tmp_path: Path) -> None:
    first, second = MemoryStore(), MemoryStore()
    for store in (first, second):
        await found(store, "ann")
    lead, host = LeadMachine(tmp_path / "lead", first), Host(tmp_path / "one", first)
    (lead.root / "large.bin").write_bytes(bytes(i * 7919 % 251 for i in range(200_000)))
    git(lead.root, "add", "-A")
    git(lead.root, "commit", "-qm", "Large")
    async with lead.running():
        await host.tree("ann")
    (lead.root / "small.txt").write_text("small\n")
    git(lead.root, "add", "-A")
    git(lead.root, "commit", "-qm", "Small")
    git(lead.root, "branch", "-D", "deskmate/main")
    later, there = LeadMachine(tmp_path / "lead", second), Host(tmp_path / "one", second)
    # The trees of the first team are gone, its commits are not.
    async with later.running():
        git(there.clone(), "update-ref", "-d", "refs/deskmate/teams/main/trees/ann")
        for tree in (tmp_path / "one/state/trees").glob("*/main/ann"):
            tree.rename(tmp_path / "old")
        root, _ = await there.tree("ann")
    assert (root / "small.txt").read_text() == "small\n"
    sent = [record.body for record in await second.read(CODE) if isinstance(record, Record)]
    [bundle] = [body for body in sent if body["type"] == "bundle_sent"]
    assert bundle["needs"] == [git(lead.root, "rev-parse", "trunk~1")]
    assert bundle["payload"]["size"] < 1000  # type: ignore[index]


async def test_only_listed_ignored_files_travel(tmp_path: Path) -> None:
    store = MemoryStore()
    await found(store, "ann", "bob")
    lead, host = LeadMachine(tmp_path / "lead", store), Host(tmp_path / "one", store)
    (lead.root / "db.secret").write_text("password\n")
    (lead.root / "other.secret").write_text("never\n")
    (lead.root / "build").mkdir()
    (lead.root / "build/run.sh").write_text("#!/bin/sh\n")
    (lead.root / "build/run.sh").chmod(0o755)
    (lead.root / ".worktreeinclude").write_text("db.secret\n/build/run.sh\n")
    async with lead.running():
        root, _ = await host.tree("ann")
        assert (root / "db.secret").read_text() == "password\n"
        assert (root / "build/run.sh").stat().st_mode & 0o777 == 0o755
        assert not (root / "other.secret").exists()
        assert git(root, "status", "--porcelain") == ""
        everything = b"".join(path.read_bytes() for path in host.folder.rglob("*") if path.is_file())
        assert b"never\n" not in everything
        (lead.root / ".worktreeinclude").unlink()
        other, _ = await host.tree("bob")
        assert not (other / "db.secret").exists()
    assert "db.secret" not in lead.files()


async def test_work_that_was_returned_is_there_after_a_move_to_another_machine(tmp_path: Path) -> None:
    store = MemoryStore()
    await found(store, "ann")
    lead = LeadMachine(tmp_path / "lead", store)
    one, two = Host(tmp_path / "one", store), Host(tmp_path / "two", store)
    async with lead.running(check="test ! -e bad.txt"):
        root, tree = await one.tree("ann")
        (root / "bad.txt").write_text("bad\n")
        (root / "good.txt").write_text("good\n")
        task = await complete(one, "ann", tree)
        assert task.returned
        moved, tree = await two.tree("ann")
        assert (moved / "good.txt").read_text() == "good\n"
        (moved / "bad.txt").unlink()
        assert (await complete(two, "ann", tree, task=task)).merged
    assert "good.txt" in lead.files()


async def test_a_teammate_on_the_machine_of_the_lead_works_beside_one_elsewhere(tmp_path: Path) -> None:
    store = MemoryStore()
    await found(store, "ann", "bob")
    lead, host = LeadMachine(tmp_path / "lead", store), Host(tmp_path / "one", store)
    async with lead.running():
        root, tree = await host.tree("ann")
        await lead.trees.make("bob", lead.workspace())
        workspace, local = lead.trees.of("bob")
        (Path(workspace.root) / "bob.txt").write_text("bob\n")
        (root / "ann.txt").write_text("ann\n")
        here = Host(tmp_path / "unused", store)
        assert (await complete(here, "bob", local)).merged
        assert (await complete(host, "ann", tree)).merged
        assert (root / "bob.txt").exists()
    assert {"ann.txt", "bob.txt"} <= lead.files().keys()


async def test_a_repository_that_cannot_be_sent_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore()
    await found(store, "ann")
    lead, host = LeadMachine(tmp_path / "lead", store), Host(tmp_path / "one", store)
    monkeypatch.setattr("deskmate.workspace.trees.travel.code_bundles.MOST_SENT", 100)
    async with lead.running():
        with pytest.raises(ToolError, match="at most"):
            await host.tree("ann")
        monkeypatch.undo()
        root, _ = await host.tree("ann")
    assert (root / "shared.txt").exists()


async def test_returned_work_moves_with_its_member_to_the_machine_of_the_lead_and_away_again(tmp_path: Path) -> None:
    store = MemoryStore()
    await found(store, "ann")
    lead = LeadMachine(tmp_path / "lead", store)
    one, two = Host(tmp_path / "one", store), Host(tmp_path / "two", store)
    async with lead.running(check="test ! -e bad.txt"):
        root, tree = await one.tree("ann")
        (root / "bad.txt").write_text("bad\n")
        task = await complete(one, "ann", tree)
        await lead.trees.make("ann", lead.workspace())
        workspace, local = lead.trees.of("ann")
        assert (Path(workspace.root) / "bad.txt").exists()
        (Path(workspace.root) / "second.txt").write_text("second\n")
        task = await complete(one, "ann", local, task=task)
        assert "check" in (task.returned or "")
        moved, tree = await two.tree("ann")
        assert (moved / "second.txt").exists()
        (moved / "third.txt").write_text("third\n")
        task = await complete(two, "ann", tree, task=task)
        # The tree that it left on the first machine is still there.
        back, tree = await one.tree("ann")
        assert (back, (back / "third.txt").exists()) == (root, True)
        (back / "bad.txt").unlink()
        assert (await complete(one, "ann", tree, task=task)).merged
    assert {"second.txt", "third.txt"} <= lead.files().keys()
    assert not list((tmp_path / "lead/state/travel").rglob("*.tar"))


async def test_a_full_disk_is_the_reason_that_a_member_reads_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore()
    await found(store, "ann")
    lead, host = LeadMachine(tmp_path / "lead", store), Host(tmp_path / "one", store)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async with lead.running():
        monkeypatch.setattr("deskmate.workspace.trees.travel.code_bundles.CodeBundles._write", full)
        with pytest.raises(ToolError, match="No space left"):
            await host.tree("ann")
        monkeypatch.undo()
        root, tree = await host.tree("ann")
        (root / "ann.txt").write_text("ann\n")
        assert (await complete(host, "ann", tree)).merged


async def test_large_files_whose_content_would_stay_behind_are_refused(tmp_path: Path) -> None:
    store = MemoryStore()
    await found(store, "ann")
    lead, host = LeadMachine(tmp_path / "lead", store), Host(tmp_path / "one", store)
    content = b"large\n" * 100
    oid = hashlib.sha256(content).hexdigest()
    async with lead.running():
        root, tree = await host.tree("ann")
        kept = root / f".git/lfs/objects/{oid[:2]}/{oid[2:4]}/{oid}"
        kept.parent.mkdir(parents=True)
        kept.write_bytes(content)
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"
        (root / "large.bin").write_text(pointer)
        with pytest.raises(ToolError, match="Git LFS"):
            await tree.offer("Large\n")
        git(root, "reset", "-q", "--soft", "HEAD~1")
        git(root, "rm", "-q", "-f", "large.bin")
        (root / "small.txt").write_text("small\n")
        assert (await complete(host, "ann", tree)).merged
    assert "large.bin" not in lead.files()


async def test_stock_git_understands_what_was_sent(tmp_path: Path) -> None:
    store = MemoryStore()
    await found(store, "ann")
    lead, host = LeadMachine(tmp_path / "lead", store), Host(tmp_path / "one", store)
    async with lead.running():
        await host.tree("ann")
    [(_, [chunk])] = [(name, items) for name, items in store._streams.items() if name.startswith("chunks/")]
    (tmp_path / "code.bundle").write_bytes(base64.b64decode(str(chunk.body["data"])))
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "bundle", "verify", "-q", str(tmp_path / "code.bundle"))
    git(other, "fetch", "-q", str(tmp_path / "code.bundle"), "refs/deskmate/travel:refs/heads/sent")
    assert git(other, "rev-parse", "sent") == git(lead.root, "rev-parse", "deskmate/main")
