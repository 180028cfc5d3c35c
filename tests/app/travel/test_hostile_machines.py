"""What a machine that somebody took over can send to the lead, and what becomes of it."""

import hashlib
import os
import subprocess
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from deskmate.core.log.names import chunks_of, code_of
from deskmate.core.travel.bundle_header import REF, header_bytes
from deskmate.core.travel.code_records import BundleSent, Payload
from deskmate.core.travel.payload_chunks import START, chunk_of
from deskmate.errors import ToolError
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import FakeClock
from tests.app.travel.travel_desk import Host, LeadMachine, complete, found, git

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("travel-safe")]


class Attack:
    """A machine that has the code of the team and writes to the store what it likes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, MemoryStore()
        self.lead = LeadMachine(folder / "lead", self.store)
        self.tree, self.tip = Path(), ""

    async def begin(self) -> "Attack":
        await found(self.store, "ann", "bob")
        host = Host(self.folder / "one", self.store)
        async with self.lead.running():
            self.tree, _ = await host.tree("ann")
        self.tip = git(self.lead.root, "rev-parse", "deskmate/main")
        return self

    def commit(self, name: str = "evil.txt", *, mode: str = "100644", content: str = "evil\n", parent: str = "") -> str:
        """Return a commit of the tree that adds an entry to its files, with a name that git itself would refuse."""
        blob = git(self.tree, "hash-object", "-w", "--stdin", text=content)
        listed = git(self.tree, "ls-tree", self.tip) + f"\n{mode} blob {blob}\t{name}\n"
        made = git(self.tree, "mktree", text=listed)
        return git(self.tree, "commit-tree", made, "-p", parent or self.tip, "-m", "Evil")

    def pack(self, commit: str, *without: str) -> bytes:
        """Return the pack with a commit."""
        revisions = "".join(f"{line}\n" for line in (commit, *(f"^{one}" for one in without)))
        path = self.folder / "pack"
        with path.open("wb") as file:
            words = ["git", "-C", str(self.tree), "pack-objects", "-q", "--revs", "--stdout"]
            subprocess.run(words, input=revisions.encode(), stdout=file, check=True)
        return path.read_bytes()

    async def send(self, data: bytes, tip: str, *needs: str, member: str = "ann", size: int = 0, sha: str = "") -> None:
        """Send a file, and say which commit it has."""
        payload = Payload(sha256=sha or hashlib.sha256(data).hexdigest(), size=size or len(data))
        writer = LogWriter(self.store, FakeClock())
        await writer.append(chunks_of(payload.sha256, 0), chunk_of(START, data, more=False).body(), as_is=True)
        sent = BundleSent(tip=tip, needs=needs, payload=payload, at=0.0)
        await writer.append(code_of(member), sent.body())

    async def is_refused(self, commit: str, member: str = "ann") -> str:
        """Let the queue take the commit. Return why it does not, after a check that nothing of the user changed."""
        before = self.seen()
        with pytest.raises(ToolError) as error:
            await self.lead.code().bring(member, commit)
        assert self.seen() == before
        return str(error.value)

    def seen(self) -> dict[str, bytes]:
        """Return every file on the machine of the lead but those on their way."""
        files = [path for path in (self.folder / "lead").rglob("*") if path.is_file() or path.is_symlink()]
        kept = {str(path): path.read_bytes() for path in files if "travel" not in path.parts}
        return kept | {"refs": git(self.lead.root, "for-each-ref").encode()}


@pytest.fixture
async def attack(tmp_path: Path) -> Attack:
    return await Attack(tmp_path).begin()


async def test_honest_work_is_kept_under_the_name_of_its_member_alone(attack: Attack) -> None:
    commit = attack.commit()
    refs = set(git(attack.lead.root, "for-each-ref", "--format=%(refname)").splitlines())
    await attack.send(header_bytes(commit, [attack.tip]) + attack.pack(commit, attack.tip), commit, attack.tip)
    await attack.lead.code().bring("ann", commit)
    after = set(git(attack.lead.root, "for-each-ref", "--format=%(refname)").splitlines())
    assert after - refs == {"refs/deskmate/teams/main/offers/ann"}
    assert git(attack.lead.root, "rev-parse", "deskmate/main") == attack.tip, "only the queue moves the branch"


@pytest.mark.parametrize(
    "lines",
    [
        ["{commit} refs/heads/trunk"],
        ["{commit} refs/heads/deskmate/main"],
        ["{commit} refs/deskmate/teams/main/offers/bob"],
        ["{commit} ../../../../tmp/x"],
        ["{commit} -o/--upload-pack=touch x"],
        ["{commit} {ref}", "{commit} refs/heads/trunk"],
        ["{commit} HEAD"],
    ],
)
async def test_no_ref_that_a_bundle_names_is_used(attack: Attack, lines: Sequence[str]) -> None:
    commit = attack.commit()
    named = "".join(line.format(commit=commit, ref=REF) + "\n" for line in (f"-{attack.tip}", *lines))
    await attack.send(f"# v2 git bundle\n{named}\n".encode() + attack.pack(commit, attack.tip), commit, attack.tip)
    await attack.is_refused(commit)


@pytest.mark.parametrize("name", [".git", ".GIT", ".git ", "..", ".", ".g\u200cit", "git~1"])
async def test_a_path_that_leads_out_of_a_tree_is_refused(attack: Attack, name: str) -> None:
    commit = attack.commit(name)
    await attack.send(header_bytes(commit, [attack.tip]) + attack.pack(commit, attack.tip), commit, attack.tip)
    assert "failed" in await attack.is_refused(commit)


async def test_a_list_of_submodules_that_runs_a_command_is_refused(attack: Attack) -> None:
    commit = attack.commit(".gitmodules", content='[submodule "x"]\n\turl = --upload-pack=touch\n\tpath = x\n')
    await attack.send(header_bytes(commit, [attack.tip]) + attack.pack(commit, attack.tip), commit, attack.tip)
    await attack.is_refused(commit)


async def test_a_pack_that_claims_very_many_objects_is_refused_before_git_reads_it(attack: Attack) -> None:
    commit = attack.commit()
    pack = bytearray(attack.pack(commit, attack.tip))
    pack[8:12] = b"\x7f\xff\xff\xff"
    await attack.send(header_bytes(commit, [attack.tip]) + bytes(pack), commit, attack.tip)
    assert "objects" in await attack.is_refused(commit)


async def test_a_small_pack_with_enormous_files_is_refused(attack: Attack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deskmate.workspace.trees.travel.taken_pack.MAX_PACK", 1_000_000)
    commit = attack.commit(content="0" * 1_500_000)
    pack = attack.pack(commit, attack.tip)
    assert len(pack) < 20_000
    await attack.send(header_bytes(commit, [attack.tip]) + pack, commit, attack.tip)
    assert "MB" in await attack.is_refused(commit)


def bare(text: str) -> tuple[str, bytes]:
    """Return a commit that no git has made, and a pack with it alone."""
    body = text.encode()
    commit = hashlib.sha1(b"commit %d\0" % len(body) + body, usedforsecurity=False).hexdigest()
    pack = b"PACK\0\0\0\2\0\0\0\1" + bytes([0x90 | len(body) & 15, len(body) >> 4]) + zlib.compress(body)
    return commit, pack + hashlib.sha1(pack, usedforsecurity=False).digest()


def commit_text(tree: str, parent: str) -> str:
    return f"tree {tree}\nparent {parent}\nauthor A <a@b.c> 1 +0000\ncommitter A <a@b.c> 1 +0000\n\nEvil\n"


async def test_a_pack_without_all_of_its_objects_is_refused_each_time(attack: Attack) -> None:
    commit, pack = bare(commit_text("1" * 40, attack.tip))
    await attack.send(header_bytes(commit, [attack.tip]) + pack, commit, attack.tip)
    first = await attack.is_refused(commit)
    assert "failed" in first
    assert await attack.is_refused(commit) == first, "nothing of the first attempt is left"


@pytest.mark.parametrize(
    ("uses", "needs", "why"),
    [("parent", "private", "never sent"), ("parent", "tip", "lacks"), ("tree", "tip", "lacks")],
)
async def test_a_commit_of_the_user_that_was_never_sent_cannot_be_drawn_in_by_its_name(
    attack: Attack, uses: str, needs: str, why: str
) -> None:
    root = attack.lead.root
    git(root, "checkout", "-q", "-b", "private")
    (root / "private.txt").write_text("private\n")
    git(root, "add", "private.txt")
    git(root, "commit", "-qm", "Private")
    private, tree = git(root, "rev-parse", "private"), git(root, "rev-parse", "private^{tree}")
    git(root, "checkout", "-q", "trunk")
    assert "has not sent" in await attack.is_refused(private)
    own = git(root, "rev-parse", "trunk^{tree}")
    commit, pack = bare(commit_text(own, private) if uses == "parent" else commit_text(tree, attack.tip))
    needed = private if needs == "private" else attack.tip
    await attack.send(header_bytes(commit, [needed]) + pack, commit, needed)
    assert why in await attack.is_refused(commit)


async def test_a_file_of_the_user_cannot_be_drawn_in_as_the_base_of_a_delta(attack: Attack) -> None:
    """Git can add the base of a delta to a pack. Then the pack would have a file that was never sent."""
    secret = git(attack.lead.root, "hash-object", "-w", "--stdin", text="secret\n")
    own = b"x\n"
    blob = hashlib.sha1(b"blob 2\0" + own, usedforsecurity=False).hexdigest()
    files = b"100644 secret.txt\0" + bytes.fromhex(secret) + b"100644 x.txt\0" + bytes.fromhex(blob)
    tree = hashlib.sha1(b"tree %d\0" % len(files) + files, usedforsecurity=False).hexdigest()
    text = commit_text(tree, attack.tip).encode()
    commit = hashlib.sha1(b"commit %d\0" % len(text) + text, usedforsecurity=False).hexdigest()
    # From 7 bytes of the base to 2 bytes, which the delta itself has.
    delta = bytes([7, 2, 2]) + own
    objects = [
        bytes([0x90 | len(text) & 15, len(text) >> 4]) + zlib.compress(text),
        bytes([0xA0 | len(files) & 15, len(files) >> 4]) + zlib.compress(files),
        bytes([0x70 | len(delta)]) + bytes.fromhex(secret) + zlib.compress(delta),
    ]
    pack = b"PACK\0\0\0\2\0\0\0\3" + b"".join(objects)
    data = header_bytes(commit, [attack.tip]) + pack + hashlib.sha1(pack, usedforsecurity=False).digest()
    await attack.send(data, commit, attack.tip)
    assert "unresolved delta" in await attack.is_refused(commit)


async def test_bytes_that_are_not_what_their_hash_says_are_refused(attack: Attack) -> None:
    commit = attack.commit()
    data = header_bytes(commit, [attack.tip]) + attack.pack(commit, attack.tip)
    await attack.send(data, commit, attack.tip, sha="0" * 64)
    assert "SHA-256" in await attack.is_refused(commit)
    assert not list((attack.folder / "lead/state/travel").rglob("0" * 64 + "*"))


async def test_a_file_that_says_it_is_enormous_is_not_received(attack: Attack) -> None:
    commit = attack.commit()
    data = header_bytes(commit, [attack.tip]) + attack.pack(commit, attack.tip)
    await attack.send(data, commit, attack.tip, size=10**15)
    assert "more than" in await attack.is_refused(commit)


@pytest.mark.parametrize("commit", ["--output=/tmp/x", "HEAD", "refs/heads/trunk", "a" * 40 + "\n" + "b" * 40, "../x"])
async def test_an_offer_that_is_not_a_commit_is_refused(attack: Attack, commit: str) -> None:
    assert "not a commit" in await attack.is_refused(commit)


async def test_a_member_cannot_offer_what_another_one_sent(attack: Attack) -> None:
    commit = attack.commit()
    data = header_bytes(commit, [attack.tip]) + attack.pack(commit, attack.tip)
    await attack.send(data, commit, attack.tip, member="ann")
    other = attack.commit("bob.txt")
    await attack.send(
        header_bytes(other, [attack.tip]) + attack.pack(other, attack.tip), other, attack.tip, member="bob"
    )
    assert "has not sent" in await attack.is_refused(commit, "bob")


async def test_no_hook_of_the_repository_runs_when_work_comes_in(attack: Attack, tmp_path: Path) -> None:
    hooks = attack.lead.root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "reference-transaction", "pre-receive", "update", "post-update", "post-merge"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (hooks / name).chmod(0o755)
    host = Host(attack.folder / "one", attack.store)
    async with attack.lead.running():
        root, tree = await host.tree("ann")
        (root / "ann.txt").write_text("ann\n")
        assert (await complete(host, "ann", tree)).merged
    assert not os.path.exists(tmp_path / "ran")
