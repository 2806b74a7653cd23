"""A model of a provider, over pydantic-ai's direct requests (the extra ``models``).

HTTP, retries and the providers' own forms are the library's. All requests of one process run
on one event loop in a thread of its own: a client with its open connections belongs to one
loop, and so sync and async code may share a model.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import inspect
import os
import queue
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, cast

from hitl.agent.messages import AIMessage, AIMessageChunk, Content
from hitl.agent.model_port import ModelInput
from hitl.errors import HitlError, Misuse

try:
    from pydantic_ai import direct
    from pydantic_ai.exceptions import AgentRunError, UnexpectedModelBehavior, UserError
    from pydantic_ai.messages import (
        PartDeltaEvent,
        PartEndEvent,
        PartStartEvent,
        TextPart,
        TextPartDelta,
        ThinkingPart,
    )
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import infer_provider, infer_provider_class
    from pydantic_ai.settings import ModelSettings

    from hitl.agent.provider_errors import check_key, model_failed, without_key
    from hitl.agent.provider_messages import (
        from_response,
        parameters,
        thinking_block,
        to_requests,
    )
except ImportError as error:
    raise Misuse(
        f"Models of providers need a package that is not installed ({error}).",
        hint="Install this library with its extra 'models': pip install '.[models]' in a clone.",
    ) from error

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

__all__ = ["ProviderModel"]


_KINDS = {
    # The chat protocol is the one that every compatible endpoint speaks.
    "openai": "openai-chat",
    "azure_openai": "azure",
    "google_genai": "google",
    "google_vertexai": "google-cloud",
    "bedrock_converse": "bedrock",
    "mistralai": "mistral",
}
"""Names of providers that people know from elsewhere, and what the library calls them."""


class ProviderModel:
    """A model of a provider. Made by ``init_chat_model``.

    Args:
        provider: The provider's name.
        model: The model's name there.
        api_key: The key; None for the provider's environment variable.
        base_url: Where it is reached; None for the provider's own place.
        settings: What goes with every request.

    Attributes:
        name: ``provider:model``.

    Raises:
        Misuse: The provider or a setting is not known, or something is missing for it.
    """

    def __init__(
        self,
        provider: str,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self.name = f"{provider}:{model}"
        self.provider = provider
        self._settings = _checked_settings(provider, settings or {})
        self._model = _library_model(provider, model, api_key, base_url)
        self._key = _key_of(self._model)
        if wrong := check_key(api_key or self._key):
            raise Misuse(
                f"The model {self.name} cannot be used: {wrong}.",
                hint="Strip the key, or check the environment variable.",
            )

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    @property
    def structured_output(self) -> bool:
        """Return whether the provider holds an answer to a schema."""
        return bool(self._model.profile.get("supports_json_schema_output", False))

    def generate(self, request: ModelInput) -> AIMessage:
        """Return the provider's answer.

        Args:
            request: The conversation.

        Raises:
            ModelFailed: The provider did not answer.
            Misuse: Something in the request cannot be sent.
        """
        future = asyncio.run_coroutine_threadsafe(self._ask(request), _loop())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def agenerate(self, request: ModelInput) -> AIMessage:
        """Return the provider's answer, without blocking the event loop.

        Args:
            request: The conversation.

        Raises:
            ModelFailed: The provider did not answer.
            Misuse: Something in the request cannot be sent.
        """
        future = asyncio.run_coroutine_threadsafe(self._ask(request), _loop())
        return await asyncio.wrap_future(future)

    def stream(self, request: ModelInput) -> Iterator[AIMessageChunk]:
        """Return the pieces of the provider's answer as they arrive.

        Args:
            request: The conversation.

        Raises:
            ModelFailed: The provider did not answer, or stopped in the middle.
            Misuse: Something in the request cannot be sent.
        """
        pieces: queue.SimpleQueue[AIMessageChunk | None] = queue.SimpleQueue()
        future = asyncio.run_coroutine_threadsafe(self._tell(request, pieces.put), _loop())
        future.add_done_callback(lambda _: pieces.put(None))
        try:
            while (piece := pieces.get()) is not None:
                yield piece
            future.result()
        finally:
            future.cancel()

    async def astream(self, request: ModelInput) -> AsyncIterator[AIMessageChunk]:
        """Return the pieces of the provider's answer as they arrive.

        Args:
            request: The conversation.

        Raises:
            ModelFailed: The provider did not answer, or stopped in the middle.
            Misuse: Something in the request cannot be sent.
        """
        here = asyncio.get_running_loop()
        pieces: asyncio.Queue[AIMessageChunk | None] = asyncio.Queue()

        def put(piece: AIMessageChunk | None) -> None:
            # The reader's loop may be gone by the time the last piece comes.
            with contextlib.suppress(RuntimeError):
                here.call_soon_threadsafe(pieces.put_nowait, piece)

        future = asyncio.run_coroutine_threadsafe(self._tell(request, put), _loop())
        future.add_done_callback(lambda _: put(None))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            await asyncio.wrap_future(future)
        finally:
            future.cancel()

    async def _ask(self, request: ModelInput) -> AIMessage:
        with self._errors():
            response = await direct.model_request(
                self._model,
                to_requests(request.messages),
                model_settings=self._settings_for(request),
                model_request_parameters=parameters(request.tools, request.output),
            )
            if not response.parts and response.finish_reason is None:
                raise UnexpectedModelBehavior("The answer holds nothing at all")
        return from_response(response)

    async def _tell(self, request: ModelInput, put: Callable[[AIMessageChunk], None]) -> None:
        with self._errors():
            async with direct.model_request_stream(
                self._model,
                to_requests(request.messages),
                model_settings=self._settings_for(request),
                model_request_parameters=parameters(request.tools, request.output),
            ) as stream:
                async for event in stream:
                    content = _piece(event)
                    if content:
                        put(AIMessageChunk(content))
                whole = from_response(stream.get())
        put(
            AIMessageChunk(
                "",
                tool_calls=whole.tool_calls,
                invalid_tool_calls=whole.invalid_tool_calls,
                usage_metadata=whole.usage_metadata,
                response_metadata=whole.response_metadata,
            )
        )

    def _settings_for(self, request: ModelInput) -> ModelSettings:
        settings = self._settings | _checked_settings(self.provider, request.settings)
        choice = request.tool_choice
        if choice is not None:
            named = choice not in ("auto", "required", "none")
            settings["tool_choice"] = [choice] if named else choice
        return cast("ModelSettings", settings)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except HitlError:
            raise
        except UserError as error:
            raise Misuse(f"The model {self.name} cannot do this: {error}") from error
        except _FAILURES as error:
            failed = model_failed(error, self.provider, self.name, self._key)
            told = (
                without_key(f"{error}{error.__cause__}", self._key) == f"{error}{error.__cause__}"
            )
            # A traceback shows the cause, which must not tell the key either.
            raise failed from (error if told else None)


_FAILURES = (AgentRunError, OSError, TypeError, ValueError, LookupError, AttributeError)
"""What the library and the providers' SDKs raise; the last four at an answer of another form."""


def _piece(event: object) -> Content:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    if isinstance(event, PartEndEvent) and isinstance(event.part, ThinkingPart):
        return [thinking_block(event.part)]
    return ""


# --- making -----------------------------------------------------------------------------


def _checked_settings(provider: str, settings: Mapping[str, object]) -> dict[str, object]:
    known = ModelSettings.__annotations__
    own = re.split(r"[-_]", provider)[0] + "_"
    for key in settings:
        if key not in known and not key.startswith(own):
            near = difflib.get_close_matches(key, known, n=1)
            raise Misuse(
                f"A model has no setting {key!r}.",
                hint=f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(known)}.",
            )
    return dict(settings)


def _library_model(provider: str, model: str, api_key: str | None, base_url: str | None) -> Model:
    kind = _KINDS.get(provider, _KINDS.get(provider.replace("-", "_"), provider))
    asked = (("api_key", api_key), ("base_url", base_url))
    given = {key: value for key, value in asked if value is not None}
    try:
        return infer_model(f"{kind}:{model}", lambda name: _library_provider(name, given))
    except ImportError as error:
        raise Misuse(
            f"The provider {provider!r} needs a package that is not installed: {error}."
        ) from error
    except (UserError, ValueError) as error:
        if isinstance(error, HitlError):
            raise
        raise Misuse(
            f"The model {provider}:{model} cannot be used: {error}.",
            hint="Providers are openai, anthropic, google, ollama and others; any endpoint that "
            'speaks OpenAI\'s chat protocol is model_provider="openai" with base_url=.',
        ) from error


def _key_of(model: Model) -> str | None:
    """Return the key that a model's client will send, to keep it out of errors."""
    client = getattr(model, "client", None)
    for holder in (client, getattr(client, "_api_client", None)):
        key = getattr(holder, "api_key", None)
        if isinstance(key, str):
            return key
    return None


def _library_provider(name: str, given: dict[str, str]) -> Provider[object]:
    if not given:
        return infer_provider(name)
    kind = infer_provider_class(name)
    takes = inspect.signature(kind).parameters
    for key in given:
        if key not in takes:
            raise Misuse(
                f"The provider {name!r} takes no {key}.",
                hint='For an endpoint of your own, use model_provider="openai" with base_url=.',
            )
    return cast("Provider[object]", cast("Callable[..., object]", kind)(**given))


# --- the loop ---------------------------------------------------------------------------


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="hitl-models", daemon=True).start()
    return loop


if hasattr(os, "register_at_fork"):
    # A forked child has the loop, but not the thread that ran it.
    os.register_at_fork(after_in_child=_loop.cache_clear)
