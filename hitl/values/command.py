"""What a caller or a node tells the graph: where to go, what to write, what the answer is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Generic

from hitl.errors import Misuse

if TYPE_CHECKING:  # a default of its own, so that Command stands for Command[str]
    from typing_extensions import TypeVar

    N = TypeVar("N", bound=str, default=str)
else:
    from typing import TypeVar

    N = TypeVar("N")

__all__ = ["END", "NO_ANSWER", "START", "Command", "NoAnswer", "Overwrite", "Send"]

START: Final = "__start__"
END: Final = "__end__"


class NoAnswer:
    """The mark for "no answer given", so that ``None`` can be one."""

    def __repr__(self) -> str:
        return "NO_ANSWER"


NO_ANSWER: Final = NoAnswer()


@dataclass(frozen=True, slots=True)
class Send:
    """One more task of a node in the next superstep, with its own input.

    Attributes:
        node: Name of the node.
        arg: What the node gets in place of the state.
    """

    node: str
    arg: object


@dataclass(frozen=True, slots=True)
class Overwrite:
    """A write that becomes the value as it is: the channel's reducer is not asked.

    What else is written to the channel in the same superstep is dropped; two of these in one
    superstep do not fit together.

    Attributes:
        value: The channel's next value.
    """

    value: object


Goto = str | Send | Sequence[str | Send]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Generic[N]):
    """An instruction to a graph, given to ``invoke`` or returned by a node.

    A node says where it may go by its return type, ``Command[Literal["a", "b"]]``: a drawing
    of the graph shows it.

    Attributes:
        graph: ``Command.PARENT`` addresses the graph around this one.
        update: What to write to the state.
        resume: The answer to what waits: a plain value where one question is open, or a map
            from ids to answers. Every value counts, ``None`` and ``False`` included.
        goto: Node names or ``Send`` objects to go to next.
    """

    graph: str | None = None
    update: object = None
    resume: object = NO_ANSWER
    goto: Goto = ()

    PARENT: ClassVar[str] = "__parent__"

    def targets(self) -> tuple[str | Send, ...]:
        """Return ``goto`` as a tuple.

        Raises:
            Misuse: It holds something that is neither a node's name nor a ``Send``.
        """
        goto = (self.goto,) if isinstance(self.goto, str | Send) else tuple(self.goto)
        for target in goto:
            if not isinstance(target, str | Send):
                raise Misuse(
                    f"Command(goto=...) holds a {type(target).__name__}.",
                    hint="Give node names or Send objects.",
                )
        return goto
