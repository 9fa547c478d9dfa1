"""The parts of the Model page: the uploader, the fit card, the walls around the model's process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.data.schema import ModelInput, Schema
from fairness_engine.errors import RunError
from fairness_engine.models.fit.decisions import Decisions, decisions_under
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.runs import kinds
from pages.model import reading
from pages.shared import tables
from pages.shared.app import frame, navigation, session, theme, uploads, wording
from pages.shared.app.kept import kept
from pages.shared.charts import kit
from pages.shared.members import controls
from pages.shared.review import model_fit

if TYPE_CHECKING:
    import pandas as pd

    from fairness_engine.errors import ModelError
    from fairness_engine.store.records import Review
    from pages.shared.charts.drawn import Drawn

FORMATS = "Keras (.keras, .h5), ONNX (.onnx), scikit-learn saved with skops (.skops), ReluVal text (.nnet)"
UNSAFE_FORMATS = "pickle and joblib (.pkl, .joblib)"
_REFUSED = "model_refused"


# --- upload -------------------------------------------------------------------------------------


def refusal_of(review: Review) -> tuple[str, ModelError] | None:
    """The name of the file that was last refused for a review, and why; ``None`` once another was taken."""
    refused: dict[str, tuple[str, ModelError]] = st.session_state.setdefault(_REFUSED, {})
    return refused.get(review.id)


def ask_file(review: Review) -> None:
    """The uploader; a file that can be opened becomes the review's model at once. It is opened by the model's process
    only.
    """
    from fairness_engine.models.formats import MAX_MODEL_BYTES
    from fairness_engine.store.records import FileRole

    turn = st.session_state.setdefault("model_turn", 0)
    formats = f"{FORMATS}; {UNSAFE_FORMATS}" if session.accepts_unsafe_formats() else FORMATS
    key = f"model_{turn}"
    uploaded = controls.uploader("Model file", MAX_MODEL_BYTES, key=key, help=formats)
    st.caption(f"Formats: {formats}.")
    if session.accepts_unsafe_formats():
        st.warning(
            "The operator of this server accepts pickle and joblib files. They run code when they are opened: "
            "use files of people you trust only.",
            icon=":material/warning:",
        )
    file = uploads.stored(uploaded, key, FileRole.MODEL)
    if file is not None:
        error = model_fit.keep_model(review, file)
        refused = st.session_state.setdefault(_REFUSED, {})
        refused.pop(review.id, None)
        if error is not None:
            refused[review.id] = file.name, error
        st.session_state["model_turn"] = turn + 1
        st.rerun()
    if (refusal := refusal_of(review)) is not None:
        name, error = refusal
        kept = "" if review.model_id is None else f" The review keeps {session.store().file(review.model_id).name}."
        st.markdown(wording.markdown(f"{name} was not taken.{kept}"))
        frame.say(error)


def ask_input(review: Review) -> None:
    """How rows are given to the model, for when it cannot be found out."""
    schema = review.schema
    assert schema is not None, "the page asks after the data step"
    way = st.selectbox(
        "How the model takes a row",
        list(ModelInput),
        index=list(ModelInput).index(schema.model_input),
        format_func=lambda choice: model_fit.INPUT_NAMES[choice],
        help="Compare the three rows below with what the model was trained on. A wrong choice gives plausible "
        "nonsense.",
        disabled=controls.off(),
        key="model_input",
    )
    if way is not schema.model_input:
        model_fit.change_input(review, way)
        st.rerun()


# --- fit card -----------------------------------------------------------------------------------


def show_card(card: Mapping[str, Any], schema: Schema) -> None:
    """The fit card: warnings first, then figures, then a few people as the model receives them."""
    said = (card.get("reading") or {}).get("advice") or ()  # said by the verdict above
    for warning in [each for each in card.get("warnings") or () if each not in said]:
        st.warning(wording.markdown(wording.spaced(warning)), icon=":material/warning:")
    st.markdown(f"**{wording.markdown(describe(card))}**")
    with frame.wrapping("figures"):
        places = st.columns(4)
    for place, (label, value, note, term) in zip(places, figures(card, schema), strict=True):
        place.metric(label, value, delta=note, delta_color="off", delta_arrow="off", help=term, border=True)
    incomplete = incomplete_sentence(card)
    if incomplete is not None:
        st.caption(incomplete)
    with frame.wrapping("shares", is_wide=True):
        left, right = st.columns(2, gap="large")
    with left:
        show_shares(card)
    with right:
        show_facts(card, schema)
    show_rows(card, schema)


def say_threshold(review: Review, card: Mapping[str, Any]) -> None:
    """That the review decides at another threshold than the file does, at which this page's figures are."""
    threshold = review.scope.threshold if review.scope is not None else None
    if threshold is None or threshold == card.get("threshold"):
        return
    names = decisions_under(card, review.schema)
    own = "" if card.get("threshold") is None else f", {card['threshold']:g}"
    with st.container(horizontal=True, vertical_alignment="center", key="model_threshold"):
        st.caption(
            wording.markdown(
                f"Decisions and accuracy on this page are at the threshold of the model's own file{own}. The scope "
                f"sets another: this review decides “{names.name(1)}” above {threshold:g}, on the score for it."
            ),
            width="content",
        )
        session.link_to(navigation.SCOPE)


def describe(card: Mapping[str, Any]) -> str:
    """What the file holds, in a line."""
    parts = [str(card.get("format") or ""), str(card.get("kind") or "")]
    if card.get("layers"):
        parts.append("layers " + " → ".join(str(width) for width in card["layers"]))
    if card.get("n_inputs"):
        parts.append(wording.counted(card["n_inputs"], "input"))
    return ", ".join(part for part in parts if part)


def figures(card: Mapping[str, Any], schema: Schema | None = None) -> list[tuple[str, str, str | None, str]]:
    """The four figures on top: label, value, note, hover help."""
    accuracy = card.get("accuracy")
    majority = card.get("majority_share")
    auc = card.get("auc")
    output = card.get("output") or {}
    speed = card.get("rows_per_second")
    ends = [output.get("min"), output.get("max")]
    names = decisions_under(card, schema)
    if None not in ends:
        ends = sorted(names.shown(ends).tolist())
    is_probability = output.get("kind") == "probability"
    span = "unknown"
    if None not in ends:
        texts = [f"{end:.2f}" if is_probability else wording.number(end) for end in ends]
        span = ("\u2009–\u2009" if ends[0] >= 0 else " to ").join(texts)
    return [
        (
            "Accuracy",
            "unknown" if accuracy is None else wording.share(accuracy),
            "no label in the data" if accuracy is None else f"majority class: {wording.share(majority or 0.0)}",
            wording.explain("accuracy"),
        ),
        ("AUC", "unknown" if auc is None else f"{auc:.3f}", "0.5 is guessing", wording.explain("AUC")),
        (
            "Output",
            span,
            output.get("kind"),
            f"Smallest and largest score{f' for {names.scored()}' if names.is_binary else ''} on your data's rows, "
            "and what the numbers are.",
        ),
        (
            "Speed",
            "unknown" if not speed else f"{wording.magnitude(speed)}",
            "rows a second",
            "How fast the model answers here. It decides how long a search takes.",
        ),
    ]


def incomplete_sentence(card: Mapping[str, Any]) -> str | None:
    """How many rows miss a cell, and what the model makes of them; ``None`` where none does."""
    n = int(card.get("n_incomplete") or 0)
    n_answered = int(card.get("n_answered") or 0)
    if not n:
        return None
    said = f"{wording.counted(n, 'row')} of the data miss{'es' if n == 1 else ''} a cell beside the complete ones"
    if not n_answered:
        return f"{said}: the model does not take them, so nothing here speaks of them."
    of_them = "all" if n_answered == n else wording.count(n_answered)
    return (
        f"{said}; the model answers {of_them} of them, and they count in the figures above. Searches and proofs leave "
        "them out: they compare complete people."
    )


def share_table(card: Mapping[str, Any]) -> pd.DataFrame:
    """Share of every decision on the data's rows."""
    import pandas as pd

    shares = card.get("class_shares") or {}
    return pd.DataFrame(
        {"Decision": [str(name) for name in shares], "Share of rows": [float(share) for share in shares.values()]}
    )


def show_shares(card: Mapping[str, Any], rows: str = "rows") -> None:
    """How often the model decides what, on the data's rows; ``rows`` is what the page calls them."""
    table = share_table(card)
    if table.empty:
        return
    texts = [wording.share(share) for share in table["Share of rows"]]
    shown = (tuple(table["Decision"]), tuple(table["Share of rows"]), rows, theme.is_dark())
    twin = table.assign(**{"Share of rows": texts}).rename(columns={"Share of rows": f"Share of {rows}"})
    frame.chart_with_table(
        kept("class_shares", shown, lambda: _share_chart(table, texts, rows)),
        lambda: twin,
        key="class_shares",
        said="; ".join(map(": ".join, zip(table["Decision"], texts, strict=True))),
    )


def _share_chart(table: pd.DataFrame, texts: Sequence[str], rows: str) -> Drawn:
    names = [wording.escaped(name) for name in table["Decision"]]
    bars = kit.bars(
        [100 * share for share in table["Share of rows"]],
        range(len(names)),
        hover="%{customdata}: %{text}",
        colour=theme.PLAIN.colour,
        text=texts,
        customdata=names,
    )
    x = kit.axis(f"Share of {rows} (%)", range=[0, 105])
    y = kit.rows(names, autorange=True)
    return kit.chart(f"Decisions on the {rows} of your data", [bars], x, y, 130 + 44 * len(table))


def show_facts(card: Mapping[str, Any], schema: Schema) -> None:
    """Does it take the protected columns, does it answer the same twice."""
    used = card.get("uses_protected") or {}
    lines = [
        f"{_mark(used[name])} {'Takes' if used[name] else 'Does not take'} **{wording.markdown(name)}**"
        for name in schema.protected
        if name in used
    ]
    left_out = [wording.markdown(name) for name in card.get("not_taken") or () if name not in used]
    if left_out:
        lines.append(f":material/remove: Leaves out {', '.join(left_out)}: a search does not vary what no model sees")
    if "is_deterministic" in card:
        same = bool(card["is_deterministic"])
        lines.append(f"{_mark(same)} {'Gives' if same else 'Does not give'} the same answer to the same row")
    if "has_gradient" in card:
        has = bool(card["has_gradient"])
        rest = "" if has else ": ADF and EIDIG, which follow it, are not possible; MAFT estimates one"
        lines.append(f"{_mark(has)} {'Has' if has else 'Has no'} true gradient by the columns{rest}")
    st.markdown("**What the model does**")
    st.markdown("  \n".join(lines))
    if used and not any(used.values()):
        st.caption(
            "A model that takes no protected column cannot decide by it directly: a search finds nothing by "
            "construction."
        )


def _mark(is_so: bool) -> str:
    return ":material/check:" if is_so else ":material/close:"


def show_rows(card: Mapping[str, Any], schema: Schema) -> None:
    """A few people: every value as the model receives it, and what it answered."""
    rows: Sequence[Mapping[str, Any]] = card.get("sample_rows") or ()
    if not rows:
        return
    names = decisions_under(card, schema)
    st.header("A few people as the model receives them", anchor=False)
    st.caption(
        "Check that each value stands where the model was trained to expect it: what people read, and behind the "
        "arrow what the model is given. A category that an input stands for is 1 or 0."
    )
    for place, (number, row) in zip(st.columns(len(rows)), enumerate(rows, start=1), strict=True):
        place.markdown(f"**Person {number}**: {wording.markdown(answer_text(row, card, names))}")
    shown = (rows, card.get("inputs"))
    table = kept("sample_rows", shown, lambda: reading.received_table(card))
    tables.show(table, key="sample_rows", height=min(460, 38 + 35 * len(table)))


def answer_text(row: Mapping[str, Any], card: Mapping[str, Any], names: Decisions) -> str:
    """What the model answered to a row of the fit card, not escaped: ``ja, score 0.587 for ja``."""
    classes = [str(name) for name in card.get("classes") or ()]
    decision = classes.index(str(row["decision"])) if str(row["decision"]) in classes else -1
    told = names.name(decision) if decision >= 0 else str(row["decision"])
    return f"{told}, score {names.score(row['score'], decision)}"


# --- walls --------------------------------------------------------------------------------------


def show_protections() -> None:
    """Which walls stand around the process that opens the model."""
    from fairness_engine.model_process.sandbox.walls import PROTECTIONS

    evaluator = session.evaluator()
    walls = evaluator.protections
    if not walls:
        return
    n_up = sum(walls.get(name, False) for name in PROTECTIONS)
    with st.expander(f"The model runs in a process of its own, with {n_up} of {len(PROTECTIONS)} protections on"):
        lines = ["| wall | on | why not |", "| --- | --- | --- |"]
        for name, text in PROTECTIONS.items():
            is_up = walls.get(name, False)
            why = "" if is_up else evaluator.why_down.get(name, "it could not be raised")
            on = ":material/check:" if is_up else ":material/close:"
            lines.append(f"| {wording.markdown(text)} | {on} | {wording.markdown(why)} |")
        st.markdown("\n".join(lines))
        st.caption("`evenhand runs walls` tries each of them on this machine.")


def made_from(review: Review) -> str:
    """How the review's model came about, a sentence, not escaped; empty for one that was
    uploaded.
    """
    store = session.store()
    version = next((each for each in store.versions(review.id) if each.model_id == review.model_id), None)
    if version is None:
        return ""
    try:
        run = store.run(version.run_id)
    except RunError:
        return ""
    before = store.file(version.parent_id).name
    title = STRATEGIES[kinds.RETRAIN.settings(run.config).strategy].title
    return f"Made from {before} by retraining ({title}) on {wording.when(version.created)}. The model before is kept."
