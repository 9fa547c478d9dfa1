"""Real data sets of the field on demand, through ``fairlearn.datasets``.

None of them is shipped: they are fetched from OpenML when someone asks, kept in a folder, and read like any CSV file afterwards.
"""

from __future__ import annotations

import importlib
import threading
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairness_engine.errors import DataError

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
            about="48,842 people; predicts an income above 50,000 dollars. Old, and its label is no decision on a person.",
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
            about="45,211 calls; predicts whether a client subscribes a deposit. A call that succeeded was usually a long one.",
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
            citation="Strack, B. et al. (2014). Impact of HbA1c Measurement on Hospital Readmission Rates. BioMed Research International.",
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
            f"The outcome of '{known.title}' must be one of {', '.join(known.outcomes)}, got '{fetched[outcome.isna()].iloc[0]}' "
            "from www.openml.org: its files have changed. Drop a CSV file of your own."
        )
    return inputs.assign(**{known.label: outcome})
