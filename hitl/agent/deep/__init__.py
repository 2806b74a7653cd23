"""Deep agents: files with permissions, a todo list, sub-agents, and approvals over all of them."""

from hitl.agent.deep.backend import Backend, FileData, StateBackend
from hitl.agent.deep.create import create_deep_agent
from hitl.agent.deep.folder import FilesystemBackend
from hitl.agent.deep.path_rules import FilesystemPermission
from hitl.agent.deep.subagents import CompiledSubAgent, SubAgent, create_sub_agent

__all__ = [
    "Backend",
    "CompiledSubAgent",
    "FileData",
    "FilesystemBackend",
    "FilesystemPermission",
    "StateBackend",
    "SubAgent",
    "create_deep_agent",
    "create_sub_agent",
]
