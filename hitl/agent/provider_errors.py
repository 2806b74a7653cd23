"""What a provider's failure is called, what to do about it, and that no key is told with it."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_ai import exceptions as theirs

from hitl.agent.model_port import ModelFailed

__all__ = ["check_key", "model_failed", "without_key"]

_UNREACHED = "Check base_url, the network and the provider's state, and try again."

_KINDS: tuple[tuple[type[Exception], str, str], ...] = (
    (
        theirs.ModelContextWindowExceededError,
        "context_length",
        "Send less: remove or summarize old messages and long tool results.",
    ),
    (
        theirs.ModelAuthenticationError,
        "authentication",
        "Check the API key (api_key=, or the provider's environment variable) and what it may use.",
    ),
    (theirs.ModelNotFoundError, "not_found", "Check the model's name and base_url."),
    (
        theirs.ModelQuotaExceededError,
        "quota",
        "The account's quota or credit is used up; waiting does not help.",
    ),
    (theirs.ModelRateLimitError, "rate_limit", "Wait and try again, or raise max_retries=."),
    (
        theirs.ModelRequestRejectedError,
        "rejected",
        "The provider did not accept the request; its message says why.",
    ),
    (theirs.ModelUnavailableError, "unavailable", "The provider is busy: try again later."),
    (theirs.ModelServerError, "server", "The provider has trouble: try again later."),
    (theirs.ModelTimeoutError, "timeout", "Try again, or give a longer timeout=."),
    (theirs.ModelRequestTimeout, "timeout", "Try again, or give a longer request_timeout=."),
    (theirs.ModelConnectionError, "connection", _UNREACHED),
    (
        theirs.ContentFilterError,
        "content_filter",
        "The provider will not answer this; change what is asked.",
    ),
    (OSError, "connection", _UNREACHED),
)
"""Classes of the library's errors, the first that fits; kinds are for programs."""

_OTHER = ("other", "The provider's message says why.")
_UNREADABLE = (
    "unreadable",
    "What came is no answer in this provider's form: check base_url and the provider's name.",
)


def model_failed(error: Exception, provider: str, model: str, key: str | None) -> ModelFailed:
    """Return a provider's failure as ours, without its key.

    Args:
        error: The library's error.
        provider: The provider's name.
        model: The model's name, for people.
        key: The key that was sent, which servers like to repeat.
    """
    status = getattr(error, "status_code", None)
    wait = getattr(error, "retry_after", None)
    kind, hint = _kind(error)
    where = kind if status is None else f"status {status}"
    reason = _reason(getattr(error, "body", None)) or _words(error, status)
    asked = f" It asks to wait {wait:g} seconds." if wait is not None else ""
    return ModelFailed(
        f"The model {model} did not answer ({where}): "
        f"{without_key(reason, key)[:500].rstrip('. ')}.{asked}",
        hint=hint,
        provider=provider,
        model=model,
        status=status,
        kind=kind,
        retry_after=wait,
    )


def without_key(text: str, key: str | None) -> str:
    """Return a text with the key, where it stands in it, taken out."""
    return text.replace(key, "[API key]") if key else text


def check_key(key: str | None) -> str:
    """Return what is wrong with a key that cannot be sent, empty where nothing is.

    A client would fail later and put the whole key into its error.
    """
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        return "its API key holds a line break, a blank or a letter that cannot be sent"
    return ""


def _kind(error: Exception) -> tuple[str, str]:
    found = ((kind, hint) for cls, kind, hint in _KINDS if isinstance(error, cls))
    return next(found, _OTHER if isinstance(error, theirs.ModelHTTPError) else _UNREADABLE)


def _words(error: Exception, status: object) -> str:
    return str(error) or type(error).__name__ if status is None else "no reason given"


def _reason(body: object) -> str:
    """Return the message in the body of a provider's error, wherever it stands."""
    if isinstance(body, Mapping):
        return _reason(body.get("message") or body.get("error") or body.get("detail"))
    if isinstance(body, list):
        return next(filter(None, map(_reason, body)), "")
    return body.strip() if isinstance(body, str) else ""
