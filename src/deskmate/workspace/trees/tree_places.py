"""Where the trees of members are, and which repositories can have them.

They are in Deskmate's own folder, outside the repository: no member can reach the tree of another, and nothing that a
member can write is shared. Git's objects are read from the repository and never written there by a member.
"""

import os
import shlex
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from deskmate.core.log.names import known_name
from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.fs.safe_files import NotRegular
from deskmate.workspace.git.repositories import git_folder, is_git_folder, named_by
from deskmate.workspace.paths import resolved, workspace_key
from deskmate.workspace.trees.filters.git_filters import (
    converted_files,
    filter_name,
    filtered_files,
    filters_of,
    foreign_sentence,
)
from deskmate.workspace.trees.git_program import GitProgram, identity_of, missing
from deskmate.workspace.trees.git_settings import GitSettings, settings_text
from deskmate.workspace.trees.pool.tree_pool import TreePool
from deskmate.workspace.trees.pool.tree_remains import has_attributes, take_out
from deskmate.workspace.trees.ref_locks import change_refs
from deskmate.workspace.trees.team_branch import TEAM_REFS
from deskmate.workspace.workspace_files import opened

FOLDER = "trees"
# Names of trees that are being made or removed. No member can have such a name.
_UNFINISHED = ".unfinished-"
# Says which workspace the trees beside it are of: it may be moved or deleted.
_NOTE = ".workspace"
# What git does differently in one repository than in another, as far as files are concerned.
_COPIED = ("core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.precomposeunicode", "core.symlinks")
# The user's list of ignored files that every tree gets a copy of, in the syntax of .gitignore.
INCLUDE = ".worktreeinclude"
_MAX_INCLUDED, _MAX_INCLUDED_BYTES = 1000, 100_000_000
# Files of a tree that a filter has not converted yet. It runs in the sandbox: see `own_tree`.
UNFILTERED = ".git/deskmate-unfiltered"
_UNFILTERED, _AS_STORED = "* -filter\n", "* -text -filter -ident -working-tree-encoding\n"
# With these settings, git writes line ends that it does not store.
_CRLF = frozenset({("core.autocrlf", "true"), ("core.eol", "crlf")})
_CHECK_OUT_SECONDS = 900.0
# By these, git knows that a merge, a rebase or a cherry-pick is not finished.
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


@frozen
class Tree:
    """The tree of a member, as found on disk."""

    team: str
    member: str
    path: Path


class TreePlaces:
    """The trees of one workspace. `state`: the folder of Deskmate's own data.

    `git`: git on the repository. `user_git`: git on the user's checkout of it, which has a HEAD and an index.
    `told`: the reasons against trees that the user has been told.
    """

    def __init__(self, state: Path, workspace: Path, environ: Mapping[str, str]) -> None:
        self.workspace, self.environ, self.told = workspace, environ, set[str]()
        self.folder = state / FOLDER / workspace_key(workspace)
        found = git_folder(workspace)
        self.checkout = found.checkout if found else workspace
        self.repository = found.path if found else workspace
        self.git = GitProgram(self.repository, environ)
        self.pool = TreePool(self.folder)
        self.user_git = GitProgram(self.checkout, environ)

    def refusal(self) -> str:
        """Return why members cannot have trees of their own here. Empty if they can."""
        if why := self.lacks_repository():
            return why
        if (self.workspace / ".gitmodules").exists():
            return "this repository has submodules"
        if under_way := self.under_way():
            return f"a merge or rebase is under way in this repository ({under_way})"
        settings = self.user_git.settings()
        if self._is_of_another_user(settings):
            return (
                "this repository belongs to another user. To allow git to work here, run: "
                f"git config --global --add safe.directory {shlex.quote(str(self.workspace))}"
            )
        if self.git.commit_of("refs/heads/deskmate"):
            return (
                "a branch is named deskmate, so git cannot create branches such as deskmate/main. Rename it: "
                "git branch -m deskmate NEW-NAME"
            )
        return self._lacks_filter(settings) or self._collides(settings)

    def _is_of_another_user(self, settings: GitSettings) -> bool:
        """Tell whether git refuses to work here, as it does inside a sandbox, because of who owns the folders."""
        owners = {os.stat(path).st_uid for path in (self.workspace, self.checkout, self.repository)}
        mine = {os.geteuid()} | ({int(sudo)} if (sudo := self.environ.get("SUDO_UID", "")).isdigit() else set())
        # Git does not look into the repository for this.
        allowed = {one.value for one in settings if one.key == "safe.directory" and one.scope != "local"}
        return bool(owners - mine) and allowed.isdisjoint(("*", str(self.workspace)))

    def _collides(self, settings: GitSettings) -> str:
        """Return which files are one file on this disk. Empty if there are none, as nearly everywhere."""
        if not settings.is_on("core.ignoreCase"):
            return ""
        return collision(self.user_git.data("ls-tree", "-r", "-z", "--full-tree", "HEAD"))

    def _lacks_filter(self, settings: GitSettings) -> str:
        """Return why trees would have the wrong content in files that go through a filter. Empty if they would not."""
        foreign = filters_of(settings).foreign
        files = filtered_files(self.user_git, self.workspace, foreign) if foreign else {}
        return foreign_sentence(files) if files else ""

    def lacks_repository(self) -> str:
        """Return why git cannot merge here at all. Empty if it can."""
        found = git_folder(self.workspace)
        if found is None:
            elsewhere = named_by(self.workspace / ".git")
            if elsewhere and is_git_folder(elsewhere):
                return f"the file .git here names a repository in another folder, {elsewhere}. Work in a clone of it"
            return "this folder is not the top of a git repository"
        if found.path == self.workspace:
            return "this is a bare repository"
        if why := missing(self.environ):
            return why
        return "this repository has no commit yet" if self.user_git.commit_of("HEAD") is None else ""

    def under_way(self) -> str | None:
        """Return the file or folder by which git knows that a merge or rebase is not finished, or None."""
        return next((name for name in _UNDER_WAY if (self.checkout / name).exists()), None)

    def of(self, team: str, member: str) -> Path:
        """Return where the tree of a member is, or will be."""
        return self.folder / known_name(team, "team") / known_name(member)

    def create(self, team: str, member: str, commit: str, sparse: Sequence[str] = ()) -> Path:
        """Return the tree of a member. If there is none, make one at this commit, with some folders of it or all.

        A tree that exists is left as it is: it may have work that is not merged yet.
        """
        place = self.of(team, member)
        if place.is_dir():
            return place
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.folder / _NOTE).write_text(f"{self.workspace}\n", errors="surrogateescape")
        unfinished = place.parent / f"{_UNFINISHED}{member}"
        if not (sparse or unfinished.is_dir()):
            self.pool.take(unfinished)
        # With `sparse` there are few files, which are made faster than compared.
        if os.path.lexists(unfinished) and (sparse or has_attributes(unfinished)):
            self.pool.discard(unfinished)
        unfinished.mkdir(mode=0o700, exist_ok=True)
        unfinished.chmod(0o700)
        listed = self.git.data("ls-tree", "-r", "-z", "--full-tree", commit)
        take_out(os.fsencode(unfinished), listed, self.pool.discard)
        self._fill(unfinished, commit, listed, sparse)
        self._include(unfinished)
        os.rename(unfinished, place)
        return place

    def _include(self, tree: Path) -> None:
        """Copy the ignored files that the user lists. Raises ToolError if they are too many or too large."""
        for name, fd in self.included():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            with open(os.dup(fd), "rb") as source, (tree / name).open("xb") as copy:
                shutil.copyfileobj(source, copy)
            (tree / name).chmod(os.fstat(fd).st_mode & 0o777)

    def included(self) -> Iterator[tuple[str, int]]:
        """Yield the ignored files that the user lists, opened for reading. Links and special files are left out.

        Raises ToolError if they are too many or too large: they would be copied for each member.
        """
        if not (self.workspace / INCLUDE).is_file():
            return
        names = sorted(self._ignored(f"--exclude-from={INCLUDE}") & self._ignored("--exclude-standard"))
        room = _MAX_INCLUDED_BYTES
        for name in names:
            if (self.workspace / name).is_symlink():
                continue
            with suppress(NotRegular), resolved(self.workspace, name) as place, opened(place) as fd:
                room -= os.fstat(fd).st_size
                if room < 0 or len(names) > _MAX_INCLUDED:
                    most = f"{_MAX_INCLUDED:,} files or {_MAX_INCLUDED_BYTES // 1_000_000} MB"
                    raise ToolError(f"{INCLUDE} names more than {most}. Ask the user to shorten it.")
                yield name, fd

    def _ignored(self, by: str) -> set[str]:
        """Return the files of the user that git does not have, and that match the patterns of an option."""
        here = ("-c", "core.bare=false", f"--work-tree={self.workspace}")
        printed = self.user_git.run(*here, "ls-files", "-z", "--others", "--ignored", by, cwd=self.workspace)[1]
        return {name for name in printed.split("\0") if name}

    def ignored(self, names: Collection[str]) -> set[str]:
        """Return those of these new files that git ignores here."""
        # About a name behind a symlink of the user, git does not answer at all.
        folders = {name: str((self.workspace / name).parent) for name in sorted(names)}
        asked = [name for name, folder in folders.items() if os.path.realpath(folder) == folder]
        if not asked:
            return set()
        here = ("-c", "core.bare=false", f"--work-tree={self.workspace}")
        words = ("check-ignore", "--no-index", "-z", "--stdin")
        printed = self.user_git.run(*here, *words, text="\0".join(asked), fails=(1,), cwd=self.workspace)[1]
        return {name for name in printed.split("\0") if name}

    def _fill(self, tree: Path, commit: str, listed: bytes, sparse: Sequence[str]) -> None:
        git, settings = self._new_repository(tree), self._settings()
        # What git found out about this disk.
        found = git.settings()
        if found.is_on("core.ignoreCase") and (why := collision(listed)):
            raise ToolError(f"The tree cannot be made: {why}")
        every = {one.key: one.value for one in found if one.scope == "local"} | settings
        (tree / ".git/config").write_text(settings_text(every), errors="surrogateescape")
        here = ("-c", "core.bare=false", f"--work-tree={tree}")
        attributes = tree / ".git/info/attributes"
        if sparse:
            git.run(*here, "sparse-checkout", "set", "--cone", *sparse, cwd=tree)
        else:
            git.run(*here, "read-tree", commit)
            if len(os.listdir(tree)) > 1 and not _CRLF.intersection(settings.items()):
                # Of what the last member left, git keeps the files that are byte by byte as it stores them.
                attributes.write_text(_AS_STORED)
                git.run(*here, "update-index", "-q", "--refresh", fails=(1,), seconds=_CHECK_OUT_SECONDS, cwd=tree)
                attributes.unlink()
                for name in converted_files(git, tree):
                    (tree / name).unlink(missing_ok=True)
        # Filters are programs. They run in the sandbox of the member, before it begins.
        attributes.write_text(_UNFILTERED)
        git.run(*here, "checkout", "--quiet", "--force", "--detach", commit, seconds=_CHECK_OUT_SECONDS)
        attributes.unlink()
        if names := {filter_name(key) for key in settings if key.startswith("filter.")}:
            # A tree with some folders has only the files there.
            files = [name for name in filtered_files(git, tree, names) if os.path.lexists(tree / name)]
            if files:
                (tree / UNFILTERED).write_bytes(b"".join(os.fsencode(name) + b"\0" for name in files))

    def _new_repository(self, tree: Path) -> GitProgram:
        (tree / ".git").mkdir()
        git = GitProgram(tree / ".git", self.environ)
        format_ = self.git.line("rev-parse", "--show-object-format")
        # Not by `clone`: that would copy every branch and tag, and nobody needs them here.
        git.run("init", "--quiet", "--template=", f"--object-format={format_}")
        (tree / ".git/objects/info/alternates").write_bytes(_quoted(self.repository / "objects") + b"\n")
        (tree / ".git/info").mkdir(exist_ok=True)
        (tree / ".git/info/exclude").write_text("/.teams/\n/.tasks/\n")
        if (self.repository / "shallow").exists():
            shutil.copyfile(self.repository / "shallow", tree / ".git/shallow")
        return git

    def _settings(self) -> dict[str, str]:
        """Return the settings of git in every tree."""
        found = self.git.settings()
        identity = identity_of(found)
        settings = {"user.name": identity["GIT_AUTHOR_NAME"], "user.email": identity["GIT_AUTHOR_EMAIL"]}
        settings |= {"remote.origin.url": str(self.repository), "gc.auto": "0", "core.bare": "false"}
        settings |= {key: value for key in _COPIED if (value := found.last(key))}
        # Those that the user has for this folder only would not apply in another one.
        return settings | filters_of(self.user_git.settings()).users

    def trees(self) -> Iterator[Tree]:
        """Yield every tree of this workspace."""
        for team in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            for place in sorted(team.iterdir()) if team.is_dir() and not self.pool.owns(team) else ():
                if not place.name.startswith(_UNFINISHED):
                    yield Tree(team.name, place.name, place)

    def unfinished(self) -> Iterator[Path]:
        """Yield what is left of trees that were not completely made."""
        for team in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            if not self.pool.owns(team):
                yield from sorted(team.glob(f"{_UNFINISHED}*"))

    def refs_without_tree(self, team: str) -> list[str]:
        """Return the refs that keep commits for trees of a team which are not there."""
        where = f"{TEAM_REFS}/{known_name(team, 'team')}"
        # Offers stay: the merge queue may have to merge them yet.
        names = self.git.run("for-each-ref", "--format=%(refname)", f"{where}/trees/", f"{where}/heads/")[1]
        return [name for name in names.splitlines() if not self.of(team, name.rpartition("/")[2]).is_dir()]

    def forget(self, refs: Iterable[str]) -> None:
        """Delete refs."""
        for name in refs:
            change_refs(self.git, "-d", name)

    def gone_workspaces(self) -> list[tuple[str, Path]]:
        """Return the workspaces that no longer exist and that have trees, with the folder of these."""
        found = list[tuple[str, Path]]()
        for note in sorted(self.folder.parent.glob(f"*/{_NOTE}")):
            with suppress(OSError):
                workspace = note.read_text(errors="surrogateescape").rstrip("\n")
                if not os.path.lexists(workspace):
                    found.append((workspace, note.parent))
        return found

    def teams_with_refs(self) -> list[str]:
        """Return the teams for which git keeps commits in this repository."""
        names = self.git.run("for-each-ref", "--format=%(refname)", f"{TEAM_REFS}/")[1].splitlines()
        return sorted({name.removeprefix(f"{TEAM_REFS}/").split("/")[0] for name in names})

    def let_go(self, team: str, below: str = "") -> None:
        """Delete the refs that keep commits of a team, all of them or those below a name."""
        where = f"{TEAM_REFS}/{known_name(team, 'team')}/{below}"
        self.forget(self.git.run("for-each-ref", "--format=%(refname)", where)[1].splitlines())

    def let_go_of(self, tree: Tree) -> None:
        """Delete the refs that keep commits for one tree."""
        for kind in ("trees", "offers", "heads"):
            self.let_go(tree.team, f"{kind}/{tree.member}")

    def remove_unfinished(self, team: str) -> int:
        """Remove trees that were not completely made, and the team's folder if it is empty. Return how many there were.

        Call it only while no process runs the team.
        """
        folder = self.folder / known_name(team, "team")
        found = list(folder.glob(f"{_UNFINISHED}*"))
        for place in found:
            self.pool.discard(place)
        with suppress(OSError):
            folder.rmdir()
        return len(found)

    def renew(self, tree: Tree) -> None:
        """Let the next `create` make a tree again, from what is in it."""
        os.rename(tree.path, tree.path.parent / f"{_UNFINISHED}{tree.member}")


def collision(listed: bytes) -> str:
    """Return which files of a commit differ only in case. `listed`: as `git ls-tree -r -z` prints it."""
    seen = dict[str, str]()
    for line in listed.split(b"\0"):
        name = line.partition(b"\t")[2].decode(errors="replace")
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            return f"{other} and {name} are one file on this disk. Rename one of them"
    return ""


def _quoted(path: Path) -> bytes:
    """Return a path as git reads it from its list of alternates, where each has one line."""
    name = os.fsencode(path)
    if b"\n" not in name and not name.startswith((b'"', b"#")):
        return name
    return b'"' + name.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
