"""The tables that rule sets are measured on: the paper's, as they lie in ``data/raw``, and what of them a model may
take.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.table import shared_folder
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import read_table
from fairness_engine.oracle.domain import Scope

DECADES = {"age": (0, 100)}
"""The paper cuts age into decades from 0 to 100."""


@dataclass(frozen=True)
class TableSource:
    """A data set, and what is taken of it.

    Args:
        name: of its folder in ``data/raw``.
        title: as the paper calls it.
        protected: attributes that rules are on.
        left_out: columns that no model may take: bookkeeping, what holds the answer, and what says a protected
            attribute twice.
        unknown: text of a missing cell, made a category of its own; else rows with a missing cell are left out.
        ranges: of numbers, other than the schema's.
        label: (column, favourable outcome) other than the schema's.
        joined: outcomes of the label that count as one, by what they are called together.
        max_attributes: in a rule set.
        n_epochs, n_batch: of the training.
    """

    name: str
    title: str
    protected: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    unknown: str = ""
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    label: tuple[str, str] | None = None
    joined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_attributes: int = 3
    n_epochs: int = 20
    n_batch: int = 128

    @property
    def folder(self) -> Path:
        """Where the data and its schema lie."""
        return shared_folder() / "data" / "raw" / self.name

    @property
    def scope(self) -> Scope:
        """The question: who may be treated apart."""
        return Scope(self.protected)

    def schema(self) -> Schema:
        """The engine's schema of the columns that are taken."""
        content = json.loads((self.folder / "schema.json").read_text(encoding="utf-8"))
        label, favourable = self.label or (content["label"], content["favourable"])
        dropped = {*self.left_out, *content.get("not_features", ()), content["label"]} - {label}
        columns = [self._column(column) for column in content["columns"] if column["name"] not in dropped]
        for column in columns:
            if column["name"] == label and self.joined:
                column["categories"] = list(self.joined)
        return Schema.from_json(
            {"label": label, "favourable": favourable, "protected": list(self.protected), "columns": columns}
        )

    def _column(self, column: dict[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {
            key: column[key] for key in ("name", "kind", "min", "max", "categories") if key in column
        }
        if column["name"] in self.ranges:
            out["min"], out["max"] = self.ranges[column["name"]]
        if self.unknown and column.get("missing", {}).get("token") == self.unknown:
            out["categories"] = [*column["categories"], self.unknown]
        return out

    def dataset(self) -> Dataset:
        """The rows."""
        schema = self.schema()
        table = read_table(self.folder / "data.csv", name=f"{self.name}.csv")
        if self.joined:
            together = {text: name for name, texts in self.joined.items() for text in texts}
            label = str(schema.label)
            frame = table.frame.copy(deep=False)
            frame[label] = frame[label].map(together).astype(frame[label].dtype)
            table = replace(table, frame=frame, known=None, _cells={})
        return make_dataset(table, schema)


POLICE = (
    *("LemasSwornFT", "LemasSwFTPerPop", "LemasSwFTFieldOps", "LemasSwFTFieldPerPop", "LemasTotalReq"),
    *("LemasTotReqPerPop", "PolicReqPerOffic", "PolicPerPop", "RacialMatchCommPol", "PctPolicWhite"),
    *("PctPolicBlack", "PctPolicHisp", "PctPolicAsian", "PctPolicMinor", "OfficAssgnDrugUnits"),
    *("NumKindsDrugsSeiz", "PolicAveOTWorked", "PolicCars", "PolicOperBudg", "LemasPctPolicOnPatr"),
    *("LemasGangUnitDeploy", "PolicBudgPerPop"),
)
"""Missing in 1,675 of 1,994 rows."""
CRIME_ATTRIBUTES = (
    *("racepctblack", "racePctWhite", "racePctAsian", "racePctHisp", "agePct12t21", "agePct12t29"),
    *("agePct16t24", "agePct65up", "MalePctDivorce", "FemalePctDiv"),
)

TABLES: dict[str, TableSource] = {
    source.name: source
    for source in (
        TableSource("adult", "Census Income", ("sex", "race", "age"), unknown="?", ranges=DECADES, n_epochs=15),
        TableSource("bank_additional", "Bank Marketing", ("age",), ranges=DECADES, n_epochs=15),
        TableSource(
            "german",
            "German Credit",
            ("sex", "age"),
            left_out=("personal_status_sex",),
            ranges=DECADES,
            n_epochs=300,
            n_batch=32,
        ),
        TableSource(
            "compas",
            "COMPAS",
            ("sex", "race", "age"),
            left_out=(
                *("age_cat", "days_b_screening_arrest", "c_days_from_compas", "c_charge_desc"),
                *("decile_score", "v_decile_score", "v_score_text"),
            ),
            ranges=DECADES,
            label=("score_text", "Low"),
            joined={"Low": ("Low",), "Medium or High": ("Medium", "High")},
            n_epochs=40,
        ),
        TableSource("law_school", "Law School", ("gender", "race"), n_epochs=20),
        TableSource(
            "communities_crime",
            "Crime",
            CRIME_ATTRIBUTES,
            left_out=(*POLICE, "OtherPerCap"),
            max_attributes=2,
            n_epochs=18,
            n_batch=32,
        ),
    )
}


@dataclass(frozen=True)
class TextSource:
    """A data set of texts.

    Args:
        name: of its folder in ``data/raw``.
        title: of the data set.
        paper: the paper's data set that it stands in for.
        favourable, unfavourable: outcomes of ``label``.
        n_trained: texts that a model is trained on, drawn at random; few where all would be learnt by heart.
        n_words, n_tokens: that the network knows, and that it reads of a text.
        n_epochs: of its training.
        support: least share of texts that hold a term of each category.
    """

    name: str
    title: str
    paper: str
    favourable: str
    unfavourable: str
    n_trained: int
    n_words: int
    n_tokens: int
    n_epochs: int
    support: float = 0.05
    text: str = "text"
    label: str = "label"

    @property
    def folder(self) -> Path:
        """Where the data and its schema lie."""
        return shared_folder() / "data" / "raw" / self.name

    @property
    def outcomes(self) -> tuple[str, str]:
        """Of the label, in alphabetical order."""
        first, second = sorted((self.favourable, self.unfavourable))
        return first, second


TEXTS: dict[str, TextSource] = {
    source.name: source
    for source in (
        TextSource("toxicity_madlibs", "Toxicity madlibs", "Wiki Talk Pages", "nontoxic", "toxic", 120, 2000, 8, 12),
        TextSource("imdb_sentences", "IMDB sentences", "IMDB", "positive", "negative", 800, 3000, 40, 8, support=0.01),
    )
}
