"""Lets ``python -m hitl.cli`` do what the command ``hitl`` does."""

from __future__ import annotations

import sys

from hitl.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
