"""The sample data and models that come with Evenhand, each with planted discrimination and a known answer.

Reads ``sample_data/catalogue.json`` and ``sample_models/catalogue.json``: beside this package in a checkout,
in it where it is installed. Opens no model.
"""

from __future__ import annotations

import importlib
import json
import threading
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from fairness_engine.data.schema import ModelInput, Schema
from fairness_engine.errors import DataError

_PACKAGE = Path(__file__).resolve().parents[1]
ROOT = _PACKAGE if (_PACKAGE / "sample_data").is_dir() else _PACKAGE.parent
DATA_FOLDER = ROOT / "sample_data"
MODELS_FOLDER = ROOT / "sample_models"


@dataclass(frozen=True)
class Measured:
    """What a sample's model decides, counted when it was made; a test holds the counts to the model.

    Args:
        n_rows: of the data.
        n_changed: of how many of them the decision changes when only protected values change.
        groups: how many are in each group of the sample, and how many of these get the favourable outcome.
        uniform_share: of all individuals, the share of whom the decision changes; sampled, but exact for the planted
            rule of recidivism and of comments.
    """

    n_rows: int
    n_changed: int
    groups: tuple[tuple[int, int], ...]
    uniform_share: float

    @property
    def worst(self) -> int:
        """Which group gets the favourable outcome least often."""
        shares = [n_favourable / n for n, n_favourable in self.groups]
        return shares.index(min(shares))


@dataclass(frozen=True)
class SampleModel:
    """One model that comes with a sample.

    Args:
        name: of the file, without its suffix.
        title, description: for screens; the description is one sentence.
        path: the model file.
        model_input: how the model takes a row.
        classes: what class 0 and class 1 mean, in the words of the label's column.
        is_exact: True when the model is the planted decision rule itself, or a part of it, so that the shares of the
            truth file are the model's own; False when it was trained on the data.
        protected: the protected attributes to start with.
        known: what is known to be found, in one sentence.
        measured: what it decides.
    """

    name: str
    title: str
    description: str
    path: Path
    model_input: ModelInput
    classes: tuple[str, ...]
    is_exact: bool
    protected: tuple[str, ...]
    known: str
    measured: Measured


@dataclass(frozen=True)
class Sample:
    """One data set that comes with Evenhand, and its models.

    Args:
        name: of the files.
        title, description: for the Start page; the description is one sentence.
        data, schema, truth: the CSV file, its schema file, and what is planted in it.
        protected: the recommended protected attributes; empty for text.
        known: what is known to be found, in one sentence.
        asks: what its label says of a person, as a question that gives nothing away.
        outcome: what happens to the favoured: at the place of ``2 of 100 women ...``.
        groups: those to choose from, in words; in front the one with the planted effect, then the one most like it.
        affected: the other attributes that tell best for whom the protected ones decide; empty for text.
        models: the models made for it, the one to show first in front.
        text_column: the column that a text model takes, or ``None``.
    """

    name: str
    title: str
    description: str
    data: Path
    schema: Path
    truth: Path
    protected: tuple[str, ...]
    known: str
    asks: str
    outcome: str
    groups: tuple[str, ...]
    affected: tuple[str, ...]
    models: tuple[SampleModel, ...]
    text_column: str | None = None

    def read_truth(self) -> dict[str, Any]:
        """What is planted, in words and exact numbers.

        ``planted`` are the effects, ``shares`` the exact shares of discriminatory individuals under the planted rule
        by set of protected attributes, ``no_effect`` the protected attributes that change no decision.
        """
        truth: dict[str, Any] = json.loads(self.truth.read_text(encoding="utf-8"))
        return truth

    def schema_for(self, model: SampleModel) -> Schema:
        """The schema with the model's way to take a row and its recommended protected attributes."""
        schema = Schema.read(self.schema)
        return replace(schema, model_input=model.model_input, protected=model.protected)

    def model(self, name: str) -> SampleModel:
        """The model of that name.

        Raises:
            DataError: there is no such model.
        """
        return _named(name, self.models, f"model of sample '{self.name}'")


def list_samples() -> tuple[Sample, ...]:
    """Every sample, in the order of the catalogue."""
    models = _read(MODELS_FOLDER)["models"]
    return tuple(_sample(entry, models.get(entry["name"], [])) for entry in _read(DATA_FOLDER)["samples"])


def find_sample(name: str) -> Sample:
    """The sample of that name.

    Raises:
        DataError: there is no such sample.
    """
    return _named(name, list_samples(), "sample")


Item = TypeVar("Item", Sample, SampleModel)


def _named(name: str, items: tuple[Item, ...], noun: str) -> Item:
    for item in items:
        if item.name == name:
            return item
    known = ", ".join(item.name for item in items)
    raise DataError(f"There is no {noun} named '{name}'; there are: {known}.")


def _read(folder: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads((folder / "catalogue.json").read_text(encoding="utf-8"))
    except OSError:
        raise DataError(
            f"The samples need {folder.name}/catalogue.json, which is not there. Run 'python -m {folder.name}.make'."
        ) from None
    return content


def _sample(entry: Mapping[str, Any], models: list[Mapping[str, Any]]) -> Sample:
    return Sample(
        name=entry["name"],
        title=entry["title"],
        description=entry["description"],
        data=DATA_FOLDER / entry["data"],
        schema=DATA_FOLDER / entry["schema"],
        truth=DATA_FOLDER / entry["truth"],
        protected=tuple(entry["protected"]),
        known=entry["known"],
        asks=entry["asks"],
        outcome=entry["outcome"],
        groups=tuple(entry["groups"]),
        affected=tuple(entry["affected"]),
        models=tuple(_model(model) for model in models),
        text_column=entry.get("text_column"),
    )


def _model(entry: Mapping[str, Any]) -> SampleModel:
    return SampleModel(
        name=entry["name"],
        title=entry["title"],
        description=entry["description"],
        path=MODELS_FOLDER / entry["file"],
        model_input=ModelInput(entry["model_input"]),
        classes=tuple(entry["classes"]),
        is_exact=entry["is_exact"],
        protected=tuple(entry["protected"]),
        known=entry["known"],
        measured=Measured(**{**entry["measured"], "groups": tuple(map(tuple, entry["measured"]["groups"]))}),
    )


_HOST = "https://www.openml.org/"
_MAX_SECONDS_TO_CONNECT = 6.0
_MAX_SECONDS_TO_FETCH = 120.0


@dataclass(frozen=True)
class RealDataSet:
    """A public data set and what a reader must know before using it.

    Args:
        name: short name, also that of the file.
        title: for screens.
        fetcher: the function of ``fairlearn.datasets`` that fetches it.
        label: what the outcome's column is called in the file.
        outcomes: the outcomes as fetched, and in words.
        favourable: the outcome that is good for the person, in words.
        protected: its protected attributes.
        licence, citation: as stated by its source; check them before you publish.
        about: one sentence on what it is, and its known limits.
        left_out: columns that tell the outcome and are not fetched.
    """

    name: str
    title: str
    fetcher: str
    label: str
    outcomes: Mapping[str, str]
    favourable: str
    protected: tuple[str, ...]
    licence: str
    citation: str
    about: str
    left_out: tuple[str, ...] = ()


REAL_DATA_SETS: dict[str, RealDataSet] = {
    one.name: one
    for one in (
        RealDataSet(
            name="adult",
            title="Adult (US census income, 1994)",
            fetcher="fetch_adult",
            label="income",
            outcomes={"<=50K": "<=50K", ">50K": ">50K"},
            favourable=">50K",
            protected=("sex", "race", "age"),
            licence="CC BY 4.0",
            citation="Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository.",
            about="48,842 people; predicts an income above 50,000 dollars. Old, and its label is no decision on a "
            "person.",
        ),
        RealDataSet(
            name="bank_marketing",
            title="Bank marketing (Portugal, 2008-2013)",
            fetcher="fetch_bank_marketing",
            label="subscribed",
            outcomes={"1": "no", "2": "yes"},
            favourable="yes",
            protected=("age", "marital"),
            licence="CC BY 4.0",
            citation="Moro, S., Rita, P. and Cortez, P. (2014). Bank Marketing. UCI Machine Learning Repository.",
            about="45,211 calls; predicts whether a client subscribes a deposit. A call that succeeded was usually a "
            "long one.",
        ),
        RealDataSet(
            name="credit_card",
            title="Default of credit card clients (Taiwan, 2005)",
            fetcher="fetch_credit_card",
            label="default",
            outcomes={"0": "no", "1": "yes"},
            favourable="no",
            protected=("SEX", "AGE", "MARRIAGE"),
            licence="CC BY 4.0",
            citation="Yeh, I. (2009). Default of Credit Card Clients. UCI Machine Learning Repository.",
            about="30,000 clients; predicts default in the next month. Sex, education and marriage are numbers.",
        ),
        RealDataSet(
            name="diabetes_hospital",
            title="Diabetes hospital readmission (US, 1999-2008)",
            fetcher="fetch_diabetes_hospital",
            label="readmit_30_days",
            outcomes={"0": "no", "1": "yes"},
            favourable="no",
            protected=("race", "gender", "age"),
            licence="CC BY 4.0",
            citation="Strack, B. et al. (2014). Impact of HbA1c Measurement on Hospital Readmission Rates. BioMed "
            "Research International.",
            about="101,766 stays; predicts a readmission within 30 days.",
            left_out=("readmitted", "readmit_binary"),
        ),
    )
}


def fetch_real_data(name: str, folder: Path) -> Path:
    """The CSV file of a real data set; fetched once, then taken from the folder.

    Args:
        name: a key of ``REAL_DATA_SETS``.
        folder: where fetched files are kept; made when missing.

    Raises:
        DataError: no such data set, no connection, or the source does not answer as it should.
    """
    known = REAL_DATA_SETS.get(name)
    if known is None:
        raise DataError(f"A real data set must be one of {', '.join(REAL_DATA_SETS)}, got '{name}'.")
    path = folder / f"{known.name}.csv"
    if path.exists():
        return path
    _check_connection(known)
    frame = _with_deadline(lambda: _fetch(known, folder / "openml"), _MAX_SECONDS_TO_FETCH, known)
    folder.mkdir(parents=True, exist_ok=True)
    # Written beside and renamed: a file that is there is a whole file.
    part = path.with_suffix(".part")
    frame.to_csv(part, index=False)
    part.replace(path)
    return path


def _check_connection(known: RealDataSet) -> None:
    """Ask the source for nothing, so that being offline is said within seconds and not after many retries."""

    def ask() -> None:
        request = urllib.request.Request(_HOST, method="HEAD")
        try:
            urllib.request.urlopen(request, timeout=_MAX_SECONDS_TO_CONNECT).close()  # noqa: S310 - as above
        except urllib.error.HTTPError:
            return  # an answer, whatever it says, is a connection

    _with_deadline(ask, _MAX_SECONDS_TO_CONNECT, known)


def _with_deadline(task: Callable[[], Any], max_seconds: float, known: RealDataSet) -> Any:
    """The result of a task in a thread of its own; looking up a host's name knows no time limit."""
    results: list[Any] = []
    failures: list[Exception] = []

    def work() -> None:
        try:
            results.append(task())
        except Exception as error:  # noqa: BLE001 - handed to the caller, who says it
            failures.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(max_seconds)
    if results:
        return results[0]
    if failures and isinstance(failures[0], DataError):
        raise failures[0]
    reason = failures[0] if failures else f"no answer within {max_seconds:.0f} s"
    raise DataError(
        f"'{known.title}' must be fetched from www.openml.org, which cannot be reached now ({_one_line(reason)}). "
        "Connect to the internet and try again, or drop a CSV file of your own."
    )


def _one_line(reason: object) -> str:
    return " ".join(str(reason).split())[:120] or type(reason).__name__


def _fetch(known: RealDataSet, folder: Path) -> pd.DataFrame:
    fetcher = getattr(importlib.import_module("fairlearn.datasets"), known.fetcher)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bunch = fetcher(cache=True, data_home=str(folder), as_frame=True)
    return as_table(bunch.data, bunch.target, known)


def as_table(data: pd.DataFrame, target: pd.Series[Any], known: RealDataSet) -> pd.DataFrame:
    """The inputs, and the outcome in words as the last column.

    Args:
        data: the inputs as fetched, a column each.
        target: the outcome of every row as fetched.
        known: what the data set is.

    Raises:
        DataError: the source sent an outcome that is not known.
    """
    inputs = data.drop(columns=[known.label, *known.left_out], errors="ignore").reset_index(drop=True)
    fetched = pd.Series(target).reset_index(drop=True).astype(str)
    outcome = fetched.map(dict(known.outcomes))
    if outcome.isna().any():
        raise DataError(
            f"The outcome of '{known.title}' must be one of {', '.join(known.outcomes)}, got "
            f"'{fetched[outcome.isna()].iloc[0]}' "
            "from www.openml.org: its files have changed. Drop a CSV file of your own."
        )
    return inputs.assign(**{known.label: outcome})
