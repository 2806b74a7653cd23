"""Names of models, and which provider each stands for.

``init_chat_model`` refuses what it cannot tell before anything runs. The requests themselves
are made by ``provider_model``, which is loaded here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hitl.errors import Misuse

if TYPE_CHECKING:
    from hitl.agent.provider_model import ProviderModel

__all__ = ["init_chat_model", "split_model_name"]

_PREFIXES = (
    (re.compile(r"gpt-|o\d"), "openai"),
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"gemini-"), "google"),
)


def init_chat_model(
    model: str | None = None,
    *,
    model_provider: str | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    timeout: float | None = None,
    max_retries: int | None = None,
    **settings: object,
) -> ProviderModel:
    """Return a model of a provider. Nothing is sent yet.

    Args:
        model: ``"provider:name"``, or a bare name that tells its provider (``gpt-``, ``o`` and
            a digit, ``claude-``, ``gemini-``).
        model_provider: The provider, where the name does not say it: ``"openai"`` with
            ``base_url`` is any endpoint that speaks OpenAI's chat protocol.
        api_key: The key; where it is not given, the provider's environment variable.
        base_url: Where the provider is reached.
        temperature: How freely it speaks.
        max_tokens: How much it may answer.
        timeout: Seconds until a request is given up.
        max_retries: How often the provider's SDK tries again by itself.
        **settings: Further settings of the provider, such as ``top_p`` or ``seed``.

    Raises:
        Misuse: The provider is not clear or not known, its package is not installed, or it
            has no key.
    """
    provider, name = split_model_name(model, model_provider)
    from hitl.agent.provider_model import ProviderModel

    given = {
        "temperature": temperature,
        "max_tokens": max_tokens,
        "timeout": timeout,
        "max_retries": max_retries,
        **settings,
    }
    return ProviderModel(
        provider,
        name,
        api_key=api_key,
        base_url=base_url,
        settings={key: value for key, value in given.items() if value is not None},
    )


def split_model_name(model: str | None, model_provider: str | None = None) -> tuple[str, str]:
    """Return provider and name that a model's name stands for.

    Args:
        model: ``"provider:name"`` or a bare name.
        model_provider: The provider; a name with a colon is then taken as it is.

    Raises:
        Misuse: No name is given, or its provider is not clear.
    """
    if not isinstance(model, str) or not model.strip():
        raise Misuse("No model is named.", hint='Write "provider:name", such as "openai:gpt-5.5".')
    model = model.strip()
    if model_provider:
        own = f"{model_provider}:"
        return model_provider, model.removeprefix(own)
    provider, colon, name = model.partition(":")
    if colon and provider.strip() and name.strip():
        return provider.strip(), name.strip()
    for prefix, owner in _PREFIXES:
        if prefix.match(model) and not colon:
            return owner, model
    raise Misuse(
        f"It is not clear which provider the model {model!r} belongs to.",
        hint=f'Write "provider:{name or model}" (such as "openai:...", "anthropic:...", '
        '"google:...", "ollama:..."), or give model_provider=.',
    )
