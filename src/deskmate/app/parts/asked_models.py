"""The model that an agent asks by a name, and the HTTP client that all models share."""

from functools import partial
from typing import TYPE_CHECKING

from deskmate.app.parts.provider_models import provider_model
from deskmate.config import Settings, choose_fallback, choose_model, environment, split_effort
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.prompt.prompts import Usage
from deskmate.errors import BadSettings
from deskmate.models.chosen import Chosen
from deskmate.models.preload import Preloading
from deskmate.models.prices import price
from deskmate.models.retry import Retrying
from deskmate.ports import Clock, Model
from deskmate.runtime.task_groups import on_threads
from deskmate.tools import tools_for
from deskmate.trust.sandbox_choice import sandbox_of
from deskmate.workspace.sandbox.mounts import Sandbox

if TYPE_CHECKING:
    from deskmate.models.http.post_client import PostClient, ServerClient


async def sandbox_and_client(settings: Settings, *, to_any: bool = False) -> tuple[Sandbox, "PostClient"]:
    """Return what `sandbox_of` and `client_of` return, or raise what they raise. The caller closes the client.

    The trial of a sandbox waits for another process, so the client is imported and made meanwhile.
    """
    return await on_threads(partial(sandbox_of, settings), partial(client_of, settings, to_any=to_any))


def client_of(settings: Settings, *, to_any: bool = False) -> "PostClient":
    """Return the HTTP client of all models. Raises BadSettings if the environment does not allow one.

    `to_any`: models other than those in the settings may be used, too.
    """
    # Importing it takes a while: see `sandbox_and_client`.
    from deskmate.models.wires.http_client import new_client

    try:
        return new_client(secure=to_any or _secure(settings), environ=environment())
    except (ValueError, OSError) as error:
        raise BadSettings(
            f"Cannot connect to any model: {error}",
            "Check HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE in the environment.",
        ) from error


def _secure(settings: Settings) -> bool:
    """Return whether any model of the settings is asked with TLS. Each member can have a model of another provider."""
    names = [*filter(None, (choose_model(settings), choose_fallback(settings))), *settings.described_providers]
    providers = [settings.provider_of(name) for name in names]
    return not all((one.base_url or "").startswith("http://") for one in providers if one.reachable)


def asked_model(settings: Settings, client: "ServerClient", clock: Clock, name: str | None) -> Model:
    """Return the model of a name, or the one in the settings, which the user can change. Raises as `_model`."""
    model = Preloading(_model(settings, client, clock, name), partial(_load_rest, settings))
    return model if name else Chosen(model)


def _load_rest(settings: Settings) -> None:
    """Load what an answer needs and a request does not: the tools, and the prices."""
    tools_for(AgentKind.LEAD, ())
    price(split_effort(choose_model(settings))[0], Usage(), settings.prices)


def _model(settings: Settings, client: "ServerClient", clock: Clock, name: str | None) -> Model:
    """Return the model of a name, or the one in the settings. Raises BadSettings if it cannot be used."""
    fallback = choose_fallback(settings)
    return Retrying(
        provider_model(choose_model(settings, name), settings, client),
        clock,
        fallback=None if fallback is None else provider_model(fallback, settings, client),
    )
