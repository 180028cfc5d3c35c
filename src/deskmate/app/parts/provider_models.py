"""The model of a name, without retries, its limits, and whether it can be used."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deskmate.config import Settings, choose_fallback, choose_model, split_effort
from deskmate.core.prompt.prompts import Usage
from deskmate.errors import BadSettings
from deskmate.models.model_limits import limits_of
from deskmate.models.prices import price
from deskmate.ports import Model, ModelLimits

if TYPE_CHECKING:
    from deskmate.models.http.post_client import Poster, ServerClient

OUTPUT_TOKENS = 32_000


def provider_model(name: str, settings: Settings, client: "ServerClient") -> Model:
    """Return the model of a `provider:model`, which may end with its effort."""
    name, effort = split_effort(name)
    effort = effort or settings.effort
    model = name.partition(":")[2]
    at = settings.provider_of(name)
    key = at.key.get_secret_value() if at.key else None
    where: dict[str, Any] = {
        "base_url": at.base_url,
        "provider": at.name,
        "key_env": at.key_env,
        "headers": at.headers,
        "origin": settings.origin_of(name),
    }
    match at.wire:
        case "anthropic" | "bedrock" | "vertex":
            return _anthropic_model(name, settings, client, effort, where)
        case "openai":
            # Import a wire format only if it is used.
            from deskmate.models.wires.openai import OpenAIModel

            asked: Model = OpenAIModel(client, model, key=key, limits=_limits(name, settings), effort=effort, **where)
            return _with_window(asked, settings, client)
        case "responses":
            from deskmate.models.wires.responses import ResponsesModel

            asked = ResponsesModel(client, model, key=key, limits=_limits(name, settings), effort=effort, **where)
            return _with_window(asked, settings, client)
        case "gemini":
            from deskmate.models.wires.gemini import GeminiModel

            return GeminiModel(client, model, key=key, limits=_limits(name, settings), effort=effort, **where)


def _anthropic_model(
    name: str, settings: Settings, client: "ServerClient", effort: str | None, where: Mapping[str, Any]
) -> Model:
    """Return a model of Anthropic, wherever it is served."""
    from deskmate.models.wires.anthropic import LEAST_THINKING_TOKENS, AnthropicModel, thinking_budget

    at, model = settings.provider_of(name), name.partition(":")[2]
    budget = thinking_budget(model, effort) if effort else 0
    thinking = settings.thinking_tokens or budget
    limits = _limits(name, settings, thinking)
    if thinking == budget and thinking >= limits.output:
        # A model with short answers thinks in the first half, if that is enough.
        thinking = limits.output // 2 if limits.output // 2 >= LEAST_THINKING_TOKENS else 0
    poster: Poster = client
    if at.wire == "bedrock" and at.key is None:
        from deskmate.models.signing.aws_signature import AwsSigning

        poster = AwsSigning(client, name)
    elif at.wire == "vertex" and at.key is None:
        from deskmate.models.signing.google_token import GoogleTokens

        poster = GoogleTokens(client, name)
    return AnthropicModel(
        poster,
        model,
        key=at.key.get_secret_value() if at.key else "none",
        limits=limits,
        thinking_tokens=thinking,
        effort=effort,
        is_vertex=at.wire == "vertex",
        **where,
    )


def _with_window(model: Model, settings: Settings, client: "ServerClient") -> Model:
    """Return the model of a server of the user's own with the window that the server says, unless the user sets one."""
    at, own = settings.provider_of(model.name), settings.models.get(model.name)
    if not at.is_own or not at.base_url or (own and own.window):
        return model
    from deskmate.models.served_window import ServedWindow

    key = {"authorization": f"Bearer {at.key.get_secret_value()}"} if at.key else {}
    return ServedWindow(model, client, at.base_url, {**key, **at.headers})


def window_of(name: str, settings: Settings) -> int:
    """Return how many tokens fit into the context of a `provider:model`."""
    return _known_limits(split_effort(name)[0], settings).window


def _known_limits(name: str, settings: Settings) -> ModelLimits:
    own = settings.models.get(name)
    return limits_of(name, window=own.window if own else None)


def _limits(name: str, settings: Settings, thinking: int = 0) -> ModelLimits:
    own, limits = settings.models.get(name), _known_limits(name, settings)
    # A provider counts the maximum output against the window. An answer that needs more continues in the next step.
    wanted = max(OUTPUT_TOKENS, thinking + OUTPUT_TOKENS // 4)
    output = own.output if own and own.output else min(limits.output, wanted, limits.window // 4)
    return ModelLimits(limits.window, output)


def check_model(settings: Settings) -> None:
    """Raise BadSettings if no model can be used, or if there is a cap on cost and no price is known."""
    for name in (choose_model(settings), choose_fallback(settings)):
        if name:
            check_price(name, settings)


def check_price(name: str, settings: Settings) -> None:
    """Raise BadSettings if there is a cap on cost and the price of a model is not known."""
    name, _ = split_effort(name)
    caps = {"--max-cost": settings.max_cost, "max_member_cost": settings.max_member_cost}
    set_ = " and ".join(cap for cap, value in caps.items() if value is not None)
    if set_ and price(name, Usage(), settings.prices) is None:
        raise BadSettings(
            f"The price of {name} is not known, so {set_} cannot be enforced",
            f'Set its prices under [models."{name}"] in {settings.file}, or remove the limit.',
        )
