"""Floor 0: frozen values that all other floors speak in. No I/O beyond reading the clock."""

from hitl.values.call import EFFECTS, Effect, ToolCall
from hitl.values.clock import Clock, ManualClock, SystemClock, iso
from hitl.values.command import END, NO_ANSWER, START, Command, NoAnswer, Overwrite, Send
from hitl.values.commit import (
    CHECKPOINTS,
    LIVE,
    RUN_KINDS,
    Commit,
    Draft,
    Entry,
    ItemChange,
    Loaded,
    Mark,
    Receipt,
)
from hitl.values.grant import Grant, GrantScope
from hitl.values.ids import checkpoint_id, derive, is_id, new_salt, parse_checkpoint_id
from hitl.values.jsonable import Json, canonical, fingerprint, plain
from hitl.values.question import (
    Decision,
    DecisionType,
    Interrupt,
    Item,
    ItemKind,
    ItemState,
)
from hitl.values.snapshot import (
    INTERRUPT,
    Config,
    GraphOutput,
    Output,
    PregelTask,
    StateSnapshot,
    StateUpdate,
)

__all__ = [
    "CHECKPOINTS",
    "EFFECTS",
    "END",
    "INTERRUPT",
    "LIVE",
    "NO_ANSWER",
    "RUN_KINDS",
    "START",
    "Clock",
    "Command",
    "Commit",
    "Config",
    "Decision",
    "DecisionType",
    "Draft",
    "Effect",
    "Entry",
    "Grant",
    "GrantScope",
    "GraphOutput",
    "Interrupt",
    "Item",
    "ItemChange",
    "ItemKind",
    "ItemState",
    "Json",
    "Loaded",
    "ManualClock",
    "Mark",
    "NoAnswer",
    "Output",
    "Overwrite",
    "PregelTask",
    "Receipt",
    "Send",
    "StateSnapshot",
    "StateUpdate",
    "SystemClock",
    "ToolCall",
    "canonical",
    "checkpoint_id",
    "derive",
    "fingerprint",
    "is_id",
    "iso",
    "new_salt",
    "parse_checkpoint_id",
    "plain",
]
