"""A report as one self-contained HTML file: no script, no request, printed by any browser."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fairness_engine import __version__
from fairness_engine.report.charts import proof_bar, rate_bars
from fairness_engine.report.content import Report
from fairness_engine.report.presets import Part
from fairness_engine.report.tables import MissingTable, PrintedTable
from fairness_engine.telling.wording import count, when

_FOLDER = Path(__file__).resolve().parent / "templates"
_SPACES = re.compile(r"\n\s*\n+")


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(_FOLDER)
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["count"] = count
    made.filters["when"] = when
    made.filters["id"] = id
    made.tests["missing"] = lambda table: isinstance(table, MissingTable)
    return made


def write_html(report: Report) -> str:
    """The report as HTML. Every text of a user or a file is escaped; the only markup from outside the template are
    our own pictures.
    """
    with_line = any(threshold.value == 0.8 for threshold in report.preset.thresholds)
    # of our own, every text in it escaped
    pictures = {
        id(table): Markup(rate_bars(table.groups, _rate_name(table), table.best if with_line else None))  # noqa: S704
        for table in report.tables
        if isinstance(table, PrintedTable) and not table.in_annex and len(table.groups) > 1
    }
    proof = Markup(proof_bar(*report.proof)) if report.proof is not None else None  # noqa: S704 - as above
    html = (
        _environment()
        .get_template("report.html")
        .render(report=report, preset=report.preset, pictures=pictures, proof=proof, Part=Part, version=__version__)
    )
    return _SPACES.sub("\n", html)


def _rate_name(table: PrintedTable) -> str:
    return "Scoring rate" if table.rate.value == "scoring" else "Selection rate"
