"""Canaries: hundreds of secrets, where each is planted, and the search for them in all that was written.

Each is made when the tests run: one that stood in a file would be a find in this project itself.
"""

import base64
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.secret_formats import SECRETS, UNKNOWN


def _token(name: str, size: int) -> str:
    """Return letters and digits that are the same in each run, small and capital ones and digits among them."""
    digest = b"".join(hashlib.sha512(f"{name}{part}".encode()).digest() for part in range(2))
    coded = base64.b64encode(digest).decode().replace("+", "").replace("/", "")
    return f"x9Q{coded}"[:size]


def _shaped(start: str, name: str, size: int = 36) -> str:
    return start + _token(name, size)


# Known by their names, and by what they are used for.
ENVIRON = {
    "ANTHROPIC_API_KEY": _token("anthropic", 40),
    "GITHUB_TOKEN": _token("github", 30),
    "DB_PASSWORD": f'{_token("db", 10)}&="/?',
    "SECRET_KEY_BASE": _token("base", 64),
    "DEPLOY_PASSPHRASE": "purple lanterns sway over quiet harbours",
    "SIGNING_CREDENTIALS": _token("signing", 24),
    "NPM_AUTH": _token("npm", 20),
    "QUEUE_URL": _token("queue", 14),
}
SETTINGS = {"openai": _token("openai", 40)}
# Known by their shapes alone.
SHAPED = {
    "typed": _shaped("ghp_", "typed"),
    "typed in a conversation": _shaped("glpat-", "typed2", 24),
    "refusal": _shaped("hf_", "refusal"),
    "sent": _shaped("npm_", "sent"),
    "task of the user": _shaped("ghs_", "usertask"),
    "read": _shaped("AIza", "read", 35),
    "notes": _shaped("sk-ant-", "notes"),
    "in pieces": _shaped("gho_", "pieces"),
    "at a border": _shaped("sk-proj-", "border"),
    "spilled": _shaped("github_pat_", "spilled", 40),
    "found by grep": _shaped("sk_live_", "grep", 24),
    "in the background": _shaped("ghu_", "background"),
    "argument": _shaped("xoxb-", "argument", 30),
    "asked about": _shaped("xoxp-", "asked", 30),
    "words": _shaped("sk-", "words", 44),
    "thought": _shaped("sk-ant-api03-", "thought", 60),
    "answer": _shaped("glpat-", "answer", 20),
    "mail": _shaped("ghr_", "mail"),
    "prompt": _shaped("pypi-AgE", "prompt", 60),
    "task": _shaped("hf_", "task", 34),
    "plan": _shaped("sk-svcacct-", "plan", 40),
    "subagent": _shaped("glpat-", "subagent", 22),
    "summary": _shaped("ghp_", "summary", 40),
    "mistyped": _shaped("sk-ant-", "mistyped", 50),
    "error": _shaped("AIza", "error", 35),
}
# One of each format that is long enough to be told from other text, and on one line.
FORMATS = {
    name: secret
    for name, (_, secret) in SECRETS.items()
    if name not in UNKNOWN and len(secret) >= 12 and not {"\n", "\\"} & {*secret}
}
CANARIES: dict[str, str] = {**ENVIRON, **SETTINGS, **SHAPED, **FORMATS}

FILES = {
    ".env": "\n".join(f"{name}={value}" for name, value in {**ENVIRON, **SETTINGS}.items()),
    "coded.txt": "\n".join(base64.b64encode(value.encode()).decode() for value in ENVIRON.values()),
    "read.txt": f"key: {SHAPED['read']}\n",
    "AGENTS.md": f"Deploy with {SHAPED['notes']}.\n",
    "pieces.txt": SHAPED["in pieces"],
    "border.txt": SHAPED["at a border"],
    "spilled.txt": f"\n{SHAPED['spilled']}\n",
    "grep.txt": f"needle {SHAPED['found by grep']}\n",
    "background.txt": SHAPED["in the background"],
    "formats.txt": "".join(f"{SECRETS[name][0]}\n" for name in FORMATS),
}
COMMANDS = (
    "head -c 9 pieces.txt; sleep 0.05; tail -c +10 pieces.txt",
    "head -c 65530 /dev/zero | tr '\\0' ,; cat border.txt",
    "seq 9000; cat spilled.txt; seq 9000",
    f"printf %s {SHAPED['argument']} | wc -c",
)


def plant(folder: Path, home: Path, url: str) -> dict[str, str]:
    """Plant them in a workspace and a home; return the environment that holds the rest."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    config = home / ".config" / "deskmate"
    config.mkdir(parents=True)
    settings = config / "settings.toml"
    settings.write_text(f'[openai]\nkey = "{SETTINGS["openai"]}"\nbase_url = "{url}/v1"\n')
    settings.chmod(0o600)
    return {
        **ENVIRON,
        "QUEUE_URL": f"amqp://app:{ENVIRON['QUEUE_URL']}@queue/",
        "SIGNING_CREDENTIALS": f'{{"type": "signer",\n "key": "{ENVIRON["SIGNING_CREDENTIALS"]}"}}',
    }


def found_in(texts: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Return the canaries that stand in texts, as they are or in base64, and in which of them."""
    found = {
        name: [where for where, text in texts.items() if any(form in text for form in _forms(value))]
        for name, value in CANARIES.items()
    }
    return {name: places for name, places in found.items() if places}


def _forms(value: str) -> list[bytes]:
    data = value.encode()
    coded = base64.b64encode(data)[: len(data) * 8 // 6]
    return [data, coded, data.replace(b'"', b'\\"').replace(b"\n", b"\\n")]


def written(folder: Path, home: Path) -> Iterator[Path]:
    """Yield every file below a workspace and a home but those that were planted."""
    planted = {folder / name for name in FILES} | {home / ".config" / "deskmate" / "settings.toml"}
    for top in (folder, home):
        for place, _, names in os.walk(top):
            yield from (path for name in names if (path := Path(place, name)) not in planted)
