"""How a retraining goes, or went: its rounds and epochs as charts and tables, each chart with its twin.

Drawn while runs work, and folded under their result afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairness_engine.retraining.results import EpochPoint, Round, Training
from fairness_engine.retraining.settings import Reference, RetrainSettings
from pages.shared.app import theme, wording
from pages.shared.charts.certification_charts import figure_of
from pages.shared.charts.run_charts import shortened

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SHARES = {"data": "The data's people", "uniform": "All individuals"}
"""Of whom the discriminatory share is one: people of the data, or anybody of the domain."""
_MAX_EPOCHS = 600
PREFIX = "Retraining: "
"""What names of runs begin with; left out where all are retrainings."""


@dataclass(frozen=True)
class Rounds:
    """What one retraining has told so far.

    Args:
        name: of the run, beside others.
        rounds: models that were trained, in order.
        epochs: see ``retraining.results.EpochPoint``.
        reference: what is counted from, with ``accuracy``, ``uniform`` and ``data``; empty until it is measured.
        tolerance: how much accuracy may fall, as a share.
        is_control: the accuracy of the reference is the control's, the shares are the model's.
        shares: of whom the discriminatory share is one, by name in ``rounds``.
    """

    name: str
    rounds: Sequence[Round] = ()
    epochs: Sequence[EpochPoint] = ()
    reference: Mapping[str, float] = field(default_factory=dict)
    tolerance: float = 0.0
    is_control: bool = False
    shares: Mapping[str, str] = field(default_factory=lambda: SHARES)

    @classmethod
    def of(
        cls, name: str, training: Training | None, settings: RetrainSettings, shares: Mapping[str, str] = SHARES
    ) -> Rounds:
        """From what a run has told of its training, and its settings."""
        training = training or Training()
        return cls(
            name,
            training.rounds,
            training.epochs,
            training.reference or {},
            settings.tolerance,
            settings.reference is Reference.CONTROL,
            shares,
        )

    @property
    def n_rounds(self) -> int:
        """Models that the strategy trained; the control is none of them."""
        return sum(not one.is_control for one in self.rounds)

    def number(self, position: int) -> str:
        """What a round is called, from 1 on, the one that is being trained too; the control is none, wherever it
        stands.
        """
        if any(one.is_control for one in self.rounds[position : position + 1]):
            return wording.DASH
        return str(position + 1 - sum(one.is_control for one in self.rounds[:position]))

    @property
    def best(self) -> int | None:
        """Position of the round that is the best so far."""
        found = [i for i, one in enumerate(self.rounds) if one.is_best]
        return found[-1] if found else None

    @property
    def least_accuracy(self) -> float | None:
        """Accuracy below which no model is kept; ``None`` until the reference is measured."""
        return None if "accuracy" not in self.reference else self.reference["accuracy"] - self.tolerance


# --- in words -----------------------------------------------------------------------------------


def standing_text(rounds: Rounds, position: int) -> str:
    """What became of a round: the best so far, kept out, or neither."""
    one = rounds.rounds[position]
    if one.is_control:
        return "control: no cases"
    if position == rounds.best:
        return f"{theme.SELECTION.symbol} best so far"
    if one.is_vetoed:
        return "✕ too inaccurate on the test rows"
    if one.no_file:
        return "✕ cannot become a file"
    if not one.is_within:
        return "✕ beyond the tolerance"
    return "✓ within the tolerance"


LEFT = "Left of before"
"""The column of what chooses among rounds."""
LEFT_HELP = (
    f"“{LEFT}” is what chooses: what a round leaves of the shares, or, where a strategy is for a group, of that "
    "group's score. The least within the tolerance is kept."
)


def rounds_table(rounds: Rounds) -> pd.DataFrame:
    """One line a round, and what is counted from on top."""
    lines = [
        _line(
            rounds,
            rounds.number(i),
            standing_text(rounds, i),
            one.title,
            {"accuracy": one.accuracy, "uniform": one.uniform, "data": one.data},
            one.objective,
            wording.count(one.n_added),
        )
        for i, one in enumerate(rounds.rounds)
    ]
    if rounds.reference:
        what = "the control's accuracy, the model's shares" if rounds.is_control else "the model as it is"
        lines = [_line(rounds, wording.DASH, _reference_name(rounds), what, rounds.reference), *lines]
    return pd.DataFrame(lines)


def _line(
    rounds: Rounds,
    number: str,
    standing: str,
    title: str,
    shares: Mapping[str, float],
    objective: float = 1.0,
    n_added: str = "",
) -> dict[str, str]:
    return {
        "Round": number,
        "Standing": standing,
        "Accuracy": _percent(shares.get("accuracy")),
        f"Discriminatory, {rounds.shares['data'].lower().removeprefix('the ')}": _percent(shares.get("data")),
        rounds.shares["uniform"]: _percent(shares.get("uniform")),
        LEFT: _percent(objective),
        "Rows added": n_added,
        "What is different": wording.spaced(title),
    }


def _reference_name(rounds: Rounds) -> str:
    return f"{theme.BEFORE.symbol} {'reference' if rounds.is_control else 'before'}"


def _percent(value: Any) -> str:
    return wording.DASH if value is None else wording.share(float(value))


# --- accuracy against discrimination ------------------------------------------------------------


def rounds_chart(runs: Sequence[Rounds], of: str) -> Figure:
    """Accuracy against the discriminatory share, a point a round; the model as it is, the tolerance and the best are
    marked.

    Args:
        runs: one, or several side by side.
        of: whose share, a key of ``SHARES``.
    """
    layout = theme.chart_layout(
        "Rounds: accuracy against discrimination",
        f"Discriminatory share, {(runs[0].shares if runs else SHARES)[of].lower()}, %",
        "Accuracy, %",
        420,
    )
    layout |= {"hovermode": "closest", "showlegend": True}
    layout["title"] |= {"y": 0.98, "yanchor": "top", "yref": "container"}
    layout["legend"] = {
        "orientation": "h",
        "x": 0,
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
        "font": {"size": 12},
    }
    layout["margin"] = {**layout["margin"], "r": 16, "b": 96}
    layout["xaxis"]["title"]["standoff"] = 8
    layout["xaxis"] |= {"rangemode": "tozero"}
    traces = []
    for position, run in enumerate(runs):
        traces += _round_traces(run, of, position, is_alone=len(runs) == 1)
    _name_once(traces)
    shown = next((run for run in runs if run.reference), None)
    if shown is not None:
        traces.append(_reference_trace(shown, of))
        if shown.least_accuracy is not None:
            layout["shapes"] = [_level(shown.least_accuracy)]
            layout["annotations"] = [_level_name(shown.least_accuracy)]
    return figure_of(traces, layout)


def _name_once(traces: Sequence[dict[str, Any]]) -> None:
    """What several runs have (a control, a best model) is named once in the legend, whichever run has it first."""
    named = set()
    for trace in traces:
        group = trace.get("legendgroup")
        if group is not None:
            trace["showlegend"] = group not in named
            named.add(group)


def _round_traces(run: Rounds, of: str, position: int, *, is_alone: bool) -> list[dict[str, Any]]:
    """The rounds of a run joined in their order, an open mark where accuracy fell too far; the control stands apart."""
    proposed = [i for i, one in enumerate(run.rounds) if not one.is_control]
    controls = [i for i, one in enumerate(run.rounds) if one.is_control]
    name = "rounds" if is_alone else shortened(run.name.removeprefix(PREFIX), 40)
    traces = []
    if proposed:
        line = {"color": _colour(position), "width": 1.5, "dash": theme.LINE_DASHES[position % len(theme.LINE_DASHES)]}
        traces.append(
            {**_points(run, of, proposed, position), "name": name, "mode": "lines+markers+text", "line": line}
        )
    if controls:
        grey = {"symbol": "square-open", "size": 11, "color": theme.UNDECIDED.colour, "line": {"width": 3}}
        point = {**_points(run, of, controls, position), "marker": grey, "legendgroup": "control"}
        hover = "%{customdata}: accuracy %{y:.4g} %, share %{x:.3g} %<extra></extra>"
        traces.append({**point, "name": "□ control: no cases", "mode": "markers", "hovertemplate": hover})
    if run.best is not None:
        traces.append(_best_trace(run, of))
    return traces


def _points(run: Rounds, of: str, chosen: Sequence[int], position: int) -> dict[str, Any]:
    symbol = theme.MARKERS[position % len(theme.MARKERS)]
    return {
        "type": "scatter",
        "x": [100 * getattr(run.rounds[i], of) for i in chosen],
        "y": [100 * run.rounds[i].accuracy for i in chosen],
        "text": [run.number(i) for i in chosen],
        "textposition": "top center",
        "cliponaxis": False,
        "customdata": [standing_text(run, i) for i in chosen],
        "marker": {
            "symbol": [symbol if run.rounds[i].is_within else f"{symbol}-open" for i in chosen],
            "size": 10,
            "color": _colour(position),
        },
        "hovertemplate": "Round %{text}: accuracy %{y:.4g} %, share %{x:.3g} %, %{customdata}<extra></extra>",
    }


def _colour(position: int) -> str:
    """Of a strategy: none of those that mean before, after, or the best."""
    series = theme.series()
    colours = (series[0], series[4], series[5], theme.ink())
    return colours[position % len(colours)]


def _best_trace(run: Rounds, of: str) -> dict[str, Any]:
    assert run.best is not None, "drawn only then"
    one = run.rounds[run.best]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{theme.SELECTION.symbol} best so far",
        "legendgroup": "best",
        "x": [100 * getattr(one, of)],
        "y": [100 * one.accuracy],
        "marker": {"symbol": "diamond-open", "size": 22, "color": theme.SELECTION.colour, "line": {"width": 3}},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def _reference_trace(run: Rounds, of: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": _reference_name(run),
        "x": [100 * run.reference[of]],
        "y": [100 * run.reference["accuracy"]],
        "marker": {"symbol": "triangle-left", "size": 15, "color": theme.BEFORE.colour},
        "hovertemplate": "%{fullData.name}: accuracy %{y:.4g} %, share %{x:.3g} %<extra></extra>",
    }


def _level(accuracy: float) -> dict[str, Any]:
    """The line of the tolerance: models below it are not kept."""
    y = 100 * accuracy
    line = {"color": theme.UNDECIDED.colour, "width": 2, "dash": "dash"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line}


def _level_name(accuracy: float) -> dict[str, Any]:
    return {
        "xref": "paper",
        "x": 1,
        "xanchor": "right",
        "y": 100 * accuracy,
        "yanchor": "top",
        "text": f"least accuracy, {100 * accuracy:.4g} %",
        "showarrow": False,
        "font": {"size": 12},
    }


def rounds_chart_table(runs: Sequence[Rounds]) -> pd.DataFrame:
    """What the chart of rounds shows, of all runs."""
    parts = [rounds_table(run).assign(Strategy=run.name) for run in runs]
    table = pd.concat(parts, ignore_index=True)
    if len(runs) == 1 or table.empty:
        return table.drop(columns="Strategy")
    return table[["Strategy", *[name for name in table.columns if name != "Strategy"]]]


# --- epochs -------------------------------------------------------------------------------------


def has_epochs(run: Rounds) -> bool:
    """Whether trainings tell more than one step: an estimator that is fitted at once does not."""
    return any(epoch[1] > 1 for epoch in run.epochs)


def epochs_chart(run: Rounds, what: str) -> Figure:
    """Loss, or validation accuracy, by epoch, one round after the other.

    Args:
        run: of a network.
        what: ``loss`` or ``accuracy``.
    """
    epochs = _thinned(run.epochs)
    is_loss = what == "loss"
    title, unit = ("Loss by epoch", "Loss") if is_loss else ("Accuracy by epoch", "Accuracy, %")
    layout = theme.chart_layout(title, "Epochs, one round after the other", unit, 300)
    layout |= {"hovermode": "x unified", "showlegend": is_loss}
    layout["title"] |= {"y": 0.98, "yanchor": "top", "yref": "container"}
    layout["legend"] = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "font": {"size": 12}}
    layout["margin"] = {**layout["margin"], "t": 74}
    layout["shapes"] = [_boundary(i) for i in range(1, len(epochs)) if epochs[i][0] != epochs[i - 1][0]]
    parts = (
        ((2, "training rows", theme.PLAIN.colour, "solid"), (3, "validation rows", theme.SELECTION.colour, "dash"))
        if is_loss
        else ((4, "validation rows", theme.SELECTION.colour, "dash"),)
    )
    return figure_of([_epoch_trace(run, epochs, *part, scale=1 if is_loss else 100) for part in parts], layout)


def _boundary(i: int) -> dict[str, Any]:
    """Where the next round begins."""
    line = {"color": theme.faint(), "width": 1.5, "dash": "dot"}
    return {"type": "line", "yref": "paper", "x0": i + 0.5, "x1": i + 0.5, "y0": 0, "y1": 1, "line": line}


def _epoch_trace(
    run: Rounds, epochs: Sequence[EpochPoint], at: int, name: str, colour: str, dash: str, *, scale: int
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": list(range(1, len(epochs) + 1)),
        "y": [None if epoch[at] is None else scale * epoch[at] for epoch in epochs],
        "customdata": [[run.number(epoch[0] - 1), epoch[1]] for epoch in epochs],
        "line": {"color": colour, "width": 2, "dash": dash},
        "hovertemplate": "%{y:.4g} (round %{customdata[0]}, epoch %{customdata[1]})<extra>%{fullData.name}</extra>",
    }


def _thinned(epochs: Sequence[EpochPoint]) -> list[EpochPoint]:
    """At most as many epochs as a screen shows."""
    step = max(1, -(-len(epochs) // _MAX_EPOCHS))
    return list(epochs)[::step]


def epochs_table(run: Rounds) -> pd.DataFrame:
    """The epochs as a table."""
    names = ["Round", "Epoch", "Loss, training rows", "Loss, validation rows", "Accuracy, validation rows"]
    lines = [[run.number(epoch[0] - 1), *list(epoch)[1:5]] for epoch in run.epochs]
    return pd.DataFrame(lines, columns=names)
