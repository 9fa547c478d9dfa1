"""The cells of two protected attributes as a table, and as a file."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairness_engine.table import export_text
from pages.components.group_cells import Cells


def matrix_frame(cells: Cells, names: tuple[str, ...]) -> pd.DataFrame:
    """One line a cell, in the order of the picture, the empty ones too; shares in percent."""
    lines = []
    for i, j in np.ndindex(cells.share.shape):
        labels = dict(zip(names, (cells.down[i], cells.across[j]), strict=False))
        share, ends = float(cells.share[i, j]), cells.ends(i, j)
        lines.append(
            {
                **labels,
                "Favourable, %": None if np.isnan(share) else 100 * share,
                "Points from everybody": None if np.isnan(share) else 100 * (share - cells.overall),
                "Low, %": None if ends is None else 100 * ends[0],
                "High, %": None if ends is None else 100 * ends[1],
                "Texts" if cells.is_text else "Rows": int(cells.n_rows[i, j]),
                "Samples": int(cells.drawn[i, j]),
                "Under 2 %": "yes" if cells.is_few[i, j] else "",
            }
        )
    frame = pd.DataFrame(lines)
    dropped = [name for name in ("Low, %", "High, %") if frame[name].isna().all()]
    return frame.drop(columns=[*dropped, *(["Under 2 %"] if cells.is_text else [])])


def matrix_csv(frame: pd.DataFrame) -> bytes:
    """The table as a file, safe for a spreadsheet."""
    return frame.map(export_text).to_csv(index=False).encode()
