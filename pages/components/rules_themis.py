"""THEMIS's two sub-groups beside the rule sets: the finest groups with the highest and the lowest favourable share.

Reference: paper 001, Table 8; Galhotra, Brun and Meliou (2017).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from fairness_engine.rules.scored import RuleResult
from fairness_engine.rules.words import group_words_of_json
from pages.components import rules_words, wording

_SIDES = {"highest": "Highest share", "lowest": "Lowest share"}


def draw(result: RuleResult, summary: Mapping[str, Any]) -> None:
    """The two sub-groups and their difference; nothing where the run has none."""
    themis = summary.get("themis")
    if not themis:
        return
    st.subheader("The two extremes beside it (THEMIS)", anchor=False)
    st.markdown(wording.markdown(sentence(themis)))
    st.dataframe(table(result, themis), hide_index=True, key="rules_themis")


def sentence(themis: Mapping[str, Any]) -> str:
    """What THEMIS compares, and what comes out."""
    score, low, high = (float(themis[name]) for name in ("score", "low", "high"))
    between = "exact" if low == high else f"{100 * low:.1f}-{100 * high:.1f}"
    return (
        f"Of the {wording.counted(themis['n_groups'], 'finest group')} with at least {wording.counted(themis['least_rows'], 'row')}, "
        f"the highest and the lowest favourable share lie {rules_words.points(score)} apart ({between}). THEMIS looks at these two "
        "only: it says how far apart groups can lie, not which rule keeps them apart."
    )


def table(result: RuleResult, themis: Mapping[str, Any]) -> pd.DataFrame:
    """Both sub-groups, a line each."""
    groups = [themis[side] for side in _SIDES]
    return pd.DataFrame(
        {
            "": list(_SIDES.values()),
            "Group": [
                rules_words.capitalised(group_words_of_json(result.attributes, group["rules"])) for group in groups
            ],
            "Favourable": [_share(group) for group in groups],
            "Samples": [wording.count(group["n"]) for group in groups],
            "Rows": [wording.count(group["n_rows"]) for group in groups],
        }
    )


def _share(group: Mapping[str, Any]) -> str:
    share, low, high = (float(group[name]) for name in ("share", "low", "high"))
    return wording.share(share) if low == high else wording.share(share, low, high)
