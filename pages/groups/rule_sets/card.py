"""One rule set close up: who it is, both shares with their samples, what the labels say of the same people, a pin, its
rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.data.recorded import Source
from fairness_engine.errors import EvenhandError
from fairness_engine.groups.rule_sets.mining import NO_RULE
from fairness_engine.groups.rule_sets.phrases import group_text, share_text
from fairness_engine.groups.rule_sets.result import Stage
from fairness_engine.intervals import share_interval
from fairness_engine.runs.kinds import RULES
from pages.groups.rule_sets import cards, people, phrases
from pages.groups.texts import sentence_pairs
from pages.shared.app import frame, session, wording
from pages.shared.app.kept import kept
from pages.shared.app.reruns import rerun_fragment
from pages.shared.members import controls
from pages.shared.people import case_basket, cohorts
from pages.shared.runs import rule_runs

if TYPE_CHECKING:
    from fairness_engine.groups.rule_sets.result import RuleResult
    from fairness_engine.store.records import Review, RulePin, RunRecord
    from fairness_engine.telling.rules import Rule

STYLE = """
<style>
.eh-sides {border-collapse: collapse; margin: 0.5rem 0 0.2rem 0; font-variant-numeric: tabular-nums}
.eh-sides th, .eh-sides td {text-align: left; padding: 0.22rem 1.6rem 0.22rem 0; font-weight: 400;
  border-bottom: 1px solid color-mix(in srgb, currentColor 18%, transparent)}
.eh-sides th {opacity: 0.75; font-size: 0.9rem}
.eh-sides td:nth-child(2) {font-weight: 600}
.st-key-chosen_rule {scroll-margin-top: 4.5rem}
</style>
"""
_BRING_INTO_VIEW = """
<script data-rule-set="%d">
  setTimeout(() => document.querySelector(".st-key-chosen_rule")?.scrollIntoView({block: "start"}), 250);
</script>
"""
"""It opens above the cards and the table, from which it may have been opened: the chart above it must stand first."""
_IN_VIEW = "rule_in_view"
_STAGES = {
    Stage.POOL: "Samples of one pool for all groups.",
    Stage.TOPPED_UP: "Samples drawn for this group, which is rare in the pool.",
    Stage.FRESH: "Fresh samples, drawn after the group was among the highest: what chance had lifted it there is gone.",
    Stage.EXACT: "Every neighbour of every row was evaluated.",
    Stage.ROWS: "The rows themselves.",
}
_EVERY_TEXT = "Every text that holds a term of the category was decided with this term and with every other."


@dataclass(frozen=True)
class Side:
    """A group or everyone else: favourable, of how many; ``is_sample`` when the share needs an interval."""

    n_favourable: int
    n: int
    is_sample: bool = True

    @property
    def text(self) -> str:
        """The share, with its interval where it was sampled."""
        if not self.n:
            return wording.DASH
        share = self.n_favourable / self.n
        return wording.share(share, *share_interval(self.n_favourable, self.n)) if self.is_sample else share_text(share)


def draw(review: Review, run: RunRecord, result: RuleResult, position: int) -> None:
    """Draw the card of one rule set.

    Args:
        review: keeps the pins, and the labels.
        run: scored the rule set.
        result: all that it scored.
        position: of the rule set, from 0.
    """
    with st.container(border=True, key="chosen_rule"):
        with st.container(horizontal=True, vertical_alignment="center", key="rule_actions"):
            st.header(f"Rule set {wording.count(position + 1)}", anchor=False, width="stretch")
            _pin(review, run, position)
            if not phrases.is_of_texts(result):
                case_basket.offer_group(run, position, group_text(result, position))
                cohorts.offer_save(review, _rules(result, position), f"rule set {position + 1} of a run", "rule")
            st.button("Close", key="rule_close", on_click=rule_runs.choose, args=(None,), icon=":material/close:")
        st.html(STYLE + cards.card_html(result, position))
        st.html(sides_html(result, position))
        st.caption(wording.markdown(how_text(result, position)))
        text = labels_text(review, run, result, position)
        if text:
            st.markdown(wording.markdown(text))
        if phrases.is_of_texts(result):
            sentence_pairs.draw_for(review, run, position)
        else:
            _people(review, run, result, position)
        st.caption("The address of this page opens this rule set: send it to whom it concerns.")
    _bring_into_view(run.id, position)


def _rules(result: RuleResult, position: int) -> list[Rule]:
    line = result.scored.rules[position].tolist()
    both = zip(result.attributes, line, strict=True)
    return [attribute.exact_rule(rule) for attribute, rule in both if rule != NO_RULE]


def _bring_into_view(run_id: str, position: int) -> None:
    """Scroll to the card when it opens, and not again while it stays open."""
    opened = (run_id, position)
    shown = st.session_state.get(_IN_VIEW)
    if shown != opened:
        st.session_state[_IN_VIEW] = opened
        st.html(_BRING_INTO_VIEW % position, unsafe_allow_javascript=True)  # the same text would not run twice


def forget_view() -> None:
    """No card is open: the next one that opens is scrolled to, also when it is the same."""
    st.session_state.pop(_IN_VIEW, None)


def _people(review: Review, run: RunRecord, result: RuleResult, position: int) -> None:
    """The rows and pairs of the group, looked up once somebody wants to see them."""
    name = f"rule_people_{run.id}_{position}"
    part = st.expander("Its rows and pairs", key=name, icon=":material/table_rows:", on_change="rerun")
    if part.open:
        with part:
            people.draw(review, run, result, position)


def sides_html(result: RuleResult, position: int) -> str:
    """Both sides with their rows, shares and samples, as a table; everything escaped."""
    scored = result.scored
    is_of_texts = phrases.is_of_texts(result)
    # both sides of a term are made of the same texts: an interval of one would mislead
    is_sample = scored.stage[position] != Stage.EXACT and not is_of_texts
    inside = Side(int(scored.favourable_inside[position]), int(scored.n_inside[position]), is_sample)
    outside = Side(int(scored.favourable_outside[position]), int(scored.n_outside[position]), is_sample)
    n = int(scored.n_rows[position])
    rows = (n, n if is_of_texts else result.n_rows - n)
    names = ("The group", phrases.capitalised(phrases.others(result)))
    lines = "".join(
        f"<tr><td>{wording.escaped(name)}</td><td>{side.text}</td><td>{wording.count(side.n)}</td>"
        f"<td>{wording.count(n_rows)} ({wording.share(n_rows / result.n_rows)})</td></tr>"
        for name, side, n_rows in zip(names, (inside, outside), rows, strict=True)
    )
    head = (
        f"<tr><th></th><th>Favourable</th><th>Samples</th><th>{phrases.noun_of(result).capitalize()}s of the "
        "data</th></tr>"
    )
    return f'<table class="eh-sides">{head}{lines}</table>'


def how_text(result: RuleResult, position: int) -> str:
    """What the samples are, how sure the score is, and under which rule set this one is folded."""
    scored = result.scored
    stage = Stage(int(scored.stage[position]))
    is_of_texts = phrases.is_of_texts(result)
    text = _EVERY_TEXT if is_of_texts and stage == Stage.EXACT else _STAGES[stage]
    if scored.low[position] < scored.high[position]:
        each = "" if is_of_texts else "Shares have 95 % intervals, each for itself. "
        text += f" {each}The score's interval holds together with those of all other rule sets."
    if scored.low[position] <= 0:
        text += " It reaches down to 0: this difference may be chance."
    head = int(scored.head[position])
    if head not in (-1, position):
        text += f" Nearly the same people as rule set {wording.count(head + 1)}: {group_text(result, head)}."
    return text


# --- what the labels say ------------------------------------------------------------------------


def labels_text(review: Review, run: RunRecord, result: RuleResult, position: int) -> str:
    """What the data's labels say of the same people; empty without a label, or where the labels are what was
    compared.
    """
    if RULES.settings(run.config).source is Source.LABELS or phrases.is_of_texts(result):
        return ""
    if (review.data_id, review.schema) != (run.config.data_id, run.config.schema) or not run.config.schema.label:
        return ""
    sides = kept("rule_labels", (run.id, position), lambda: label_sides(review, run, result, position))
    if sides is None:
        return ""
    inside, outside = sides
    gap = outside.n_favourable / max(1, outside.n) - inside.n_favourable / max(1, inside.n)
    is_alike = (gap > 0) == bool(result.scored.is_harmed[position])
    what = "in the same direction" if is_alike else "in the other direction"
    return (
        f"The data's own “{run.config.schema.label}” says of the same people: {inside.text} favourable, everyone else "
        f"{outside.text}; a difference of {phrases.points(abs(gap))} {what}."
    )


def label_sides(review: Review, run: RunRecord, result: RuleResult, position: int) -> tuple[Side, Side] | None:
    """Favourable labels of the rows inside and outside; ``None`` when the data has none that can be read."""
    from fairness_engine.data.recorded import recorded_labels
    from fairness_engine.groups.rule_sets.membership import lie_within, members
    from fairness_engine.oracle.domain import Ranges
    from pages.shared.review.dataset import dataset_of

    config = run.config
    try:
        dataset = dataset_of(review)
        labels = recorded_labels(dataset)
        is_there = lie_within(Ranges(config.schema, config.scope), dataset.rows) & labels.is_known
        is_in = members(result.attributes, result.scored.rules[position].tolist(), config.schema, dataset.rows)
    except EvenhandError:
        return None
    sides = [is_there & is_in, is_there & ~is_in]
    inside, outside = (Side(int(labels.favourable[side].sum()), int(side.sum())) for side in sides)
    return inside, outside


# --- pins ---------------------------------------------------------------------------------------


def pin_of(review: Review, run: RunRecord, position: int) -> RulePin | None:
    """The pin of a rule set."""
    pins = session.store().rule_pins(review.id)
    return next((pin for pin in pins if (pin.run_id, pin.rule_index) == (run.id, position)), None)


def _pin(review: Review, run: RunRecord, position: int) -> None:
    """Keep the rule set with a note."""
    held = pin_of(review, run, position)

    def ask() -> None:
        note = st.text_area(
            "Note",
            held.note if held else "",
            key=f"rule_note_{run.id}_{position}",
            max_chars=2000,
            placeholder="Why it matters",
        )
        if controls.button("Save" if held else "Pin this group", key="rule_pin_save", type="primary"):
            session.store().set_rule_pin(review.id, run.id, position, note)
            rerun_fragment()
        if held and controls.button("Remove the pin", key="rule_pin_remove"):
            session.store().remove_rule_pin(review.id, run.id, position)
            rerun_fragment()

    frame.popup("Pinned" if held else "Pin", ask, f"rule_pin_{run.id}_{position}", icon=":material/keep:")
