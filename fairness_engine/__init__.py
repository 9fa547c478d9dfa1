"""The engine: what is asked of a model, and how it is answered."""

__version__ = "0.1.0"
"""Of the whole project; the package's metadata and the runs of the store have it from here."""
