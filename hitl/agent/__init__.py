"""Floor 5, the agent: messages, tools, models, middleware, the loop over them, and the gate."""

from hitl.agent.approval import HumanInTheLoopMiddleware
from hitl.agent.gate import Gate, GateResult
from hitl.agent.hooks import (
    after_agent,
    after_model,
    before_agent,
    before_model,
    dynamic_prompt,
    hook_config,
    wrap_model_call,
    wrap_tool_call,
)
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
from hitl.agent.middleware import (
    AgentMiddleware,
    AgentState,
    OmitFromInput,
    OmitFromOutput,
    PrivateStateAttr,
)
from hitl.agent.model import ChatModel, ModelFailed, ModelInput, ToolSpec
from hitl.agent.model_port import OutputSpec
from hitl.agent.model_request import (
    ExtendedModelResponse,
    ModelCallResult,
    ModelRequest,
    ModelResponse,
)
from hitl.agent.patch_tool_calls import PatchToolCallsMiddleware
from hitl.agent.providers import init_chat_model
from hitl.agent.pushing import push_message
from hitl.agent.scripted import ScriptedModel
from hitl.agent.structured import (
    AutoStrategy,
    MultipleStructuredOutputsError,
    ProviderStrategy,
    ResponseFormat,
    StructuredOutputError,
    StructuredOutputValidationError,
    ToolStrategy,
)
from hitl.agent.telemetry import instrument, uninstrument
from hitl.agent.tool import (
    BaseTool,
    Happened,
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InjectedToolCallId,
    Tool,
    ToolException,
    ToolInvocationError,
    ToolRuntime,
    tool,
)
from hitl.agent.tool_facts import tool_facts
from hitl.agent.tool_node import ToolNode, tools_condition
from hitl.agent.wording import TOOL_CALL_ERROR_TEMPLATE

__all__ = [
    "REMOVE_ALL_MESSAGES",
    "TOOL_CALL_ERROR_TEMPLATE",
    "AIMessage",
    "AIMessageChunk",
    "AgentMiddleware",
    "AgentState",
    "AnyMessage",
    "AutoStrategy",
    "BaseMessage",
    "BaseTool",
    "ChatModel",
    "ExtendedModelResponse",
    "Gate",
    "GateResult",
    "Happened",
    "HumanInTheLoopMiddleware",
    "HumanMessage",
    "InjectedState",
    "InjectedStore",
    "InjectedToolArg",
    "InjectedToolCallId",
    "MessagesState",
    "ModelCallResult",
    "ModelFailed",
    "ModelInput",
    "ModelRequest",
    "ModelResponse",
    "MultipleStructuredOutputsError",
    "OmitFromInput",
    "OmitFromOutput",
    "OutputSpec",
    "PatchToolCallsMiddleware",
    "PrivateStateAttr",
    "ProviderStrategy",
    "RemoveMessage",
    "ResponseFormat",
    "ScriptedModel",
    "StructuredOutputError",
    "StructuredOutputValidationError",
    "SystemMessage",
    "Tool",
    "ToolException",
    "ToolInvocationError",
    "ToolMessage",
    "ToolNode",
    "ToolRuntime",
    "ToolSpec",
    "ToolStrategy",
    "add_messages",
    "after_agent",
    "after_model",
    "before_agent",
    "before_model",
    "create_agent",
    "dynamic_prompt",
    "hook_config",
    "init_chat_model",
    "instrument",
    "push_message",
    "tool",
    "tool_facts",
    "tools_condition",
    "uninstrument",
    "wrap_model_call",
    "wrap_tool_call",
]
