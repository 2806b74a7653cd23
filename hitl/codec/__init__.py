"""Floor 1: values to JSON text and back. No pickle, and nothing is imported by name."""

from hitl.codec.pack import pack
from hitl.codec.registry import register, registered
from hitl.codec.text import dumps, loads
from hitl.codec.unpack import unpack

__all__ = ["dumps", "loads", "pack", "register", "registered", "unpack"]
