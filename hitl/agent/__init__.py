"""Floor 5, the agent: messages, tools, models, middleware, the loop over them, and the gate."""

from hitl.agent.approval import HumanInTheLoopMiddleware
from hitl.agent.gate import Gate, GateResult
from hitl.agent.loop import create_agent
from hitl.agent.messages import (
    REMOVE_ALL_MESSAGES,
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    MessagesState,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    add_messages,
)
from hitl.agent.middleware import AgentMiddleware, AgentState, ModelRequest
from hitl.agent.model import ChatModel, ModelFailed, ModelInput, ToolSpec
from hitl.agent.patch_tool_calls import PatchToolCallsMiddleware
from hitl.agent.providers import init_chat_model
from hitl.agent.pushing import push_message
from hitl.agent.scripted import ScriptedModel
from hitl.agent.telemetry import instrument, uninstrument
from hitl.agent.tool import (
    BaseTool,
    Happened,
    InjectedState,
    InjectedToolArg,
    InjectedToolCallId,
    Tool,
    ToolException,
    ToolRuntime,
    tool,
)
from hitl.agent.tool_facts import tool_facts

__all__ = [
    "REMOVE_ALL_MESSAGES",
    "AIMessage",
    "AIMessageChunk",
    "AgentMiddleware",
    "AgentState",
    "AnyMessage",
    "BaseMessage",
    "BaseTool",
    "ChatModel",
    "Gate",
    "GateResult",
    "Happened",
    "HumanInTheLoopMiddleware",
    "HumanMessage",
    "InjectedState",
    "InjectedToolArg",
    "InjectedToolCallId",
    "MessagesState",
    "ModelFailed",
    "ModelInput",
    "ModelRequest",
    "PatchToolCallsMiddleware",
    "RemoveMessage",
    "ScriptedModel",
    "SystemMessage",
    "Tool",
    "ToolException",
    "ToolMessage",
    "ToolRuntime",
    "ToolSpec",
    "add_messages",
    "create_agent",
    "init_chat_model",
    "instrument",
    "push_message",
    "tool",
    "tool_facts",
    "uninstrument",
]
