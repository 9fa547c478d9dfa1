"""Real data sets on demand: fetched once, and a clear sentence when there is no connection."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from pathlib import Path

import fairlearn.datasets
import pandas as pd
import pytest

from fairness_engine.data import catalogue
from fairness_engine.data.catalogue import REAL_DATA_SETS, as_table, fetch_real_data
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.table import read_table
from fairness_engine.errors import DataError

NOWHERE = "http://127.0.0.1:9/"
"""The discard port of this machine: nothing listens there, so a connection is refused at once."""


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No way out, whatever this machine can reach: the source's address is one that refuses."""
    monkeypatch.setattr(catalogue, "_HOST", NOWHERE)


@pytest.mark.parametrize("name", sorted(REAL_DATA_SETS))
def test_offline_is_one_clear_sentence(name: str, tmp_path: Path, offline: None) -> None:
    with pytest.raises(
        DataError, match=r"must be fetched from www\.openml\.org, which cannot be reached now"
    ) as caught:
        fetch_real_data(name, tmp_path)
    assert "drop a CSV file of your own" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_host_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()

    def hang(*_: object, **__: object) -> None:
        assert not answers.wait(300), "it is given up before"

    monkeypatch.setattr(urllib.request, "urlopen", hang)
    monkeypatch.setattr(catalogue, "_MAX_SECONDS_TO_CONNECT", 0.2)
    with pytest.raises(DataError, match="no answer within 0 s"):
        fetch_real_data("adult", tmp_path)
    answers.set()


def test_unknown_names_list_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="one of adult, bank_marketing"):
        fetch_real_data("../etc/passwd", tmp_path)


def test_every_data_set_says_what_it_is() -> None:
    for known in REAL_DATA_SETS.values():
        assert callable(getattr(fairlearn.datasets, known.fetcher))
        assert known.licence
        assert known.citation
        assert known.favourable in known.outcomes.values()


def fetched() -> tuple[pd.DataFrame, pd.Series]:
    data = pd.DataFrame(
        {
            "age": [30, 41, 18, 30],
            "job": pd.Categorical(["a", None, "b", "a"]),
            "housing": ["yes", "no", "no", "no"],
            "subscribed": [1, 2, 1, 2],
        }
    )
    return data, pd.Series(pd.Categorical(["1", "2", "1", "2"]), index=[5, 6, 7, 8], name="Class")


def test_the_outcome_comes_in_words_and_last() -> None:
    table = as_table(*fetched(), REAL_DATA_SETS["bank_marketing"])
    assert table.columns.tolist() == ["age", "job", "housing", "subscribed"]
    assert table["subscribed"].tolist() == ["no", "yes", "no", "yes"]


def test_an_outcome_that_is_not_known_is_refused() -> None:
    data, _ = fetched()
    with pytest.raises(DataError, match="must be one of 1, 2, got '3'"):
        as_table(data, pd.Series(["1", "3", "2", "1"]), REAL_DATA_SETS["bank_marketing"])


class FakeSource:
    """What ``fairlearn.datasets`` gives, made here: the way from there to a file is what is tested."""

    def __init__(self) -> None:
        self.n_calls = 0

    def fetch_bank_marketing(self, *, cache: bool, data_home: str, as_frame: bool) -> FakeSource:
        assert cache
        assert as_frame
        assert data_home
        self.n_calls += 1
        self.data, self.target = fetched()
        return self


def online(monkeypatch: pytest.MonkeyPatch, source: FakeSource, answer: Exception) -> None:
    def answers(*_: object, **__: object) -> None:
        raise answer

    monkeypatch.setattr(urllib.request, "urlopen", answers)
    monkeypatch.setattr(fairlearn.datasets, "fetch_bank_marketing", source.fetch_bank_marketing)


def test_a_fetched_data_set_is_kept_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = FakeSource()
    # An answer is an answer: the page may not be there, the host is.
    online(monkeypatch, source, urllib.error.HTTPError("https://x", 405, "no HEAD", None, None))
    path = fetch_real_data("bank_marketing", tmp_path / "data")
    assert fetch_real_data("bank_marketing", tmp_path / "data") == path
    assert source.n_calls == 1
    table = read_table(path)
    schema = infer_schema(table)
    assert (schema.label, schema.favourable) == ("subscribed", "yes")
    dataset = make_dataset(table, schema)
    assert (len(dataset.rows), dataset.n_dropped) == (3, 1)


def test_a_changed_source_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Changed(FakeSource):
        def fetch_bank_marketing(self, *, cache: bool, data_home: str, as_frame: bool) -> FakeSource:
            super().fetch_bank_marketing(cache=cache, data_home=data_home, as_frame=as_frame)
            self.target = pd.Series(["1", "2", "maybe", "1"])
            return self

    online(monkeypatch, Changed(), urllib.error.HTTPError("https://x", 405, "no HEAD", None, None))
    with pytest.raises(DataError, match="got 'maybe'"):
        fetch_real_data("bank_marketing", tmp_path)
    assert not (tmp_path / "bank_marketing.csv").exists()
