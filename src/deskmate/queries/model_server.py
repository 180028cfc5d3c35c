"""Whether a model server on this machine answers, and whether its models see tools.

llama.cpp leaves tools out without an error if the template of a model has no place for them.
"""

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from deskmate.config import ProviderAccess

_PATIENCE_SECONDS = 2.0
_MOST_BYTES = 4 * 2**20
_TOOL = "deskmate_probe"
_QUESTION: Mapping[str, Any] = {
    "messages": [{"role": "user", "content": "hi"}],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": _TOOL,
                "description": "Check that tools arrive.",
                "parameters": {"type": "object", "properties": {}},
            },
        }
    ],
}


def is_on_this_machine(provider: ProviderAccess) -> bool:
    """Return whether a provider is a server on this machine that can be asked without TLS."""
    address = urlsplit(provider.base_url or "")
    host = address.hostname or ""
    if address.scheme != "http":
        return False
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def obstacle_of(provider: ProviderAccess) -> tuple[str, str] | None:
    """Ask a server on this machine, and return what is wrong and what to do. None if nothing is known to be wrong."""
    address = urlsplit(provider.base_url or "")
    place = f"{address.scheme}://{address.netloc}"
    connection = HTTPConnection(address.hostname or "", address.port, timeout=_PATIENCE_SECONDS)
    headers = {"content-type": "application/json"}
    if provider.key:
        headers["authorization"] = f"Bearer {provider.key.get_secret_value()}"
    path = f"{address.path.rstrip('/').removesuffix('/v1')}/apply-template"
    try:
        connection.request("POST", path, json.dumps(_QUESTION), headers)
        answer = connection.getresponse()
        body = answer.read(_MOST_BYTES)
    except (OSError, HTTPException) as error:
        return f"{place} does not answer: {error}", "Start the server, or correct the address."
    finally:
        connection.close()
    prompt = _prompt_in(body) if answer.status == 200 else None
    if prompt is None or _TOOL in prompt:
        return None
    return (
        f"the model at {place} sees no tools, because its chat template has no place for them, so it can only talk",
        "Start llama-server with --jinja and with a --chat-template-file that has tools, or choose another model.",
    )


def _prompt_in(body: bytes) -> str | None:
    """Return the prompt that the server made of the question. None if the answer is anything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    prompt = found.get("prompt") if isinstance(found, dict) else None
    return prompt if isinstance(prompt, str) else None
