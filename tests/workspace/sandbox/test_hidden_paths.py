"""What lets somebody act in the user's name is hidden from commands: files by tables and variables, and all sockets."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.hidden_paths import HOME_SECRETS
from deskmate.workspace.sandbox.levels import PROGRAMS, find_sandbox
from deskmate.workspace.sandbox.mounts import Level, Sandbox, named_secrets
from tests.workspace.escapes.escape_ground import CANARY, Ground, ground

pytestmark = pytest.mark.anyio

# Known to hold keys, tokens, or what was typed. Not taken from the product's tables: these must contain them.
KNOWN = (
    *(".ssh/id_ed25519", ".netrc", ".git-credentials", ".pgpass", ".config/git/credentials"),
    *(".config/sops/age/keys.txt", ".authinfo.gpg", ".msmtprc", ".config/pypoetry/auth.toml"),
    *(".local/share/uv/credentials/pypi", ".config/.wrangler/config/default.toml", ".cloudflared/cert.pem"),
    *(".config/stripe/config.toml", ".config/configstore/firebase-tools.json", ".railway/config.json"),
    *(".supabase/access-token", ".doppler/.doppler.yaml", ".dbt/profiles.yml", ".pg_service.conf", ".authinfo"),
    *(".mbsyncrc", ".config/helm/registry/config.json", ".config/argocd/config", ".config/scw/config.yaml"),
    *(".config/openstack/clouds.yaml", ".cache/huggingface/stored_tokens", ".modal.toml"),
    *(".local/share/amp/secrets.json", ".local/share/jupyter/runtime/kernel-1.json", ".local/share/atuin/key"),
    *(".local/share/atuin/history.db", ".ipython/profile_default/history.sqlite", ".config/nushell/history.txt"),
    *(".config/fish/fish_variables", ".pip/pip.conf", ".ivy2/.credentials", ".sbt/.credentials"),
    *(".config/environment.d/keys.conf", ".config/Code/User/globalStorage/state.vscdb", ".config/syncthing/key.pem"),
    *(".local/state/syncthing/key.pem", ".aws/credentials", ".kube/config", ".docker/config.json", ".npmrc"),
    *(".cargo/credentials.toml", ".config/gh/hosts.yml", ".config/gcloud/application_default_credentials.json"),
    *(".terraform.d/credentials.tfrc.json", ".ollama/id_ed25519", ".config/rbw/config.json", ".config/gopass/config"),
    *(".config/op/config", ".local/share/goose/x", ".config/zed/x", ".windsurf/x", ".cline/data/secrets.json"),
    *(".codex/auth.json", ".claude.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json"),
    *(".config/tailscale/state", ".mc/config.json", ".config/pnpm/auth.ini", ".jupyter/jupyter_server_config.json"),
    *(".bash_history", ".env", ".local/state/deskmate/mcp-logins/notes.json", ".mcp-auth/tokens.json"),
)


@pytest.fixture
def on(parent: Path) -> Iterator[Ground]:
    with ground(parent, repository=False) as laid:
        yield laid


@pytest.fixture(params=[Level.BUBBLEWRAP, Level.LANDLOCK])
def level(request: pytest.FixtureRequest) -> Level:
    return Level(request.param)


def confined(on: Ground, level: Level, **environ: str) -> LocalWorkspace:
    """Return a workspace on a machine where these variables are set."""
    around = {**on.environ(), **environ}
    sandbox = find_sandbox(on.state, environ=around, programs=[] if level is Level.LANDLOCK else PROGRAMS)
    if sandbox.level is not level:
        pytest.skip(sandbox.reason)
    return LocalWorkspace(on.workspace, "main", "lead", environ=around, sandbox=sandbox, grace_seconds=0.3)


async def said(workspace: LocalWorkspace, command: str) -> str:
    with anyio.fail_after(120):
        return (await workspace.run(command, timeout_seconds=60, blob="lead-1-0.txt")).output


def plant(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir():
        place = place / "planted"
    place.write_text(CANARY)


async def test_nothing_that_the_tables_name_can_be_read_nor_what_is_known_besides(on: Ground, level: Level) -> None:
    for name in sorted((*HOME_SECRETS, *KNOWN), key=len, reverse=True):
        plant(on.home / name)
    (on.home / "readable").write_text(CANARY)
    shutil.rmtree(on.workspace / ".teams")
    found = await said(confined(on, level), f"grep -rlsI {CANARY} ~ | sort")
    assert found == f"{on.home}/readable\n"


@pytest.mark.parametrize(
    ("variable", "value", "file"),
    [
        ("XDG_CONFIG_HOME", "<outside>/c", "c/gh/hosts.yml"),
        ("XDG_CACHE_HOME", "<outside>/c", "c/git/credential/x"),
        ("XDG_DATA_HOME", "<outside>/d", "d/keyrings/login.keyring"),
        ("XDG_STATE_HOME", "<outside>/d", "d/zsh/history"),
        ("XDG_RUNTIME_DIR", "<outside>/r", "r/anything"),
        ("CARGO_HOME", "<outside>/cargo", "cargo/credentials.toml"),
        ("HF_HOME", "<outside>/hf", "hf/token"),
        ("ZDOTDIR", "<outside>/zsh", "zsh/.zsh_history"),
        ("KUBECONFIG", "<outside>/one:<outside>/k/two", "k/two"),
        ("AWS_SHARED_CREDENTIALS_FILE", "<outside>/aws", "aws"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "<outside>/aws", "aws"),
        ("DOCKER_CONFIG", "<outside>/docker", "docker/config.json"),
        ("GNUPGHOME", "<outside>/g", "g/private-keys-v1.d/x"),
        ("NPM_CONFIG_USERCONFIG", "<outside>/npmrc", "npmrc"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "<outside>/key.json", "key.json"),
        ("SOPS_AGE_KEY_FILE", "<outside>/age.txt", "age.txt"),
        ("SOME_TOOL_TOKEN_PATH", "<outside>/token", "token"),
        ("KRB5CCNAME", "FILE:<outside>/krb5cc", "krb5cc"),
        ("HISTFILE", "<outside>/hist", "hist"),
    ],
)
async def test_what_a_variable_moves_is_hidden_where_it_is(
    on: Ground, level: Level, variable: str, value: str, file: str
) -> None:
    plant(on.outside / file)
    assert CANARY in (on.outside / file).read_text()
    read = await said(confined(on, level, **{variable: on.fill(value)}), f"cat {on.outside}/{file} {on.outside}/secret")
    # The second file shows that something was read.
    assert read.count(CANARY) == 1


@pytest.mark.parametrize("variable", ["XDG_RUNTIME_DIR", "DOCKER_CONFIG", "GNUPGHOME", "MY_KEY_FILE"])
@pytest.mark.parametrize("value", ["/", "/tmp", "/usr", "<home>", "<home>/..", "relative/path", ""])
async def test_no_variable_can_hide_what_nothing_works_without(on: Ground, variable: str, value: str) -> None:
    assert list(named_secrets({"HOME": str(on.home), variable: on.fill(value)})) == []


@pytest.mark.parametrize("variable", ["COMPASS_DIR", "MONKEY_FILE", "PYTHONPATH", "AUTHOR_DIR"])
async def test_a_variable_that_only_sounds_alike_hides_nothing(on: Ground, variable: str) -> None:
    assert list(named_secrets({"HOME": str(on.home), variable: str(on.outside)})) == []


async def test_a_workspace_below_what_a_variable_names_is_shown(on: Ground, level: Level) -> None:
    workspace = confined(on, level, DOCKER_CONFIG=str(on.workspace.parent), HOME="/nowhere")
    assert await said(workspace, "cat src/a.py && echo x > new && cat new") == "a = 1\nx\n"


def listening(place: Path) -> socket.socket:
    one = socket.socket(socket.AF_UNIX)
    one.bind(str(place))
    one.listen()
    return one


async def test_commands_begin_though_sockets_come_and_go_meanwhile(on: Ground) -> None:
    workspace, over = confined(on, Level.BUBBLEWRAP), threading.Event()

    def churn() -> None:
        while not over.is_set():
            with listening(on.home / "t"):
                pass
            (on.home / "t").unlink()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        assert [await said(workspace, "echo ok") for _ in range(20)] == ["ok\n"] * 20
    finally:
        over.set()
        thread.join()


def connecting(*places: Path | str) -> str:
    """Return a command that prints for each socket whether it can be talked to."""
    program = "import socket, sys; [print(socket.socket(socket.AF_UNIX).connect_ex(p)) for p in sys.argv[1:]]"
    return f'python3 -c "{program}" {" ".join(map(str, places))}'


async def test_a_socket_that_appears_between_two_commands_is_masked_for_the_second(on: Ground) -> None:
    workspace = confined(on, Level.BUBBLEWRAP)
    assert await said(workspace, "echo first") == "first\n"
    with listening(on.home / "new"), listening(on.outside / "new"):
        assert "0" not in (await said(workspace, connecting(on.home / "new", on.outside / "new"))).split()


async def test_sockets_in_the_workspace_and_in_writable_folders_stay_usable(on: Ground, bubblewrap: Sandbox) -> None:
    (on.home / "w").mkdir()
    sandbox = replace(bubblewrap, state=on.state, writable=(on.home / "w",))
    workspace = LocalWorkspace(on.workspace, "main", "lead", environ=on.environ(), sandbox=sandbox)
    with listening(on.workspace / "s"), listening(on.home / "w/s"):
        assert await said(workspace, connecting("s", on.home / "w/s")) == "0\n0\n"


async def test_named_pipes_at_home_lead_to_nobody(on: Ground, level: Level) -> None:
    place = on.home / "pipes/control"
    place.parent.mkdir()
    os.mkfifo(place)
    # Somebody listens, so that a write would not wait.
    reader = os.open(place, os.O_RDWR | os.O_NONBLOCK)
    try:
        workspace = confined(on, level)
        assert (await said(workspace, f"timeout 5 sh -c 'echo pwned > {place}'; echo tried")).endswith("tried\n")
        with pytest.raises(BlockingIOError):
            os.read(reader, 100)
        os.write(reader, CANARY.encode())
        assert CANARY not in await said(workspace, f"timeout 5 sh -c 'head -c 5 < {place}'")
    finally:
        os.close(reader)


async def test_a_socket_that_a_variable_names_is_masked_whatever_the_variable_is(on: Ground) -> None:
    place = on.home / "agent"
    with listening(place):
        for value in (f"{place}", f"unix:path={place},guid=1", f"unix://{place}", f"{place},123,0"):
            assert named_secrets({"HOME": str(on.home), "SOME_NAME": value}).__next__() == place
    assert list(named_secrets({"HOME": str(on.home), "SOME_NAME": f"{on.home}/readable"})) == []


LISTEN = """
import socket, sys
one = socket.socket(socket.AF_UNIX)
one.bind(sys.argv[1])
one.listen()
print("listening", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def listening_apart(place: Path) -> Iterator[None]:
    """Listen in another network namespace, where the kernel's list does not tell of it."""
    words = ["unshare", "--net", "--map-root-user", sys.executable, "-c", LISTEN, str(place)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        if process.stdout.readline() != b"listening\n":
            pytest.skip("no network namespace can be made here")
        yield
        assert process.stdin
        process.stdin.close()


async def test_a_socket_at_home_is_found_though_it_belongs_to_another_network(on: Ground) -> None:
    place = on.home / ".cache/tool/deep/s"
    place.parent.mkdir(parents=True)
    with listening_apart(place):
        assert str(place) not in Path("/proc/net/unix").read_text()
        assert connect(place) == 0
        assert await said(confined(on, Level.BUBBLEWRAP), connecting(place)) != "0\n"


def connect(place: Path) -> int:
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(str(place))


async def test_what_is_hidden_with_its_folder_is_not_masked_once_more(on: Ground, bubblewrap: Sandbox) -> None:
    sandbox = replace(bubblewrap, state=on.state, hidden=(on.home / ".ssh/id_ed25519",))
    words = sandbox.words(sandbox.machine(on.environ(), on.workspace))
    masked = [word for word in words if re.search(r"/home/\.ssh(/|$)", word)]
    assert masked == [str(on.home / ".ssh")]


def test_the_tables_name_each_place_once_and_none_below_another() -> None:
    names = sorted(HOME_SECRETS)
    assert len(names) == len(set(names))
    assert [name for name in names for above in names if name.startswith(f"{above}/")] == []
