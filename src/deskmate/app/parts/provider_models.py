"""The model of a name, without retries, its limits, and whether it can be used."""

from typing import TYPE_CHECKING, Any

from deskmate.config import Settings, choose_fallback, choose_model, split_effort
from deskmate.core.prompt.prompts import Usage
from deskmate.errors import BadSettings
from deskmate.models.model_limits import limits_of
from deskmate.models.prices import price
from deskmate.ports import Model, ModelLimits

if TYPE_CHECKING:
    from deskmate.models.http.post_client import Poster

OUTPUT_TOKENS = 32_000


def provider_model(name: str, settings: Settings, client: "Poster") -> Model:
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
            # Import a wire format only if it is used.
            from deskmate.models.wires.anthropic import LEAST_THINKING_TOKENS, AnthropicModel, thinking_budget

            budget = thinking_budget(model, effort) if effort else 0
            thinking = settings.thinking_tokens or budget
            limits = _limits(name, settings, thinking)
            if thinking == budget and thinking >= limits.output:
                # A model with short answers thinks in the first half, if that is enough.
                thinking = limits.output // 2 if limits.output // 2 >= LEAST_THINKING_TOKENS else 0
            where |= {"limits": limits, "thinking_tokens": thinking, "effort": effort}
            if at.wire == "bedrock" and key is None:
                from deskmate.models.signing.aws_signature import AwsSigning

                client = AwsSigning(client, name)
            elif at.wire == "vertex":
                from deskmate.models.signing.google_token import GoogleTokens

                client = client if key else GoogleTokens(client, name)
                where["is_vertex"] = True
            return AnthropicModel(client, model, key=key or "none", **where)
        case "openai":
            from deskmate.models.wires.openai import OpenAIModel

            return OpenAIModel(client, model, key=key, limits=_limits(name, settings), effort=effort, **where)
        case "responses":
            from deskmate.models.wires.responses import ResponsesModel

            return ResponsesModel(client, model, key=key, limits=_limits(name, settings), effort=effort, **where)
        case "gemini":
            from deskmate.models.wires.gemini import GeminiModel

            return GeminiModel(client, model, key=key, limits=_limits(name, settings), effort=effort, **where)


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
