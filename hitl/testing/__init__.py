"""For users' tests: the suite that a store of your own has to pass. Nothing imports it.

``hitl.testing.conformance`` needs pytest, so it is not loaded from here.
"""

__all__: list[str] = []
