"""Escapes: what a command may try to get out of its workspace, each judged from outside by what came of it."""

import base64
import hashlib
import os
import signal
import stat
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.workspace.escapes.escape_ground import CANARY, PWNED, Ground
from tests.workspace.git.git_indexes import Item, index_of

Judge = Callable[[Ground], bool]

# Two forks, a session of its own, nothing in its environment: nobody's child, in nobody's group, without a mark.
DAEMON = (
    "import os, sys, time\n"
    "if len(sys.argv) > 2: os.execve(sys.executable, [sys.executable, *sys.argv[:2]], {})\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "null = os.open('/dev/null', os.O_RDWR)\n"
    "for fd in (0, 1, 2): os.dup2(null, fd)\n"
    "time.sleep(600)\n"
)
HOSTILE = "[core]\n\tfsmonitor = echo pwned > <outside>/ran\n\thooksPath = <workspace>/src\n"
CALL = "import socket, sys; s = socket.socket(socket.AF_{}); s.connect({}); s.send(b'pwned'); s.recv(1)"
PTRACE = (
    "import ctypes, os; c = ctypes.CDLL(None); ok = c.ptrace(16, <sleeper>, 0, 0) == 0\n"
    "ok and (os.waitpid(<sleeper>, 0x40000000), c.ptrace(17, <sleeper>, 0, 0), open('loot', 'w').write('<canary>'))"
)
MEMORY = (
    "p = '/proc/<sleeper>/'; stack = [x for x in open(p + 'maps') if '[stack]' in x][0].split()[0]\n"
    "a, b = (int(x, 16) for x in stack.split('-')); m = open(p + 'mem', 'rb'); m.seek(a)\n"
    "open('loot', 'wb').write(m.read(b - a))"
)
HANDLE = (
    "import ctypes, os; c = ctypes.CDLL(None); h = ctypes.create_string_buffer(136); h[0] = bytes([128])\n"
    "c.name_to_handle_at(-100, b'<outside>/victim', h, ctypes.byref(ctypes.c_int()), 0)\n"
    "os.write(c.open_by_handle_at(os.open('.', 0), h, 1), b'pwned')"
)
IN_MEMORY = (
    "import os; f = os.memfd_create('x', 0); os.write(f, b'#!/bin/sh' + bytes([10]))\n"
    "os.write(f, b'echo pwned > <outside>/victim'); os.execv(f'/proc/self/fd/{f}', ['x'])"
)
RING = "import ctypes; ctypes.CDLL(None).syscall(425, 8, bytes(120)) >= 0 and open('loot', 'w').write('<canary>')"
REMEMBERED = "printf 'protocol=https\\nhost=example.org\\n\\n' | GIT_TERMINAL_PROMPT=0 git credential fill > loot"
VSOCK = "import socket; socket.socket(40, 1); open('loot', 'w').write('<canary>')"
UEVENT = "import socket; socket.socket(16, 3, 15); open('loot', 'w').write('<canary>')"
SENT = "import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'pwned', '<datagrams>')"
BY_HANDLE = (
    "import os, socket; f = os.open('<at_home>', os.O_PATH); s = socket.socket(socket.AF_UNIX)\n"
    "s.connect(f'/proc/self/fd/{f}'); s.send(b'pwned'); s.recv(1)"
)
TAKEN = (
    "import ctypes; c = ctypes.CDLL(None); p = c.syscall(434, <sleeper>, 0); n = c.syscall(438, p, 1, 0)\n"
    "n >= 0 and open('loot', 'w').write('<canary>')"
)
TYPED = (
    "import fcntl, termios; fcntl.ioctl(open('/dev/tty'), termios.TIOCSTI, b'x'); open('loot', 'w').write('<canary>')"
)


@dataclass(frozen=True)
class Attempt:
    """One way out. `before` prepares the ground; `wild`: too dangerous to try without a sandbox."""

    name: str
    command: str
    won: Judge
    before: Callable[[Ground], None] = lambda _: None
    wild: bool = False


def victim(ground: Ground) -> bool:
    """Something outside was changed, or is gone."""
    return ground.text("outside/victim") != "mine\n"


def loot(ground: Ground) -> bool:
    """Something secret was brought into the workspace."""
    return CANARY in ground.text("ws/loot")


def ran(ground: Ground) -> bool:
    """Somebody outside ran what the command had left for them."""
    for folder in ("ws", "other"):
        ground.git(folder, "status")
        ground.git(folder, "commit", "-qm", "later", "--allow-empty")
    return (ground.outside / "ran").exists()


def led_out(ground: Ground) -> bool:
    """The user's own git wrote to a place outside, or waits at something, or a link is left for it to follow."""
    # A folder keeps the mode that it had: this one looks into all of them.
    subprocess.run(["chmod", "-R", "u+rwx", ground.workspace / ".git"], check=True)
    # By a program: some lie deeper than a path can tell.
    words = ["find", str(ground.workspace / ".git"), "-not", "-type", "f", "-not", "-type", "d"]
    left = subprocess.run(words, capture_output=True, check=True).stdout
    for folder in ("ws", "other"):
        for line in (("commit", "-qm", PWNED, "--allow-empty"), ("switch", "-qc", PWNED), ("fetch", "-q", ".")):
            ground.git(folder, *line)
    ground.git("ws", "status")
    new = {path.name for path in ground.outside.iterdir()} - {"victim", "secret", "s"}
    return bool(left) or victim(ground) or bool(new)


def listed(ground: Ground) -> bool:
    """The user's own git wrote to a place outside or into its own folder, or copied a secret to where commands read."""
    for words in (
        ("commit", "-qm", PWNED, "--allow-empty"),
        ("restore", "."),
        ("reset", "-q"),
        ("checkout", "--", "."),
    ):
        ground.git("ws", *words)
    copies = (ground.workspace / ".git/rr-cache").glob("*/postimage")
    hook = ground.workspace / ".git/hooks/post-checkout"
    return victim(ground) or hook.exists() or any(CANARY in copy.read_text() for copy in copies)


def heard(ground: Ground) -> bool:
    return PWNED in ground.listen()


def holds(path: str, text: str = PWNED) -> Judge:
    """A file of the ground holds what the command wrote."""
    return lambda ground: text in ground.text(path)


def there(path: str) -> Judge:
    """Something is there, that was not; then it is no more."""

    def judge(ground: Ground) -> bool:
        place = Path(ground.fill(path))
        found = os.path.lexists(place)
        if found and not place.is_dir():
            place.unlink()
        return found

    return judge


def lives(ground: Ground) -> bool:
    """Something runs on; then it does no more."""
    listing = subprocess.run(["ps", "-axww", "-o", "pid=,stat=,args="], capture_output=True, text=True, check=True)
    mark = str(ground.workspace / "daemon.py")
    lines = [line.split(maxsplit=2) for line in listing.stdout.splitlines()]
    found = [int(pid) for pid, state, *args in lines if mark in "".join(args) and not state.startswith("Z")]
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    return bool(found)


def killed(ground: Ground) -> bool:
    return Path(f"/proc/{ground.told['sleeper']}/stat").read_text().split(")")[1].split()[0] == "Z"


def bounded(ground: Ground) -> bool:
    """Somebody outside may open no more than seven files."""
    lines = Path(f"/proc/{ground.told['sleeper']}/limits").read_text().splitlines()
    return any(line.startswith("Max open files") and line.split()[3] == "7" for line in lines)


def suid(ground: Ground) -> bool:
    return any(path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID) for path in (ground.workspace / "src").iterdir())


def agent(ground: Ground) -> bool:
    return any(PWNED in file.read_text() for file in Path("/sys/fs/cgroup").glob("*/release_agent"))


def shared(ground: Ground) -> bool:
    """Memory was left that any process can have; then it is no more."""
    lines = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    found = [id_ for _, id_, _, size, *_ in lines if size == ground.told["port"]]
    for id_ in found:
        subprocess.run(["ipcrm", "-m", id_], check=True)
    return bool(found)


def no_repository(ground: Ground) -> None:
    (ground.workspace / ".git").rename(ground.top / "git")


def hostile(ground: Ground) -> None:
    """A repository that somebody else made: its own settings run something."""
    with (ground.workspace / ".git/config").open("a") as config:
        config.write(ground.fill(HOSTILE) + ground.fill('[filter "x"]\n\tclean = touch <outside>/ran\n'))
    (ground.workspace / ".gitattributes").write_text("* filter=x\n")


def submodule(ground: Ground) -> None:
    """A repository with a submodule."""
    ground.git("ws", "clone", "-q", "--bare", ".", "../bare.git")
    ground.git("ws", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../bare.git", "sub")
    ground.git("ws", "commit", "-qm", "with a submodule")


def within(ground: Ground) -> None:
    """A repository right below the workspace, which the index names."""
    ground.git("ws", "init", "-q", "within")
    ground.git("ws/within", "commit", "-qm", "first", "--allow-empty")
    ground.git("ws", "add", "within")
    ground.git("ws", "commit", "-qm", "with a repository")


def including(ground: Ground) -> None:
    """A repository whose settings include a file of the workspace that is not there."""
    ground.git("ws", "config", "include.path", "../.gitconfig")


def hooks_within(ground: Ground) -> None:
    """A repository whose hooks lie in the workspace."""
    ground.git("ws", "config", "core.hooksPath", ".husky")
    (ground.workspace / ".husky").mkdir()


def filtering(ground: Ground) -> None:
    """A repository in which git runs a script of the workspace."""
    ground.git("ws", "config", "core.fsmonitor", "sh src/watch.sh")
    (ground.workspace / "src/watch.sh").write_text("exit 1\n")


def daemon(ground: Ground) -> None:
    (ground.workspace / "daemon.py").write_text(DAEMON)


def call(family: str, address: str) -> str:
    return f'timeout 5 <python> -c "{CALL.format(family, address)}"'


def remember(ground: Ground) -> None:
    """Have git keep a password in the memory of a process for a while."""
    (ground.home / ".gitconfig").write_text("[credential]\n\thelper = cache --timeout=60\n")
    asked = f"protocol=https\nhost=example.org\nusername=u\npassword={CANARY}\n\n"
    subprocess.run(["git", "credential", "approve"], input=asked, text=True, env=_at_home(ground), check=True)


def forgotten(ground: Ground) -> bool:
    """The password was brought into the workspace; then git is told to forget it."""
    subprocess.run(["git", "credential-cache", "exit"], env=_at_home(ground), check=True)
    return loot(ground)


def _at_home(ground: Ground) -> dict[str, str]:
    moved = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "GIT_"))}
    return {**moved, "HOME": str(ground.home), "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_SYSTEM": os.devnull}


def wrote(name: str, command: str, **more: object) -> Attempt:
    return Attempt(name, command, victim, **more)  # type: ignore[arg-type]


def read(name: str, path: str) -> Attempt:
    return Attempt(name, f"cat {path} > loot", loot)


def planted(name: str, command: str, **more: object) -> Attempt:
    """Something that a user's own git would run."""
    evil = f"printf '{HOSTILE}' > evil; printf '#!/bin/sh\\ntouch <outside>/ran\\n' > src/pre-commit; chmod +x src/*"
    return Attempt(name, f"{evil.replace(chr(10), chr(92) + 'n').replace(chr(9), ' ')}\n{command}", ran, **more)  # type: ignore[arg-type]


FILES = [
    wrote("absolute path", "echo pwned > <outside>/victim"),
    wrote("dot dot", "echo pwned > ../outside/victim"),
    wrote("link to a file", "ln -s <outside>/victim l; echo pwned > l"),
    Attempt("link to a folder", "ln -s <outside> d; echo pwned > d/new", there("<outside>/new")),
    wrote("hard link", "ln <outside>/victim h && echo pwned > h"),
    wrote("/proc/self/root", "echo pwned > /proc/self/root<outside>/victim"),
    wrote("/proc/1/root", "echo pwned > /proc/1/root<outside>/victim"),
    wrote("/proc of the parent", "echo pwned > /proc/$PPID/root<outside>/victim"),
    wrote("/proc of another process", "echo pwned > /proc/<sleeper>/root<outside>/victim"),
    wrote("/proc/self/cwd", "echo pwned > /proc/self/cwd/../outside/victim"),
    wrote("rename", "echo pwned > x; mv -f x <outside>/victim"),
    wrote("delete", "rm -f <outside>/victim"),
    wrote("truncate", ": > <outside>/victim"),
    Attempt("mode", "chmod 777 <outside>/victim", lambda g: bool((g.outside / "victim").stat().st_mode & 0o002)),
    Attempt("time", "touch -d 2001-01-01 <outside>/victim", lambda g: (g.outside / "victim").stat().st_mtime < 1e9),
    Attempt("the workspace itself", "mv <workspace> <top>/gone", there("<top>/gone")),
    wrote(
        "chroot and back", "mkdir j; chroot j /bin/sh -c : ; chroot /proc/1/root sh -c 'echo pwned > <outside>/victim'"
    ),
    wrote("descriptors left open", "for fd in /proc/self/fd/[3-9]*; do echo pwned > $fd; done"),
    wrote("by its handle", f'<python> -c "{HANDLE}"'),
    wrote("a program in memory alone", f'<python> -c "{IN_MEMORY}"'),
    Attempt("shared memory", "echo pwned > /dev/shm/<port>", there("/dev/shm/<port>")),
    Attempt("temporary files", "echo pwned > /tmp/esc-<port>", there("/tmp/esc-<port>")),
    Attempt("older temporary files", "echo pwned > /var/tmp/esc-<port>", there("/var/tmp/esc-<port>")),
]
HOME = [
    Attempt("shell settings", "echo pwned >> ~/.bashrc", holds("home/.bashrc")),
    Attempt("a key to come in by", "echo pwned >> ~/.ssh/authorized_keys", holds("home/.ssh/authorized_keys")),
    Attempt("something new at home", "echo pwned > ~/.profile", there("<home>/.profile")),
    Attempt(
        "started with the desktop",
        "mkdir -p ~/.config/autostart && echo pwned > ~/.config/autostart/x",
        holds("home/.config/autostart/x"),
    ),
    Attempt(
        "loaded into all programs",
        "mkdir -p ~/.config/environment.d && echo LD_PRELOAD=pwned > ~/.config/environment.d/x",
        holds("home/.config/environment.d/x"),
    ),
    read("private key", "~/.ssh/id_ed25519"),
    read("cloud key", "~/.aws/credentials"),
    read("passwords", "~/.netrc"),
    read("what was typed", "~/.bash_history"),
    read("another agent's settings", "~/.claude/settings.json"),
    read("our settings", "~/.config/deskmate/settings.toml"),
    read("our log", "~/.local/state/deskmate/error.log"),
    read("through /proc", "/proc/self/root<home>/.ssh/id_ed25519"),
    Attempt(
        "writing our settings",
        "echo pwned >> ~/.config/deskmate/settings.toml",
        holds("home/.config/deskmate/settings.toml"),
    ),
    Attempt("our list of what to remove", "echo pwned > <state>/x", there("<state>/x")),
    Attempt("the environment", "(env; cat /proc/self/environ /proc/$PPID/environ) > loot", loot),
]
RECORDS = [
    read("reading mail", ".teams/main/*"),
    read("reading the board", ".tasks/main/*"),
    Attempt("forging mail", "echo pwned >> .teams/main/lead.mail.jsonl", holds("ws/.teams/main/lead.mail.jsonl")),
    Attempt("forging a task", "echo pwned >> .tasks/main/board.jsonl", holds("ws/.tasks/main/board.jsonl")),
    Attempt("moving the records", "mv .teams src/t; mv .tasks src/k", there("<workspace>/src/t")),
    Attempt("removing the records", "rm -rf .teams .tasks", lambda g: not g.text("ws/.teams/main/lead.mail.jsonl")),
    Attempt("uncovering the records", "umount -l .teams; cat .teams/main/* > loot", loot),
    Attempt("settings of ours", "mkdir -p .deskmate; echo pwned > .deskmate/x", there("<workspace>/.deskmate/x")),
    Attempt("a server for agents", "rmdir .mcp.json; echo pwned > .mcp.json", holds("ws/.mcp.json")),
]
COPIED = (
    "cp -r {1} g && cat evil >> g/config && git config -f g/config core.worktree ..; rm -rf {0}/.git; mv -T g {0}/.git"
)
GIT = [
    planted("hook", "cp src/pre-commit .git/hooks/pre-commit"),
    planted("hooks exchanged", "mv .git/hooks h; mkdir .git/hooks; cp src/pre-commit .git/hooks"),
    planted("git config", "git config core.fsmonitor 'touch <outside>/ran'"),
    planted("settings appended", "cat evil >> .git/config"),
    planted("settings exchanged", "mv evil .git/config"),
    planted("settings of the worktree", "cat evil > .git/config.worktree"),
    planted("another folder of git", "cp -r .git g; cat evil >> g/config; mv .git o; mv g .git"),
    planted("commondir", "cp -r .git g; rm -rf g/worktrees; cat evil >> g/config; echo ../g > .git/commondir"),
    planted(
        "another worktree", "cp -r .git g; cat evil >> g/config; echo <workspace>/g > .git/worktrees/other/commondir"
    ),
    planted("a repository where there was none", "git init -q .; cat evil >> .git/config", before=no_repository),
    planted(
        "git as a file",
        "cp -r ../git g; cat evil >> g/config; rmdir .git; echo 'gitdir: g' > .git",
        before=no_repository,
    ),
]
GIT += [
    planted("pointer of a submodule", COPIED.format("sub", ".git/modules/sub"), before=submodule),
    planted("folder of a submodule", "mv sub away; mkdir sub; " + COPIED.format("sub", ".git"), before=submodule),
    planted("settings of a repository within", "cat evil >> within/.git/config", before=within),
    planted("folder of a repository within", COPIED.format("within", "within/.git"), before=within),
    planted("settings of a submodule", "cat evil >> .git/modules/sub/config", before=submodule),
    planted(
        "hooks of a submodule",
        "cp src/pre-commit .git/modules/sub/hooks/post-index-change; rm -rf .git/modules/sub/hooks; "
        "mkdir .git/modules/sub/hooks; cp src/pre-commit .git/modules/sub/hooks/post-index-change; touch sub/*",
        before=submodule,
    ),
    planted("settings that others include", "mv evil .gitconfig", before=including),
    planted("hooks in the workspace", "rm -rf .husky; mkdir .husky; cp src/pre-commit .husky", before=hooks_within),
    planted("a script that git runs", "echo 'touch <outside>/ran' > src/watch.sh", before=filtering),
    planted(
        "the workspace as git's own folder",
        "mkdir -p refs objects; echo 'ref: refs/heads/x' > HEAD; rm .git/HEAD; "
        "printf '[core]\\n repositoryformatversion = 0\\n worktree = .\\n' > config; cat evil >> config",
    ),
]
# What git, its helpers and editors open in place in git's folder.
OPENED = (
    "COMMIT_EDITMSG FETCH_HEAD MERGE_MSG SQUASH_MSG ORIG_HEAD MERGE_HEAD MERGE_MODE MERGE_RR AUTO_MERGE "
    "CHERRY_PICK_HEAD REVERT_HEAD BISECT_LOG BISECT_START TAG_EDITMSG NOTES_EDITMSG EDIT_DESCRIPTION addp- "
    "hunk-edit.diff description packed-refs shallow gc.log gc.pid index.lock HEAD.lock info/exclude "
    "info/attributes info/refs info/sparse-checkout logs/HEAD logs/refs/heads/master logs/refs/stash "
    "refs/stash refs/heads/x rebase-merge/git-rebase-todo rebase-merge/message rebase-apply/patch "
    "sequencer/todo rr-cache/x objects/info/packs objects/info/alternates objects/pack/x.idx objects/ab/cd "
    "lfs/tmp/x lfs/logs/x modules/x/logs/HEAD modules/x/COMMIT_EDITMSG NOTES_MERGE_WORKTREE/x "
    ".COMMIT_EDITMSG.swp"
)
EACH = "cd .git; for n in " + OPENED + "; do mkdir -p $(dirname $n); rm -rf $n; {} $n; done"


def linked(name: str, command: str, **more: object) -> Attempt:
    """Something in git's folder by which the user's own git would write elsewhere."""
    return Attempt(name, command, led_out, **more)  # type: ignore[arg-type]


def indexed(name: str, path: str) -> Attempt:
    """An index written by hand, which git itself would not write."""
    text = f"{PWNED}\n".encode()
    blob = hashlib.sha1(b"blob %d\0%b" % (len(text), text)).hexdigest()
    index = base64.b64encode(index_of([Item(path.encode(), blob=blob)])).decode()
    return Attempt(
        name, f"echo {PWNED} | git hash-object -w --stdin; echo {index} | base64 -d > i; cp i .git/index", listed
    )


# None of these may stay, in a sandbox or not.
LINKS = [
    indexed("an index that names a file outside", "../outside/victim"),
    indexed("an index that names a hook", ".git/hooks/post-checkout"),
    Attempt(
        "a conflict in a secret",
        "h=$(printf %040d 7); mkdir -p .git/rr-cache/$h; echo x > .git/rr-cache/$h/preimage; "
        'printf "$h\\t<home>/.ssh/id_ed25519\\0" > .git/MERGE_RR',
        listed,
    ),
    linked("link in place of a message", "ln -sf <outside>/victim .git/COMMIT_EDITMSG"),
    linked("link in place of a log", "rm .git/logs/HEAD; ln -s <outside>/victim .git/logs/HEAD"),
    linked("link in place of what was fetched", "ln -sf <outside>/victim .git/FETCH_HEAD"),
    linked("links for all that git opens", EACH.format("ln -s <outside>/victim")),
    linked("pipes for all that git opens", EACH.format("mkfifo")),
    linked("links to a folder outside", EACH.format("ln -s <outside>")),
    linked("links to git's own settings", EACH.format("ln -s <workspace>/.git/config")),
    linked("links to a hook that is not there", EACH.format("ln -s <workspace>/.git/hooks/post-commit")),
    linked("hard links", "for n in COMMIT_EDITMSG FETCH_HEAD logs/HEAD; do ln -f <outside>/victim .git/$n; done"),
    linked(
        "a folder of git as a link", "for n in logs info refs objects; do rm -rf .git/$n; ln -s <outside> .git/$n; done"
    ),
    linked("a folder that cannot be listed", "ln -sf <outside>/victim .git/logs/HEAD; chmod 0311 .git/logs"),
    linked(
        "deep down and closed",
        "ln -sf <outside>/victim .git/FETCH_HEAD; cd .git; for n in $(seq 70); do mkdir a; cd a; done; mkdir -p x/y; "
        "ln -s <outside>/victim x/y/FETCH_HEAD; chmod 000 x",
    ),
    linked("a folder that cannot be written", "ln -sf <outside>/victim .git/logs/HEAD; chmod 0555 .git/logs"),
    linked(
        "deep down",
        "cd .git/logs; for n in $(seq 90); do mkdir a; cd a; done; ln -s <outside>/victim x",
    ),
    linked("long names", "cd .git/logs; n=$(printf %0200d 0); for i in $(seq 30); do mkdir $n; cd $n; done; ln -s / x"),
    linked(
        "a socket",
        "cd .git; rm FETCH_HEAD; <python> -c \"import socket; socket.socket(socket.AF_UNIX).bind('FETCH_HEAD')\"",
    ),
    linked("left at the end of its time", "ln -sf <outside>/victim .git/COMMIT_EDITMSG; sleep 60"),
]
MACHINE = [
    Attempt("daemon", "<python> <workspace>/daemon.py", lives, daemon),
    Attempt("daemon without a trace", "<python> <workspace>/daemon.py x y", lives, daemon),
    Attempt("abstract socket", call("UNIX", r"'\\0<abstract>'"), heard),
    Attempt("socket in /tmp", call("UNIX", "'<temporary>'"), heard),
    Attempt("socket in /run", call("UNIX", "'<run>'"), heard),
    Attempt("socket at home", call("UNIX", "'<at_home>'"), heard),
    Attempt("socket at home through /proc", call("UNIX", "'/proc/self/root<at_home>'"), heard),
    Attempt("socket at home by a link", "ln -s <at_home> l; " + call("UNIX", "'l'"), heard),
    Attempt("socket at home by a hard link", "ln <at_home> h; " + call("UNIX", "'h'"), heard),
    Attempt("socket at home from its folder", "cd <home>/a/b; " + call("UNIX", "'s'"), heard),
    Attempt(
        "socket at home uncovered", "umount <at_home>; mv <at_home> <at_home>2; " + call("UNIX", "'<at_home>2'"), heard
    ),
    Attempt("socket neither at home nor hidden", call("UNIX", "'<beside>'"), heard),
    Attempt("socket of another process", call("UNIX", "'/proc/<sleeper>/root<at_home>'"), heard),
    Attempt("socket at home by a descriptor", f'timeout 5 <python> -c "{BY_HANDLE}"', heard),
    Attempt("socket through the first process", call("UNIX", "'/proc/1/root<at_home>'"), heard),
    Attempt("datagram socket", f'timeout 5 <python> -c "{SENT}"', heard),
    Attempt("named pipe at home", "timeout 5 sh -c 'echo pwned > <pipe>'", heard),
    Attempt("the host of a virtual machine", f'<python> -c "{VSOCK}"', loot),
    Attempt("what happens to devices", f'<python> -c "{UEVENT}"', loot),
    Attempt("descriptors of another process", f'<python> -c "{TAKEN}"', loot),
    Attempt("the password that git remembers", REMEMBERED, forgotten, remember),
    Attempt("port on this machine", call("INET", "('127.0.0.1', <port>)"), heard),
    Attempt("kill", "kill -9 <sleeper>", killed),
    Attempt("kill everybody", "kill -9 -1", killed, wild=True),
    Attempt("ptrace", f'<python> -c "{PTRACE}"', loot),
    Attempt("memory of another process", f'<python> -c "{MEMORY}"', loot),
    Attempt("limits of another process", "prlimit --pid <sleeper> --nofile=7:7", bounded),
    Attempt("calls in a ring", f'<python> -c "{RING}"', loot),
    Attempt("typed into the terminal", f'<python> -c "{TYPED}"', loot),
    read("environment of another process", "/proc/<sleeper>/environ"),
    wrote("remount", "mount -o remount,rw /; mount -o remount,rw,bind <top>; echo pwned > <outside>/victim", wild=True),
    wrote("namespaces of one's own", "unshare -Urm sh -c 'mount -o remount,rw,bind /; echo pwned > <outside>/victim'"),
    wrote("namespace of the first process", "nsenter -t 1 -m sh -c 'echo pwned > <outside>/victim'", wild=True),
    Attempt("device", "mknod src/disk b 7 0", lambda g: (g.workspace / "src/disk").is_block_device()),
    Attempt("memory of the machine", "head -c 1 /dev/mem > loot && echo <canary> >> loot", loot),
    Attempt("setuid", "cp /bin/sh src/sh; chmod 6755 src/sh", suid),
    Attempt("setuid at birth", "<python> -c \"import os; os.umask(0); os.open('src/s', 64 | 1, 0o4777)\"", suid),
    Attempt("cron", "echo '# pwned' > /etc/cron.d/<port>", there("/etc/cron.d/<port>"), wild=True),
    Attempt("preload", "echo '' > /etc/ld.so.preload", there("/etc/ld.so.preload"), wild=True),
    Attempt("a program for all", "echo pwned > /usr/local/bin/<port>", there("/usr/local/bin/<port>"), wild=True),
    Attempt("the kernel", "echo pwned > /proc/sys/kernel/domainname", holds("/proc/sys/kernel/domainname"), wild=True),
    Attempt("memory for all", "ipcmk -M <port>", shared),
    Attempt("a cgroup's last word", "echo pwned | tee /sys/fs/cgroup/*/release_agent", agent, wild=True),
    Attempt("host name", "hostname pwned", holds("/proc/sys/kernel/hostname"), wild=True),
]
# Nothing in the command: what Deskmate runs itself to find and to search is led astray.
LATER = [
    wrote("a git of its own", "printf '#!/bin/sh\\necho pwned > <outside>/victim' > bin/git; chmod +x bin/git"),
    wrote(
        "a search of its own",
        "printf '#!/bin/sh\\necho pwned > <outside>/victim' | tee bin/rg > bin/grep; chmod +x bin/*",
    ),
    Attempt("a hostile repository", "true", there("<outside>/ran"), hostile),
]
ATTEMPTS = [*FILES, *HOME, *RECORDS, *GIT, *LINKS, *MACHINE, *LATER]
