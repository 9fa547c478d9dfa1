"""What a run of proxies is asked: whose decisions, and of how many people."""

from __future__ import annotations

from dataclasses import dataclass

from fairness_engine.data.recorded import Source
from fairness_engine.errors import SettingError
from fairness_engine.settings import NOT_ASKED, Settings, setting

MAX_ROWS = 200_000
MAX_EXPLAINED = 5_000


@dataclass(frozen=True)
class ProxySettings(Settings):
    """Settings of a run of proxies.

    Raises:
        SettingError: a value out of its range, or a column of predictions beside a model.
    """

    whose = "A run of proxies"

    n_rows: int = setting(
        20_000,
        "Rows of the data that are looked at, drawn by the seed; all where there are no more. More rows take longer.",
        label="Rows of the data, at most",
        minimum=200,
        maximum=MAX_ROWS,
        step=1_000,
        option="--rows N",
    )
    n_explained: int = setting(
        200,
        "People of the data whose SHAP values say which columns the model leans on; 0 leaves that out.",
        label="People explained",
        minimum=0,
        maximum=MAX_EXPLAINED,
        step=50,
        option="--explained N",
    )
    source: Source = setting(
        Source.MODEL,
        "The model's decisions on the rows, or what the label column holds.",
        part=NOT_ASKED,
    )
    predictions: str = setting(
        "",
        "Name of a column whose decisions are compared instead of the label's; without a model.",
        part=NOT_ASKED,
        option="--predictions COLUMN",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.predictions and self.source is not Source.LABELS:
            raise SettingError(
                "A column of predictions is compared without a model. Leave the model out, or the column."
            )
