"""Floor 4: which calls wait for a human. Needs values and errors only; does no I/O."""

import importlib
from typing import TYPE_CHECKING

from hitl.policy.config import InterruptOnConfig
from hitl.policy.facts import ToolFacts, Tools
from hitl.policy.interrupt_on import DESCRIPTION_PREFIX, InterruptOn
from hitl.policy.request import (
    Action,
    ActionRequest,
    ApproveDecision,
    EditDecision,
    HITLDecision,
    HITLRequest,
    HITLResponse,
    RejectDecision,
    RespondDecision,
    ReviewConfig,
    ToolCallRequest,
)
from hitl.policy.strictest import strictest
from hitl.policy.verdict import (
    DECISIONS,
    NO_OBLIGATIONS,
    DeadlineRule,
    GrantRule,
    Obligations,
    ReviewerRule,
    Verdict,
    VerdictEffect,
)

if TYPE_CHECKING:
    from hitl.policy.cases import Case, failing_cases, read_cases
    from hitl.policy.changes import Change, diff
    from hitl.policy.explain import Explanation
    from hitl.policy.finding import Finding
    from hitl.policy.glob import compile_glob, literal_prefix
    from hitl.policy.paths import Root, pattern_anchor, search_within, within
    from hitl.policy.policy import Policy
    from hitl.policy.starter import starter

_LATER = {
    "Case": "cases",
    "Change": "changes",
    "Explanation": "explain",
    "Finding": "finding",
    "Policy": "policy",
    "Root": "paths",
    "compile_glob": "glob",
    "diff": "changes",
    "failing_cases": "cases",
    "literal_prefix": "glob",
    "pattern_anchor": "paths",
    "read_cases": "cases",
    "search_within": "paths",
    "starter": "starter",
    "within": "paths",
}
"""What only policy files need, and the module of each: it loads on first use."""

__all__ = [
    "DECISIONS",
    "DESCRIPTION_PREFIX",
    "NO_OBLIGATIONS",
    "Action",
    "ActionRequest",
    "ApproveDecision",
    "Case",
    "Change",
    "DeadlineRule",
    "EditDecision",
    "Explanation",
    "Finding",
    "GrantRule",
    "HITLDecision",
    "HITLRequest",
    "HITLResponse",
    "InterruptOn",
    "InterruptOnConfig",
    "Obligations",
    "Policy",
    "RejectDecision",
    "RespondDecision",
    "ReviewConfig",
    "ReviewerRule",
    "Root",
    "ToolCallRequest",
    "ToolFacts",
    "Tools",
    "Verdict",
    "VerdictEffect",
    "compile_glob",
    "diff",
    "failing_cases",
    "literal_prefix",
    "pattern_anchor",
    "read_cases",
    "search_within",
    "starter",
    "strictest",
    "within",
]


def __getattr__(name: str) -> object:
    """Load what only policy files need, once."""
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
