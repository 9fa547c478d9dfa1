"""What a term does in the texts of a file, by another route: nothing of the engine is imported here.

Model files are loaded by Keras, or by skops and scikit-learn, themselves; terms are found and swapped by a pattern of
this module's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Again:
    """What was counted.

    Args:
        score: difference of the favourable shares of sentences with the term and of the same ones with other terms.
        inside, outside: those shares.
        n: sentences, each once however often it stands in the file.
        accuracy: share of the texts decided as their outcome was.
    """

    score: float
    inside: float
    outside: float
    n: int
    accuracy: float


def decide(path: Path, texts: Sequence[str], outcomes: Sequence[str]) -> np.ndarray:
    """The outcome that a model file gives each text ``(n_texts,)``.

    Args:
        path: ``.keras`` with one sigmoid, or ``.skops``.
        texts: any.
        outcomes: of the label; of a network the second is that of scores above 0.5.
    """
    if path.suffix == ".keras":
        import keras
        import tensorflow as tf

        network = keras.saving.load_model(path, compile=False)
        scores = [
            np.asarray(network(tf.constant([[text] for text in texts[start : start + 4096]]), training=False))
            for start in range(0, len(texts), 4096)
        ]
        return np.asarray(outcomes, dtype=object)[(np.concatenate(scores).ravel() > 0.5).astype(int)]
    import skops.io

    estimator: Any = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    return np.asarray(estimator.predict(list(texts)), dtype=object)


def measure(
    path: Path,
    texts: Sequence[str],
    labels: Sequence[str],
    outcomes: Sequence[str],
    favourable: str,
    terms: Mapping[str, Sequence[str]],
    category: str,
    term: str,
) -> Again:
    """Swap the terms of a category in the texts that hold one, let a model file decide, and count.

    Args:
        path: of the model.
        texts, labels: of the file.
        outcomes, favourable: of the label.
        terms: by category; a place in a text belongs to the longest.
        category, term: what is looked at.
    """
    owner = {word.lower(): name for name, words in terms.items() for word in words}
    longest = sorted(owner, key=len, reverse=True)
    alternatives = "|".join(re.escape(word).replace(r"\ ", r"[\s\-]+") for word in longest)
    pattern = re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE)
    sentences: dict[str, None] = {}
    for text in texts:
        masked, n = _masked(text, pattern, owner, category)
        if n:
            sentences[masked] = None
    twins = [_filled(sentence, word) for sentence in sentences for word in terms[category]]
    decided = decide(path, twins, outcomes).reshape(len(sentences), -1) == favourable
    here = list(terms[category]).index(term)
    inside = float(decided[:, here].mean())
    outside = float(np.delete(decided, here, axis=1).mean())
    accuracy = float((decide(path, texts, outcomes) == np.asarray(labels, dtype=object)).mean())
    return Again(abs(inside - outside), inside, outside, len(sentences), accuracy)


_GAPS = {"lower": "\x00", "title": "\x01", "upper": "\x02"}


def _masked(text: str, pattern: re.Pattern[str], owner: Mapping[str, str], category: str) -> tuple[str, int]:
    """The text with every term of the category taken out, and how many there were; how each was written stays."""
    n = 0

    def gap(match: re.Match[str]) -> str:
        nonlocal n
        word = match.group()
        if owner[re.sub(r"[\s\-]+", " ", word.lower())] != category:
            return word
        n += 1
        if len(word) > 1 and word.isupper():
            return _GAPS["upper"]
        return _GAPS["title" if word[0].isupper() else "lower"]

    return pattern.sub(gap, text), n


def _filled(sentence: str, word: str) -> str:
    title = " ".join(part[:1].upper() + part[1:] for part in word.split(" "))
    return sentence.replace(_GAPS["lower"], word).replace(_GAPS["title"], title).replace(_GAPS["upper"], word.upper())
