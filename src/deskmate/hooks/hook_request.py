"""One hook that is an address: the JSON is posted there, and the answer is what a command would print.

Only the user's own settings can name an address. No redirect is followed, so the JSON goes nowhere else.
"""

import re
from collections.abc import Mapping

import httpx2

from deskmate.core.hooks.hook_outputs import HookRun
from deskmate.core.hooks.hook_tables import Hook
from deskmate.hooks.hook_process import MOST_BYTES

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


async def run_http_hook(hook: Hook, told: bytes, environ: Mapping[str, str]) -> HookRun:
    """Post the JSON and return the answer. Any failure is a result."""
    # Imported here because only these hooks need it.
    import anyio

    try:
        with anyio.fail_after(hook.seconds):
            return await _post(hook, told, environ)
    except TimeoutError:
        return HookRun(hook, None, ended=f"did not answer within {hook.seconds:g} s")
    except (httpx2.HTTPError, httpx2.InvalidURL, ImportError, ValueError, OSError) as error:
        # Without the words of the error, which may contain a header.
        return HookRun(hook, None, ended=f"could not be reached ({type(error).__name__})")


async def _post(hook: Hook, told: bytes, environ: Mapping[str, str]) -> HookRun:
    headers = {name: _filled(value, hook.variables, environ) for name, value in hook.headers}
    async with (
        httpx2.AsyncClient(follow_redirects=False, timeout=hook.seconds) as client,
        client.stream("POST", hook.url, content=told, headers={"content-type": "application/json", **headers}) as reply,
    ):
        if not reply.is_success:
            where = " and would redirect, which is not followed" if reply.is_redirect else ""
            return HookRun(hook, None, ended=f"answered with status {reply.status_code}{where}")
        body = b""
        async for piece in reply.aiter_bytes():
            body += piece
            if len(body) > MOST_BYTES:
                return HookRun(hook, None, ended=f"answered with more than {MOST_BYTES // 1000} kB")
    return HookRun(hook, 0, body.decode(errors="replace"))


def _filled(value: str, variables: tuple[str, ...], environ: Mapping[str, str]) -> str:
    """Return a header with the variables that it may have. Others are empty."""

    def of(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return environ.get(name, "") if name in variables else ""

    return _VARIABLE.sub(of, value).strip()
