"""A table as a bank exports it: read right, or said what is not."""

from __future__ import annotations

import numpy as np
import pytest

from fairness_engine.data.table import Table, read_table
from loan_cases import POSTCODES, REFUSED_MORE, loan_frame, write_messy_csv


@pytest.fixture(scope="module")
def messy(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """5,000 applications with missing cells in three sure spellings, and some that are only proposed."""
    path = tmp_path_factory.mktemp("loans") / "anträge.csv"
    write_messy_csv(loan_frame(5_000, seed=1), path, seed=1, has_proposed=True)
    return read_table(path)


def test_the_file_is_read_as_it_was_meant(messy: Table) -> None:
    frame = loan_frame(5_000, seed=1)
    assert (messy.encoding, messy.delimiter, messy.decimal) == ("latin-1", ";", ",")
    assert messy.columns == tuple(frame.columns)
    for name in ("Einkommen", "Kreditsumme", "Score"):
        cells = messy.cells(name)
        read = cells.numbers[cells.index]
        known = np.isfinite(read) & (cells.index >= 0)
        assert known.mean() > 0.9
        assert np.array_equal(read[known], frame[name][known])
    assert set(messy.frame["PLZ"]) == set(POSTCODES)


def test_the_bias_is_in_the_decisions() -> None:
    frame = loan_frame(5_000, seed=1)
    is_granted = frame["bewilligt"] == "ja"
    is_refused_more = (frame["Geschlecht"] != "m") | frame["Staatsangehörigkeit"].isin(REFUSED_MORE)
    assert is_granted[~is_refused_more].mean() > is_granted[is_refused_more].mean() + 0.2
