"""Loan applications as a German bank would export them: clean values, and the same in a CSV file with everything that
goes wrong there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

NATIONALITIES = (
    *(
        "Deutschland",
        "Türkei",
        "Polen",
        "Syrien",
        "Rumänien",
        "Italien",
        "Ukraine",
        "Kroatien",
        "Griechenland",
        "Bulgarien",
    ),
    *("Österreich", "Afghanistan", "Russland", "Serbien", "Irak", "Spanien", "Frankreich", "Indien", "China", "Ungarn"),
    *(
        "Niederlande",
        "Portugal",
        "Iran",
        "Vietnam",
        "Brasilien",
        "Tschechien",
        "Marokko",
        "Nigeria",
        "Ghana",
        "Eritrea",
    ),
)
REFUSED_MORE = ("Türkei", "Syrien", "Afghanistan", "Nigeria", "Eritrea")
"""Nationalities that the planted decision refuses more often, beside people who are not ``m``."""
POSTCODES = tuple(
    f"{code:05d}" for code in (1067, 1099, 3046, 4109, 4277, 6108, 7743, 8056, 9111, *range(10115, 99900, 2893))
)
EMPLOYMENTS = ("angestellt", "arbeitslos", "befristet", "Rentner", "selbstständig", "verbeamtet")
HOMES = ("Eigentum", "Familie", "Miete")
MISSING_SPELLINGS = ("", "-", "NA")
"""How the messy file writes a cell that is not known."""
PROPOSED_SPELLINGS = {"Beschäftigung": "unbekannt", "Laufzeit (Monate)": "999"}
"""Spellings that mean missing to people and may be values: put in with ``has_proposed``."""
_MISSING_SHARES = {"Wohneigentum": 0.02, "Staatsangehörigkeit": 0.01, "Einkommen": 0.01, "Score": 0.04}
_REMARKS = (
    *("Kunde seit {} Jahren, bisher ohne Zahlungsverzug", "Bürgschaft der Eltern liegt vor, {} Seiten Unterlagen"),
    *("Telefonat vom {}. des Monats: Rückfrage zum Einkommen", "Zweiter Antrag nach {} Monaten, erster zurückgezogen"),
)


def loan_frame(n_rows: int = 20_000, seed: int = 0) -> pd.DataFrame:
    """True values, one row an application: numbers as numbers, dates as dates, nothing missing but ``Bemerkung``.

    ``bewilligt`` (ja/nein) follows score, income and sum, and is refused more often to everyone but ``m`` and to
    ``REFUSED_MORE``.
    """
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, len(NATIONALITIES) + 1) ** 1.1
    nation = rng.choice(NATIONALITIES, n_rows, p=shares / shares.sum())
    sex = rng.choice(("m", "w", "d"), n_rows, p=(0.55, 0.435, 0.015))
    income = np.round(np.exp(rng.normal(7.9, 0.45, n_rows)), 2)
    score = np.round(np.clip(rng.normal(62, 15, n_rows), 1, 99), 1)
    amount = np.round(np.exp(rng.normal(9.2, 0.8, n_rows)), 2)
    home = rng.choice(HOMES, n_rows, p=(0.3, 0.1, 0.6))
    merit = 0.07 * (score - 60) + 1.2 * np.log(income / 2700) - 0.5 * np.log(amount / 9900) + 0.4 * (home == "Eigentum")
    merit += -0.9 * (sex != "m") - 1.6 * np.isin(nation, REFUSED_MORE) + 0.3 + rng.logistic(0, 0.5, n_rows)
    days = np.sort(rng.integers(0, 900, n_rows))
    remarks = [
        _REMARKS[i % len(_REMARKS)].format(i % 29 + 2) + f" (Akte {i})" if i % 7 == 0 else None for i in range(n_rows)
    ]
    return pd.DataFrame(
        {
            "Antrags-ID": [f"A-{100_000 + 7 * i}" for i in rng.permutation(n_rows)],
            "Antragsdatum": pd.Timestamp("2022-01-03") + pd.to_timedelta(days, unit="D"),
            "Geschlecht": sex,
            "Alter": np.clip(np.rint(rng.normal(44, 14, n_rows)), 18, 84).astype(int),
            "Staatsangehörigkeit": nation,
            "PLZ": rng.choice(POSTCODES, n_rows),
            "Wohneigentum": home,
            "Einkommen": income,
            "Score": score,
            "Laufzeit (Monate)": rng.choice((6, 12, 18, 24, 36, 48, 60, 72, 84), n_rows),
            "Kreditsumme": amount,
            "Beschäftigung": rng.choice(EMPLOYMENTS, n_rows, p=(0.55, 0.05, 0.12, 0.1, 0.1, 0.08)),
            "Bemerkung": remarks,
            "bewilligt": np.where(merit > 0, "ja", "nein"),
        }
    )


def write_messy_csv(
    frame: pd.DataFrame, path: Path, seed: int = 0, *, missing: float = 1.0, has_proposed: bool = False
) -> pd.DataFrame:
    """Write the applications with semicolons, decimal commas and points for thousands, in Latin-1, with cells missing
    in three spellings.

    Args:
        frame: of ``loan_frame``.
        path: of the file.
        seed: which cells are missing.
        missing: how many of them, by what is usual (1 to 4 % of four columns); 0: none.
        has_proposed: some cells hold ``PROPOSED_SPELLINGS`` too.

    Returns:
        The cells as the file holds them, all text.
    """
    rng = np.random.default_rng(seed)
    cells = frame.copy()
    cells["Antragsdatum"] = frame["Antragsdatum"].dt.strftime("%d.%m.%Y")
    cells["Einkommen"] = [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in frame["Einkommen"]]
    cells["Kreditsumme"] = [f"{value:.2f}".replace(".", ",") for value in frame["Kreditsumme"]]
    cells["Score"] = [f"{value:.1f}".replace(".", ",") for value in frame["Score"]]
    cells = cells.astype(object).where(frame.notna(), "").astype(str)
    for name, share in _MISSING_SHARES.items():
        is_gone = rng.random(len(cells)) < share * missing
        cells.loc[is_gone, name] = rng.choice(MISSING_SPELLINGS, int(is_gone.sum()))
    for name, spelling in PROPOSED_SPELLINGS.items() if has_proposed else ():
        cells.loc[rng.random(len(cells)) < 0.02, name] = spelling
    path.write_bytes(cells.to_csv(index=False, sep=";", lineterminator="\r\n").encode("latin-1"))
    return cells
