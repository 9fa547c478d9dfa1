"""TestSGD on real collections of texts: the terms found are those that the collections name, and runs end in
seconds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from text_cases import run_texts

from fairness_engine.errors import SettingError
from fairness_engine.groups.identity_terms.matching import TermFinder, count_terms
from fairness_engine.groups.identity_terms.terms import default_terms
from fairness_engine.groups.rule_sets.result import Stage
from fairness_engine.models.sklearn.estimator import EstimatorPredictor
from fairness_engine.models.text_model import TextModel

pytestmark = pytest.mark.shared


def collection(shared: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(shared / "data" / "raw" / name / "data.csv", dtype=str, keep_default_na=False)


def linear(texts: list[str], labels: list[str]) -> TextModel:
    """Weighted words and logistic regression."""
    fitted = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10.0, max_iter=1000)).fit(texts, labels)
    return TextModel(EstimatorPredictor(fitted), classes=tuple(fitted.classes_), favourable=0)


@pytest.mark.parametrize("name", ["toxicity_madlibs", "imdb_sentences"])
def test_the_terms_found_are_those_that_the_collection_names(shared: Path, name: str) -> None:
    frame = collection(shared, name)
    finder = TermFinder(default_terms())
    for text, named in zip(frame["text"], frame["terms"], strict=True):
        if (
            "millenial" not in text and "middle-aged" not in text.lower()
        ):  # one named as if well spelt, the other not named
            assert sorted({place.term for place in finder.find(text)}) == sorted(filter(None, set(named.split("|"))))


@pytest.mark.thorough
def test_the_madlibs_are_looked_at_whole(shared: Path) -> None:
    frame = collection(shared, "toxicity_madlibs")
    some = np.random.default_rng(0).choice(len(frame), 400, replace=False)
    model = linear(frame["text"].iloc[some].tolist(), frame["label"].iloc[some].tolist())
    ran = run_texts(frame["text"].tolist(), model, terms=())
    assert len(ran.result.scored) == 48
    assert (ran.result.scored.stage == Stage.EXACT).all()
    counts = count_terms(frame["text"], default_terms())
    sets = {each["categories"][0]: each for each in ran.content("rules")["texts"]["sets"]}
    assert {name: each["n_texts"] for name, each in sets.items()} == counts.by_category
    assert ran.stopped.evaluations < 100_000  # of 928,082 texts with terms swapped, most are the same
    assert ran.content("sentences")["pairs"]


def test_few_sentences_on_films_name_anybody(shared: Path) -> None:
    frame = collection(shared, "imdb_sentences")
    texts = frame["text"].tolist()
    model = linear(texts, frame["label"].tolist())
    with pytest.raises(SettingError, match=r"the largest, 'race', is in 20 of 1,000 \(0.02\)"):
        run_texts(texts, model, terms=())
    ran = run_texts(texts, model, terms=(), support=0.01)
    sets = ran.content("rules")["texts"]["sets"]
    assert [(each["categories"], each["n_texts"]) for each in sets] == [(["race"], 20), (["age"], 13)]
    assert any("speaks of these texts alone" in note for note in ran.content("notes")["notes"])
