"""When a node that failed is tried again, and after how long. Pure: it waits for nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hitl.errors import HitlError, Misuse, NodeTimeoutError

__all__ = ["RetryPolicy", "read_policies", "wait_before_retry"]

_OF_THE_PROGRAM = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    ImportError,
    LookupError,
    MemoryError,
    NameError,
    OSError,
    ReferenceError,
    RuntimeError,
    StopAsyncIteration,
    StopIteration,
    SyntaxError,
    TypeError,
    ValueError,
)
_SERVER_ERRORS = range(500, 600)


def _passes(error: Exception) -> bool:
    """Return whether an error may be gone at the next try.

    Those of a connection, of a server (an HTTP status from 500 on), of time running out, and
    of kinds that are not Python's own. Python's own tell of the program, which is the same then.
    """
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(status, int):
        return status in _SERVER_ERRORS
    return not isinstance(error, _OF_THE_PROGRAM)


RetryOn = type[Exception] | Sequence[type[Exception]] | Callable[[Exception], bool]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When a node is tried again.

    Attributes:
        initial_interval: Seconds before the second attempt.
        backoff_factor: How much longer each wait is than the one before.
        max_interval: Seconds that no wait is longer than.
        max_attempts: How often the node is begun at the most, the first time included.
        jitter: Whether each wait is cut by a random part, up to half, so that many that failed
            together do not come back together.
        retry_on: Which errors: classes, or a function of the error. By default those of
            connections, servers and time, and kinds of error that are not Python's own.

    Raises:
        Misuse: A number makes no sense, or ``retry_on`` is none of these.
    """

    initial_interval: float = 0.5
    backoff_factor: float = 2.0
    max_interval: float = 128.0
    max_attempts: int = 3
    jitter: bool = True
    retry_on: RetryOn = _passes

    def __post_init__(self) -> None:
        """Check the numbers and the errors."""
        if self.max_attempts < 1 or self.backoff_factor <= 0:
            raise Misuse("A RetryPolicy needs max_attempts of 1 or more and a backoff_factor > 0.")
        if self.initial_interval < 0 or self.max_interval < 0:
            raise Misuse("The intervals of a RetryPolicy are seconds, 0 or more.")
        kinds = self.retry_on if isinstance(self.retry_on, list | tuple) else [self.retry_on]
        for kind in kinds:
            is_error = isinstance(kind, type) and issubclass(kind, Exception)
            if not is_error and (kind is not self.retry_on or not callable(kind)):
                raise Misuse(
                    f"retry_on holds {kind!r}, which is no kind of error.",
                    hint="Give exception classes, or one function of the error.",
                )

    def takes(self, error: Exception) -> bool:
        """Return whether this policy is about an error."""
        on = self.retry_on
        if isinstance(on, type):
            return isinstance(error, on)
        if isinstance(on, Sequence):
            return isinstance(error, tuple(on))
        return bool(on(error))

    def wait(self, attempt: int) -> float:
        """Return how many seconds to wait after an attempt, counted from 1, has failed."""
        grown = self.initial_interval * self.backoff_factor ** min(attempt - 1, 1000)
        seconds = min(grown, self.max_interval)
        if not self.jitter:
            return seconds
        import random

        return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - nothing secret


def read_policies(given: object, where: str) -> tuple[RetryPolicy, ...]:
    """Return what ``retry_policy=`` was given, as a tuple.

    Raises:
        Misuse: It is no policy, nor a sequence of them.
    """
    if given is None:
        return ()
    policies = tuple(given) if isinstance(given, list | tuple) else (given,)
    for policy in policies:
        if not isinstance(policy, RetryPolicy):
            raise Misuse(
                f"{where} has a {type(policy).__name__} as its retry_policy.",
                hint="Give RetryPolicy(...), or a list of them.",
            )
    return policies


def wait_before_retry(
    policies: Iterable[RetryPolicy], error: Exception, attempt: int
) -> float | None:
    """Return the seconds to wait before the next attempt; None where there is to be none.

    What this library refuses it refuses again, so its own errors are not tried again, except
    that a node took too long.
    """
    if isinstance(error, HitlError) and not isinstance(error, NodeTimeoutError):
        return None
    policy = next((one for one in policies if one.takes(error)), None)
    if policy is None or attempt >= policy.max_attempts:
        return None
    return policy.wait(attempt)
