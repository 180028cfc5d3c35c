"""Discretion: which secrets a process knows, and who else can read them in its memory."""

import subprocess
import sys
from pathlib import Path

import pytest

from deskmate.config import load
from deskmate.trust.known_secrets import redaction_of

pytestmark = pytest.mark.behaviour("secrets")
KEYS = ("Zk3vQ9tRw7Lx2MbN", "Qw8rT2yUi5Pa3SdF", "Hj6kL9zXc1VbN4mA")
# As an ordinary user, since root reads everything; to become one seals a process, too, and that is taken back first.
SECLUDED = """
import ctypes, os, sys
from deskmate.app import seclude
if os.geteuid() == 0:
    os.setgroups([]), os.setresgid(65534, 65534, 65534), os.setresuid(65534, 65534, 65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
for hide in (lambda: None, seclude):
    hide()
    if os.fork() == 0:
        try:
            open(f"/proc/{os.getppid()}/environ").close()
            os.write(1, b"read ")
        except PermissionError:
            os.write(1, b"refused ")
        os._exit(0)
    os.wait()
print(len(os.listdir("/proc/self/fd")) > 2)
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "deskmate" / "settings.toml"
    file.parent.mkdir()
    file.write_text(f'[openai]\nkey = "{KEYS[1]}"\n')
    return {"XDG_CONFIG_HOME": str(tmp_path), "ANTHROPIC_API_KEY": KEYS[0], "A_TOKEN": KEYS[2]}


def test_keys_of_both_providers_and_secrets_of_the_environment_are_known(environ: dict[str, str]) -> None:
    told = "[redacted: ANTHROPIC_API_KEY] [redacted: openai key] [redacted: A_TOKEN]"
    assert redaction_of(environ=environ).text(" ".join(KEYS)) == told
    assert redaction_of(load(environ), environ).text(" ".join(KEYS)) == told


def test_where_the_settings_cannot_be_read_the_environment_is_still_known(environ: dict[str, str]) -> None:
    Path(environ["XDG_CONFIG_HOME"], "deskmate", "settings.toml").write_text("no TOML")
    told = f"[redacted: ANTHROPIC_API_KEY] {KEYS[1]} [redacted: A_TOKEN]"
    assert redaction_of(environ=environ).text(" ".join(KEYS)) == told


@pytest.mark.skipif(sys.platform != "linux", reason="no other system shows an environment by a file")
def test_what_headers_for_a_collector_contain_is_known(environ: dict[str, str]) -> None:
    environ["OTEL_EXPORTER_OTLP_HEADERS"] = (
        "x-team=a8Kf30Qw92kk, authorization=Bearer%20b7Lg41Rx83ll,x-tenant=production"
    )
    environ["OTEL_EXPORTER_OTLP_TRACES_HEADERS"] = ",".join([f"api-key={'c6Mh52Sy74mm'}", "odd"])
    text = redaction_of(None, environ).text("a8Kf30Qw92kk b7Lg41Rx83ll c6Mh52Sy74mm in production")
    assert text == (
        "[redacted: OTEL_EXPORTER_OTLP_HEADERS x-team] [redacted: OTEL_EXPORTER_OTLP_HEADERS authorization] "
        "[redacted: OTEL_EXPORTER_OTLP_TRACES_HEADERS api-key] in production"
    )


def test_other_processes_of_the_same_user_cannot_read_what_this_one_was_started_with() -> None:
    ran = subprocess.run([sys.executable, "-c", SECLUDED], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("read refused True\n", "")
