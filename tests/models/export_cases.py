"""Every way in which one model is exported: from its name to what makes it, and what can become of it."""

from __future__ import annotations

from models.export_bank import Maker
from models.export_bare import FILES_WITHOUT_NAMES
from models.export_named import FILES_OF_KERAS, FILES_WITH_NAMES

ALL: dict[str, Maker] = {**FILES_WITHOUT_NAMES, **FILES_WITH_NAMES, **FILES_OF_KERAS}
NEVER_RIGHT = frozenset(
    {
        *("shuffled", "shuffled, 1 was nein, network", "income as a logarithm", "a constant instead of Alter"),
        *("without PLZ", "PLZ as a number", "a category more", "Alter and Laufzeit exchanged"),
        *("three classes, another order", "three classes, rotated", "three classes, shuffled"),
        "three classes, rotated, get_dummies",
        "skops, dummies, frame, income as a logarithm",
        *("skops, pipeline of columns, array, numbers first", "Keras, block of numbers reversed, words looked up"),
    }
)
"""What no usual way reads rightly: it must be stopped, whatever is brought. All others must end confirmed by known
answers.
"""
SLOW_OR_ALIKE = frozenset(
    {
        *("get_dummies, 1 was nein", "get_dummies, network", "get_dummies, numbers standardised", "data 0/1, 1 is ja"),
        *(
            "get_dummies, all standardised",
            "good/bad, 1 was good",
            "skops, dummies, array",
            "codes, sorted, numbers first",
        ),
        *(
            "one-hot, as the file, network",
            "skl2onnx, an input a column",
            "skl2onnx, one matrix",
            "one-hot, as the file, .nnet",
        ),
        *("Keras, an input a column, embeddings of sorted codes", "Keras, block of numbers, block of one-hot"),
        *("Keras, block of numbers, words looked up", "Keras, block of numbers reversed, words looked up"),
        *("skops, boosting on histograms", "skops, pipeline of columns, array", "three classes, rotated"),
    }
)
"""Left to ``python -m benchmarks.reading``."""
