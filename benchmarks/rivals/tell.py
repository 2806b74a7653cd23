"""What each peer's module does when it is run: measure, and print figures as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from importlib import metadata

from benchmarks.measure import Figure, Scale, scaled

__all__ = ["tell"]


def tell(figures: Callable[[Scale], list[Figure]], *packages: str) -> None:
    """Measure, and print ``{"figures": [...], "versions": {...}}`` as the last line.

    Args:
        figures: Measures.
        packages: Distributions whose versions belong to the result.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    with scaled(quick=parser.parse_args().quick) as scale:
        found = [figure.as_json() for figure in figures(scale)]
    versions = {name: metadata.version(name) for name in packages}
    print(json.dumps({"figures": found, "versions": versions}))
