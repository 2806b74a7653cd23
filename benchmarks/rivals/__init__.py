"""The same work in the peers' words: each module prints its figures as JSON, see ``paired``."""
