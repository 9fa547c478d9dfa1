"""The control: the model's own kind, trained on the same rows without any cases.

It tells two things apart that a retraining mixes up: what the cases did, and what training on our rows alone does. And
it unmasks a "before" that looks better than it is, because the model has seen the test rows in its own training.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairness_engine.retraining.evaluation.changes import paired_change
from fairness_engine.retraining.evaluation.measure import Examined
from fairness_engine.retraining.evaluation.split import Split
from fairness_engine.retraining.evaluation.verdict import Words, in_points, percent, points
from fairness_engine.retraining.results import PairedChange
from fairness_engine.retraining.subject import Retrainable

MAX_SECONDS = 15.0
"""A control that nobody asked for is trained where the quickest round took no longer."""
TITLE = "Control: the training rows alone, no cases"
_LEAST_GAP = 0.005
"""Half a point: a smaller difference is said as a number, not as a suspicion."""


@dataclass(frozen=True)
class ControlComparison:
    """The model as it was, against the control, on the test rows.

    Args:
        gap: accuracy of the model less that of the control.
        is_inflated: the model decides the test rows better than the control by more than chance, and by half a point or
            more.
    """

    gap: PairedChange
    is_inflated: bool

    @property
    def text(self) -> str:
        """A sentence for the result; empty without a suspicion."""
        if not self.is_inflated:
            return ""
        low, value, high = (points(end) for end in (self.gap.low, self.gap.value, self.gap.high))
        return (
            f"The accuracy before looks inflated: on the test rows the model is {value} points above the control "
            f"({low} to {high}). It has seen these rows in its own training, or a new training on fewer rows comes out "
            "worse: compare with the control."
        )


def compare_with_control(subject: Retrainable, parts: Split, before: Examined, control: Examined) -> ControlComparison:
    """How the model as it was and the control decide the test rows.

    Args:
        subject: labels.
        parts: of the data.
        before, control: examined on the test rows.
    """
    assert subject.dataset.labels is not None, "checked when the rows were split"
    labels = subject.dataset.labels[parts.test]
    gap = paired_change(control.decided == labels, before.decided == labels)
    return ControlComparison(gap, gap.is_rise and gap.value >= _LEAST_GAP)


def gain_text(control: Examined, after: Examined, words: Words) -> str:
    """That the control is no worse than the new model, so that the fall is not the strategy's; empty where the new
    model is lower.

    Args:
        control, after: examined on the same rows and draws.
        words: of what the shares are.
    """
    pairs = ((control.uniform, after.uniform), (control.data, after.data))
    if any(paired_change(was, now).is_fall for was, now in pairs):
        return ""
    uniform, data = (percent(share.share) for share in (control.measured.uniform, control.measured.data))
    return (
        f"The control, trained without cases, came to {uniform} {words.uniform} and {data} {words.data}, which is no "
        "more than the new model: what fell, fell by training again on these rows, not by the strategy."
    )


def no_control_text(seconds_left: float) -> str:
    """Why no control was trained, with what to do."""
    why = "the time was over" if seconds_left < MAX_SECONDS else f"the quickest round took more than {MAX_SECONDS:g} s"
    return (
        f"No control was trained beside it, since {why}: let the tolerance count from the control to have one whatever "
        "it takes."
    )


def control_text(control: Examined, tolerance: float) -> str:
    """What the tolerance counted from, when that is the control."""
    accuracy = percent(control.measured.quality.accuracy.value)
    return (
        f"The tolerance of {in_points(tolerance)} counts from the control, which decides {accuracy} of the test rows "
        "as their outcome was."
    )
