"""``Policy``: one or more layers of rules that judge an agent's tool calls.

Owns how a policy comes to be (from a file, a text, an ``interrupt_on``, other policies) and the
verbs that users have for it. A policy never changes; judging does no I/O except that conditions
on paths look at the disk.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from hitl.errors import Misuse
from hitl.policy.condition import NO_ARGS, Args
from hitl.policy.facts import ToolFacts, Tools, facts_of
from hitl.policy.interrupt_on import InterruptOn
from hitl.policy.layer import FileLayer, InterruptOnLayer, Layer
from hitl.policy.request import ToolCallRequest
from hitl.policy.strictest import strictest
from hitl.policy.verdict import Verdict
from hitl.values import Json, ToolCall, canonical

if TYPE_CHECKING:
    from hitl.policy.config import InterruptOnConfig
    from hitl.policy.explain import Explanation
    from hitl.policy.finding import Finding

__all__ = ["Policy"]

_KEPT = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """Rules about tool calls; make one with :meth:`load`, :meth:`from_text` and the like.

    Attributes:
        layers: What is judged, each by itself; the strictest verdict counts.
        tools: The tools of the agent, None where it is not bound to one.
    """

    layers: tuple[Layer, ...]
    tools: Mapping[str, ToolFacts] | None = None
    _policy_id: str = field(init=False, repr=False)
    _only: FileLayer | None = field(init=False, repr=False)
    _merged: dict[tuple[int, ...], tuple[list[Verdict], Verdict]] = field(
        init=False, repr=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        first = self.layers[0]
        only = first if len(self.layers) == 1 and isinstance(first, FileLayer) else None
        object.__setattr__(self, "_only", only)
        object.__setattr__(self, "_policy_id", _together(self.layers))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Return the policy of a file, YAML or JSON.

        Args:
            path: The file; relative roots in it start at its folder.

        Raises:
            BadPolicy: It is not a policy; everything that is wrong is listed.
            Misuse: It cannot be read, or a library that it needs is not installed.
        """
        from hitl.policy.reading import decode

        file = Path(path)
        try:
            raw = file.read_bytes()
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise Misuse(f"The policy {file} cannot be read: {reason}.") from error
        folder = str(file.parent.absolute())
        return cls.from_text(decode(raw, str(file)), name=str(file), folder=folder)

    @classmethod
    def from_text(cls, text: str, *, name: str = "policy", folder: str = "") -> Policy:
        """Return the policy that a text is, YAML or JSON.

        Args:
            text: The text; JSON if it begins with "{".
            name: What findings and verdicts call it.
            folder: Where relative roots start; the current folder by default.

        Raises:
            BadPolicy: It is not a policy; everything that is wrong is listed.
            Misuse: A library that it needs is not installed.
        """
        from hitl.policy.compiling import compile_rules
        from hitl.policy.document_reading import read_document
        from hitl.policy.finding import refuse
        from hitl.policy.reading import read_text

        marked = read_text(text, name)
        document = read_document(marked)
        policy_id = _hash(marked.data)
        rules = compile_rules(document, marked, folder=folder, policy_id=policy_id)
        refuse(name, rules.findings)
        layer = FileLayer(
            name, policy_id, rules.rules, document.default, document.unknown_tool, rules.roots
        )
        return cls((layer,))

    @classmethod
    def from_interrupt_on(
        cls, interrupt_on: Mapping[str, bool | InterruptOnConfig] | InterruptOn
    ) -> Policy:
        """Return an ``interrupt_on`` as a policy of one layer, with its own law.

        Args:
            interrupt_on: The map, compiled or not.

        Raises:
            Misuse: Something in the map is wrong.
        """
        if not isinstance(interrupt_on, InterruptOn):
            interrupt_on = InterruptOn.compile(interrupt_on)
        return cls((InterruptOnLayer(interrupt_on),))

    @classmethod
    def layered(cls, *policies: Policy) -> Policy:
        """Return several policies as one; for every call the strictest of them counts.

        Args:
            policies: At least one: an organisation's, a project's, a thread's.

        Raises:
            Misuse: There is none, or two are bound to different tools.
        """
        if not policies:
            raise Misuse("No policy was given.", hint="Give at least one.")
        bound = [policy.tools for policy in policies if policy.tools is not None]
        if any(tools != bound[0] for tools in bound):
            raise Misuse("The policies are bound to different tools.", hint="Bind the whole.")
        layers = dict.fromkeys(layer for policy in policies for layer in policy.layers)
        return cls(tuple(layers), bound[0] if bound else None)

    def __and__(self, other: object) -> Policy:
        """Return both as one policy; the stricter verdict counts."""
        return Policy.layered(self, other) if isinstance(other, Policy) else NotImplemented

    @property
    def policy_id(self) -> str:
        """The SHA-256 of what the files say, empty where there is none; order does not count."""
        return self._policy_id

    @property
    def grants(self) -> bool:
        """Whether any rule permits that answers are remembered."""
        return any(
            rule.verdict.obligations.grants is not None
            for layer in self.layers
            if isinstance(layer, FileLayer)
            for rule in layer.rules
        )

    def bind(self, tools: Tools) -> Policy:
        """Return the policy for an agent's tools, so that ``unknown_tool`` holds for all others.

        Args:
            tools: The tools: facts, names, or a map from names to argument schemas.

        Raises:
            Misuse: Something among them is no tool.
        """
        return Policy(self.layers, facts_of(tools))

    def judge(self, call: ToolCall, context: ToolCallRequest | None = None) -> Verdict:
        """Return what is to happen with a call.

        Args:
            call: The call as the model proposed it: ``name`` and ``args``.
            context: What surrounds it, for code in an ``interrupt_on``.
        """
        name, args, known = self._asked(call)
        if self._only is not None:
            return self._only.judge(name, args, known)
        said = self._said(call, context)
        return said[0] if len(said) == 1 else self._strictest(said)

    def explain(self, call: ToolCall, context: ToolCallRequest | None = None) -> Explanation:
        """Return why a call gets its verdict; code in an ``interrupt_on`` is called once.

        Args:
            call: The call as the model proposed it.
            context: What surrounds it, for code in an ``interrupt_on``.
        """
        from hitl.policy.explain import explain

        name, args, _ = self._asked(call)
        said = self._said(call, context)
        verdict = said[0] if len(said) == 1 else self._strictest(said)
        return explain(self.layers, said, verdict, name, args)

    def check(self, tools: Tools | None = None) -> list[Finding]:
        """Return what is odd about the policy: warnings, and errors against an agent's tools.

        Args:
            tools: The agent's tools; those that the policy is bound to where not given.

        Raises:
            Misuse: Something among them is no tool.
        """
        from hitl.policy.check import check

        return check(self.layers, self.tools if tools is None else facts_of(tools))

    def test(self) -> list[Finding]:
        """Return the examples in rules that fail; loading a file runs them, too."""
        from hitl.policy.compiling import failing_examples

        files = [layer for layer in self.layers if isinstance(layer, FileLayer)]
        return [one for layer in files for one in failing_examples(layer.rules, layer.name)]

    def _asked(self, call: ToolCall) -> tuple[str, Args, bool]:
        """Return a call's tool and arguments, and whether the agent has the tool."""
        name: object = call["name"]
        args: object = call["args"]
        if not isinstance(args, dict):
            args = NO_ARGS
        if type(name) is not str:
            return "", args, False
        return name, args, self.tools is None or name in self.tools

    def _said(self, call: ToolCall, context: ToolCallRequest | None) -> list[Verdict]:
        """Return what each layer says about a call."""
        name, args, known = self._asked(call)
        return [
            layer.judge(name, args, known)
            if isinstance(layer, FileLayer)
            else layer.interrupt_on.judge(call, lambda: context or ToolCallRequest(call))
            for layer in self.layers
        ]

    def _strictest(self, said: list[Verdict]) -> Verdict:
        """Return what the layers say together, remembered by the very objects that they gave."""
        key = tuple(map(id, said))
        merged = self._merged.get(key)
        if merged is None:
            if len(self._merged) > _KEPT:
                self._merged.clear()
            merged = self._merged[key] = (said, strictest(said, self._policy_id))
        return merged[1]


def _hash(data: Json) -> str:
    """Return the hash of what a document says; the order of its rules does not count."""
    if isinstance(data, dict) and isinstance(data.get("rules"), list):
        rules = data["rules"]
        data = {**data, "rules": sorted(rules, key=canonical) if isinstance(rules, list) else rules}
    return sha256(canonical(data)).hexdigest()


def _together(layers: tuple[Layer, ...]) -> str:
    """Return one id for all layers: that of the only file, or a hash of all files' ids."""
    ids = sorted({layer.policy_id for layer in layers if layer.policy_id})
    if len(ids) < 2:
        return ids[0] if ids else ""
    return sha256("".join(ids).encode()).hexdigest()
