"""Speed of hitl beside hand-written code and its peers: ``python -m benchmarks --help``."""
