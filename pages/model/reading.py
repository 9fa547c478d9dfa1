"""Is the model read as its owner reads it? The verdict, class 1, known answers, and the order and names of its
inputs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.data.schema import Layout, ModelInput, Schema
from fairness_engine.errors import EvenhandError, SettingError
from fairness_engine.models.fit.reading_state import KnownBy, Reading, State
from pages.shared import tables
from pages.shared.app import frame, session, uploads, wording
from pages.shared.app.kept import kept
from pages.shared.members import controls
from pages.shared.review import dataset, model_fit

if TYPE_CHECKING:
    import pandas as pd

    from fairness_engine.store.records import AnswersSource, Review

MADE_BY = {
    "scikit-learn": "model.predict_proba(people[columns])[:, 1]",
    "Keras": "model.predict(inputs)[:, -1]",
}
"""How the scores of known answers are made where the model was trained."""


_N_NUMBERED = 40
"""Categories of a column whose numbers are listed."""


def reading_of(card: Mapping[str, Any] | None) -> Reading | None:
    """What a fit card says of the reading; ``None`` for one of texts, or of a version before."""
    content = (card or {}).get("reading")
    return Reading.from_json(content) if content else None


# --- the verdict --------------------------------------------------------------------------------


def show_verdict(review: Review, reading: Reading) -> None:
    """The state in a sentence, what speaks against it, and a button where another reading fits far better."""
    sentence = f"**Reading {wording.markdown(reading.in_words())}.** {wording.markdown(_facts(reading))}"
    if reading.state is State.CONFIRMED:
        st.success(sentence, icon=":material/verified:")
        for advice in reading.advice:
            st.warning(wording.markdown(wording.spaced(advice)), icon=":material/warning:")
    elif reading.state is State.PLAUSIBLE:
        st.info(f"{sentence} Known answers would confirm it.", icon=":material/rule:")
    else:
        say = st.error if reading.state is State.REFUSED else st.warning
        said = "\n\n".join(wording.markdown(wording.spaced(advice)) for advice in reading.advice)
        say(f"{sentence}\n\n{said}".strip(), icon=":material/report:")
    better = reading.better
    if better and controls.button(
        _better_label(better), key="read_better", type="primary", icon=":material/auto_fix_high:"
    ):
        said_so: dict[str, Any] = {name: better[name] for name in ("positive", "classes") if name in better}
        if "layout" in better:
            said_so |= {"layout": Layout.from_json(better["layout"]), "model_input": ModelInput(better["model_input"])}
        model_fit.change_reading(review, **said_so)
        st.rerun()


def _facts(reading: Reading) -> str:
    """What the state rests on."""
    if reading.n_compared:
        people = wording.counted(reading.n_compared, "known answer")
        if reading.max_difference is None:
            return f"Compared with {people}."
        return f"Largest difference {reading.max_difference:.2g} over {people}."
    if reading.auc is None or reading.state is not State.PLAUSIBLE:
        return ""
    beside = "" if reading.reference_auc is None else f"; a plain linear fit reaches {reading.reference_auc:.2f}"
    tried = ", and no usual order of its inputs fits far better" if reading.inputs_by is not KnownBy.FILE else ""
    return f"It tells the outcomes of your data apart (AUC {reading.auc:.2f}{beside}){tried}."


def _better_label(better: Mapping[str, Any]) -> str:
    parts = []
    if "order" in better:
        parts.append(better["order"] + ("" if better["scaling"] == "as they are" else f", {better['scaling']}"))
    if "positive" in better:
        parts.append(f"class 1 is '{better['positive']}'")
    if "classes" in better:
        parts.append(f"its classes are {', '.join(better['classes'])}")
    return wording.markdown(f"Read it so: {'; '.join(parts)}")


# --- class 1 ------------------------------------------------------------------------------------


def ask_positive(review: Review, card: Mapping[str, Any], reading: Reading) -> None:
    """Which outcome the model's one score is that of, with the consequence of both answers beside them."""
    if reading.positive is None:
        return
    classes = list(card["classes"])
    if reading.positive_by is KnownBy.FILE:
        favourable = wording.markdown(str(classes[int(card["favourable"])]))
        st.caption(
            f"The file names its classes: it is known whose score is whose. Pages show the score for **{favourable}**."
        )
        return
    chosen = st.radio(
        "The model's score is the score of",
        classes,
        index=classes.index(reading.positive),
        captions=[_consequence(reading, is_taken=name == reading.positive) for name in classes],
        format_func=wording.markdown,
        horizontal=True,
        help="The file gives one number and no name for it. Which outcome is the more likely, the higher the number "
        "is?",
        key=f"positive_{reading.positive}",
        disabled=controls.off(),
    )
    if reading.positive_by is KnownBy.NOBODY:
        st.caption(
            f"Nobody has said so yet: '{wording.markdown(reading.positive)}' is the second outcome of the label."
        )
    if chosen is not None and chosen != reading.positive:
        model_fit.change_reading(review, positive=_code_of(review, chosen))
        st.rerun()


def ask_classes(review: Review, card: Mapping[str, Any], reading: Reading) -> None:
    """Which outcomes the scores of a model of more than two are those of, where its file does not name them."""
    if reading.positive is not None or reading.positive_by is KnownBy.FILE:
        return
    classes = [str(name) for name in card["classes"]]
    with st.expander("Order of the model's classes: say which score is whose"):
        st.caption(
            f"The file gives {len(classes)} scores and no names for them: they are taken for those of "
            f"{wording.markdown(', '.join(classes))}, in this order. Choose the outcomes one after the other, in the "
            "order of the model's scores."
        )
        chosen = st.multiselect(
            "Outcomes, in the order of the model's scores",
            classes,
            format_func=wording.markdown,
            placeholder=f"{len(classes)} outcomes",
            key=f"classes_{'|'.join(classes)}",
            disabled=controls.off(),
        )
        is_another = len(chosen) == len(classes) and chosen != classes
        if is_another and controls.button("Read it so", key="classes_use", type="primary"):
            model_fit.change_reading(review, classes=chosen)
            st.rerun()


def _consequence(reading: Reading, *, is_taken: bool) -> str:
    accuracy, area = (reading.accuracy, reading.auc) if is_taken else (reading.accuracy_reversed, reading.auc_reversed)
    if accuracy is None or area is None:
        return "no label tells"
    return f"accuracy {wording.share(accuracy)}, AUC {area:.2f}"


def _code_of(review: Review, outcome: str) -> Any:
    """What the label's column holds for an outcome that people read."""
    schema = review.schema
    column = next((each for each in schema.columns if each.name == schema.label), None) if schema else None
    known = {} if column is None else dict(zip(column.labels, column.codes, strict=False))
    return known.get(outcome, outcome)


def confirmed(review: Review, card: Mapping[str, Any]) -> tuple[Review, dict[str, Any]]:
    """Review and card once the reader said that all is right: class 1 is then said too."""
    reading = reading_of(card)
    if reading is None or reading.positive is None or reading.positive_by is not KnownBy.NOBODY or not review.schema:
        return review, dict(card)
    if review.schema.label is None:
        return review, dict(card)
    said = replace(review, schema=replace(review.schema, positive=_code_of(review, reading.positive)))
    return said, {**card, "reading": {**card["reading"], "positive_by": KnownBy.PERSON.value}}


def ask_to_go_on(reading: Reading | None) -> bool:
    """The button that confirms; where nothing does it for the reader, the reader says so, and a contradiction is mended
    first.
    """
    if reading is not None and reading.state is State.REFUSED:
        st.button("This is right: go on to the scope", disabled=True, key="fit_confirmed")
        st.caption("The known answers contradict this reading. Correct it above, or take the answers away.")
        return False
    if reading is None or reading.state is not State.UNCONFIRMED:
        return controls.button("This is right: go on to the scope", type="primary", key="fit_confirmed")
    is_known = st.checkbox(
        "I know that the model is read rightly, although nothing here confirms it",
        key="fit_known",
        help="Every page and file will say *not confirmed*.",
    )
    return controls.button("Go on to the scope, not confirmed", disabled=not is_known, key="fit_confirmed")


# --- known answers ------------------------------------------------------------------------------


def ask_answers(review: Review) -> None:
    """A file or a column with what the model answered in its own environment."""
    source = session.store().answers(review.id)
    frame.fold(
        "Known answers: scores that the model gave in its own environment",
        partial(_ask_answers, review, source),
        f"known_answers_{review.id}",
        is_open=source is not None,
    )


def _ask_answers(review: Review, source: AnswersSource | None) -> None:
    from fairness_engine.data.csv.file_bytes import MAX_BYTES
    from fairness_engine.store.records import AnswersSource, FileRole

    if source is not None:
        name = session.store().file(source.file_id).name if source.file_id else f"column {source.column}"
        st.markdown(f"Compared with **{wording.markdown(name)}**.")
        if controls.button("Take them away", key="answers_away", icon=":material/close:"):
            model_fit.change_answers(review, None)
            st.rerun()
    turn = st.session_state.setdefault("answers_turn", 0)
    left, right = st.columns(2)
    key = f"answers_{turn}"
    with left:
        uploaded = controls.uploader(
            "A CSV file of answers",
            MAX_BYTES,
            key=key,
            help="A column 'score' (or 'decision'), and the column that names the case; without one, the rows in "
            "the order of your data. A few hundred are plenty.",
        )
    columns = [name for name in dataset.table_of(review).columns if name not in review.schema.names]
    column = right.selectbox(
        "or a column of your data",
        columns,
        index=None,
        placeholder="None",
        key=f"answers_column_{turn}",
        disabled=controls.off(),
    )
    right.caption("Scores, or outcomes as the label has them; it must be no input of the model.")
    for made_by, code in MADE_BY.items():
        st.caption(f"Made with {made_by}:")
        columns_kept = f"[{json.dumps(review.schema.case_id)}]" if review.schema.case_id else "[]"
        st.code(
            f'answers = people[{columns_kept}].assign(score={code})\nanswers.to_csv("answers.csv", index=False)',
            language="python",
        )
    file = uploads.stored(uploaded, key, FileRole.OTHER)
    if file is None and column is None:
        return
    brought = AnswersSource(column=column) if file is None else AnswersSource(file_id=file.id)
    before = session.store().answers(review.id)
    session.store().set_answers(review.id, brought)
    try:
        model_fit.answers_of(review)
    except EvenhandError as error:
        session.store().set_answers(review.id, before)
        frame.say(error)
        return
    model_fit.change_answers(review, brought)
    st.session_state["answers_turn"] = turn + 1
    st.rerun()


# --- order, scaling and names of the inputs -----------------------------------------------------


def ask_inputs(review: Review, reading: Reading | None, inputs: Sequence[Mapping[str, Any]]) -> None:
    """Correct which column each input is: by name where the file has names, else by order and scaling.

    Args:
        review: with a model.
        reading: of the fit card; ``None`` where the model was refused.
        inputs: as the card lists them; names only where it was refused.
    """
    schema = review.schema
    assert schema is not None, "the page asks after the data step"
    is_named = reading is None or reading.inputs_by is KnownBy.FILE
    title = "Names of the model's inputs" if is_named else "Order and scaling of the model's inputs"
    frame.fold(
        f"{title}: correct what each input is",
        partial(_ask_order, review, schema, reading, inputs)
        if reading is not None and not is_named
        else partial(_ask_names, review, schema, inputs),
        f"inputs_{review.id}_{review.model_id}",
        is_open=reading is None and bool(inputs),
    )
    if not schema.layout.is_plain and controls.button(
        "Forget these corrections", key="layout_away", icon=":material/undo:"
    ):
        model_fit.change_reading(review, layout=Layout())
        st.rerun()


def _ask_names(review: Review, schema: Schema, inputs: Sequence[Mapping[str, Any]]) -> None:
    """The model's name of an input beside the column that it is."""
    import pandas as pd

    if not inputs:
        st.caption("The model's inputs are not known yet.")
        return
    st.caption("Choose the column of an input that was matched wrongly, or not at all.")
    table = pd.DataFrame(
        {
            "Model's input": [each["name"] for each in inputs],
            "Column": [each.get("column") or None for each in inputs],
            "Category": [each.get("category") or "" for each in inputs],
            "How it was matched": [each.get("how") or "not matched" for each in inputs],
        }
    )
    edited = tables.edit(
        table,
        disabled=controls.off() or ["Model's input", "Category", "How it was matched"],
        column_config={"Column": st.column_config.SelectboxColumn(options=list(schema.names), width=220)},
        height=min(420, 38 + 35 * len(table)),
        key="input_names",
    )
    changed = {
        str(name): str(column)
        for name, column, before in zip(edited["Model's input"], edited["Column"], table["Column"], strict=True)
        if column and column != before
    }
    if changed and controls.button("Read it so", key="input_names_use", type="primary"):
        names = {**schema.layout.names, **changed}
        model_fit.change_reading(review, layout=replace(schema.layout, names=names))
        st.rerun()


def _ask_order(review: Review, schema: Schema, reading: Reading, inputs: Sequence[Mapping[str, Any]]) -> None:
    """The usual ways with what each would give, or an order of one's own."""
    names = [str(each["name"]) for each in inputs]
    st.caption(
        "The file carries no names: what stands first in training must stand first here. These usual ways were tried "
        "on your labels."
    )
    if reading.ways:
        _show_ways(reading.ways)
        places = list(range(len(reading.ways)))
        chosen = st.selectbox(
            "Read it in one of these ways",
            places,
            index=None,
            format_func=lambda place: _way_text(reading.ways[place]),
            placeholder="Choose a way",
            key="way",
        )
        if chosen is not None and controls.button("Read it so", key="way_use", type="primary"):
            said = Layout.from_json(reading.ways[chosen]["layout"])
            model_fit.change_reading(
                review, layout=replace(said, names=schema.layout.names), model_input=ModelInput.AUTO
            )
            st.rerun()
    edited = tables.edit(
        _order_table(names, schema),
        disabled=controls.off() or ["Input"],
        column_config={
            "Place": st.column_config.NumberColumn(min_value=1, max_value=len(names), step=1, width=80),
            "Mean or smallest": st.column_config.NumberColumn(
                format="%g", help="What the model's owner subtracted from the value."
            ),
            "Deviation or range": st.column_config.NumberColumn(format="%g", help="What the result was divided by."),
        },
        height=min(420, 38 + 35 * len(names)),
        key="input_order",
    )
    try:
        said = _layout_of(edited, names)
    except SettingError as error:
        frame.say(error)
        return
    changed = replace(schema.layout, order=said.order, scaling=said.scaling)
    if changed != replace(schema.layout, order=tuple(names)) and controls.button(
        "Read it in this order and scaling", key="order_use", type="primary"
    ):
        model_fit.change_reading(review, layout=changed, model_input=ModelInput.AUTO)
        st.rerun()


def _show_ways(ways: Sequence[Mapping[str, Any]]) -> None:
    import pandas as pd

    columns = {
        "Order": [way["order"] for way in ways],
        "Scaling": [way["scaling"] for way in ways],
        "AUC on your labels": [f"{way['auc']:.3f}" for way in ways],
    }
    tables.show(kept("ways", columns, lambda: pd.DataFrame(columns)), key="ways")


def _way_text(way: Mapping[str, Any]) -> str:
    return f"{way['order']}, {way['scaling']} (AUC {way['auc']:.2f})"


def _order_table(names: Sequence[str], schema: Schema) -> pd.DataFrame:
    import pandas as pd

    pairs = [schema.layout.scaling.get(name, (0.0, 1.0)) for name in names]
    return pd.DataFrame(
        {
            "Place": range(1, len(names) + 1),
            "Input": names,
            "Mean or smallest": [float(shift) for shift, _ in pairs],
            "Deviation or range": [float(scale) for _, scale in pairs],
        }
    )


def _layout_of(edited: pd.DataFrame, names: Sequence[str]) -> Layout:
    """The layout that an edited table of the inputs means.

    Raises:
        SettingError: two inputs in one place, or a division by nothing.
    """
    places = [int(place) for place in edited["Place"].fillna(0)]
    twice = sorted({place for place in places if places.count(place) > 1})
    if twice or sorted(places) != list(range(1, len(names) + 1)):
        got = f"place {twice[0]} twice" if twice else "a place that is none"
        raise SettingError(
            f"Every input needs a place of its own from 1 to {len(names)}, got {got}. Give the other one its place too."
        )
    order = tuple(name for _, name in sorted(zip(places, names, strict=True)))
    pairs = zip(names, edited["Mean or smallest"], edited["Deviation or range"], strict=True)
    scaling = {name: (float(shift), float(scale)) for name, shift, scale in pairs if (shift, scale) != (0.0, 1.0)}
    wrong = next((name for name, (_, scale) in scaling.items() if not abs(scale) > 0), None)
    if wrong is not None:
        raise SettingError(f"The deviation or range of '{wrong}' must be a number other than 0. Correct it.")
    return Layout(order=order, scaling=scaling)


def ask_numbers(review: Review, reading: Reading) -> None:
    """The numbers that categories of texts are given as, where nobody has said them: the reader says that they are
    right.
    """
    schema = review.schema
    assert schema is not None, "the page asks after the data step"
    guessed = [schema.column(name) for name in reading.guessed if name in schema.names]
    if not guessed:
        return
    with st.expander("Numbers of categories: say that they are those of the training", key="numbers_of_categories"):
        st.caption("The model takes these categories as numbers, and its file does not say which number each had.")
        codes = {**{column.name: column.labels for column in guessed}, **schema.layout.codes}
        for column in guessed:
            own = codes[column.name]
            numbers = ", ".join(f"{number} {label}" for number, label in enumerate(own[:_N_NUMBERED]))
            more = " …" if len(own) > _N_NUMBERED else ""
            st.markdown(f"**{wording.markdown(column.name)}**: {wording.markdown(numbers)}{more}")
        if controls.button("These numbers are right", key="numbers_right"):
            model_fit.change_reading(review, layout=replace(schema.layout, codes=codes, codes_guessed=False))
            st.rerun()


# --- people as the model receives them ----------------------------------------------------------


def received_table(card: Mapping[str, Any]) -> pd.DataFrame:
    """One line an input, in the model's order: what it is made of, and what the model receives for each of the people
    shown.
    """
    import pandas as pd

    rows = card["sample_rows"]
    inputs = card.get("inputs") or ()
    names = list(rows[0]["received"])
    made_of = [_made_of(each) for each in inputs] if len(inputs) == len(names) else names
    table: dict[str, list[str]] = {
        "Input": [f"{place}. {name}" for place, name in enumerate(names, start=1)],
        "Made of": made_of,
    }
    columns = [each.get("column", "") for each in inputs] if len(inputs) == len(names) else names
    for number, row in enumerate(rows, start=1):
        table[f"Person {number}"] = [
            _received(row["labels"].get(column), row["received"][name], is_category=" is " in what)
            for name, column, what in zip(names, columns, made_of, strict=True)
        ]
    return pd.DataFrame(table)


def _made_of(match: Mapping[str, Any]) -> str:
    column = match.get("column") or ""
    category = match.get("category")
    return column if category is None else f"{column} is {category}"


def _received(label: object, value: object, *, is_category: bool) -> str:
    """What the model receives, behind what people read where these differ."""
    told = f"{value:.6g}" if isinstance(value, float) else str(value)
    if is_category or label is None or str(label) == told:
        return told
    return f"{label} → {told}"
