"""Which class of the model is which outcome of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairness_engine.data.inference import known_favourable
from fairness_engine.data.schema import Column, Kind, Schema, Value
from fairness_engine.errors import FitError, ModelError, cut
from fairness_engine.models.inputs.spelling import normal

MAX_CLASSES = 1_000
"""Of a model. Of that many a score each is written for every row."""
_N_NAMED = 6
_MAX_NAMED = 24
_MAX_LISTED = 80
"""Classes that a sentence names, letters of each, and of all together."""


def check_class_count(n_classes: int) -> None:
    """Refuse a model of too many classes, before anything is made for each of them.

    Raises:
        ModelError: there are more than ``MAX_CLASSES``.
    """
    if n_classes > MAX_CLASSES:
        raise ModelError(
            f"A model may decide between at most {MAX_CLASSES:,} classes, got {n_classes:,}. Check that it is a "
            "classifier of people, and not of words or numbers."
        )


def some_classes(names: Sequence[str]) -> str:
    """The first classes for a sentence, each shortened."""
    more = ", ..." if len(names) > _N_NAMED else ""
    plain = (cut(" ".join(name.split()), _MAX_NAMED) for name in names[:_N_NAMED])
    return cut(", ".join(plain) + more, _MAX_LISTED)


@dataclass(frozen=True)
class ClassMatch:
    """How the model's classes are put into the data's order.

    Args:
        classes: names of class 0, 1, ... after ``order``.
        order: for every class of the result, the class of the model; ``None`` to leave them.
        notes: one sentence each, where a user should look.
        is_named: the model's own names of its classes are the data's outcomes.
    """

    classes: tuple[str, ...]
    order: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()
    is_named: bool = False


def match_classes(
    n_classes: int, own: Sequence[object] | None, classes: tuple[str, ...] | None, schema: Schema
) -> ClassMatch:
    """Match by what the label's column holds, then by what people read, then by position.

    Args:
        n_classes: of the model.
        own: what the model calls its classes; ``None`` for networks, whose output i stands for the code i.
        classes: the data's outcomes; ``None`` when it has none.
        schema: says which codes the label's column holds.

    Raises:
        ModelError: of too many classes.
    """
    check_class_count(n_classes)
    own_names = tuple(str(name) for name in own) if own is not None else tuple(str(i) for i in range(n_classes))
    if classes is None:
        return ClassMatch(_plain_names(own_names))
    if len(classes) != n_classes:
        note = (
            f"The model decides between {n_classes} classes, but the data has {len(classes)} outcomes "
            f"({some_classes(classes)}). Choose the label column the model was trained on."
        )
        return ClassMatch(_plain_names(own_names), notes=(note,))
    if own is None and schema.positive is not None:
        return ClassMatch(classes)  # the data's outcomes are in the order that was said
    codes = codes_of_outcomes(schema, classes)
    for names in (None if codes is None else tuple(map(str, codes)), classes):
        order = _order(own_names, names)
        if order is not None:
            is_named = own is not None
            return ClassMatch(classes, None if order == tuple(range(n_classes)) else order, is_named=is_named)
    if own is None or _is_numbering(own_names):
        return ClassMatch(classes)
    note = (
        f"The model's classes are {some_classes(own_names)}, the data's outcomes {some_classes(classes)}: they are "
        "matched in this order. Check that the favourable outcome is right."
    )
    return ClassMatch(classes, notes=(note,))


def favourable_of_model(classes: Sequence[str], favourable: Value | None, taken: int) -> tuple[int, str]:
    """Which of a model's classes is good for the person, where the data has no label that says so.

    Args:
        classes: what the model calls them.
        favourable: the one that somebody named.
        taken: the one that is taken where nobody did, and none has a usual name.

    Returns:
        its index, and a sentence where nobody named it.

    Raises:
        FitError: the one that is named is none of them.
    """
    names = [normal(name) for name in classes]
    if favourable is None:
        usual = known_favourable(Column("decision", Kind.CATEGORICAL, codes=tuple(classes), labels=tuple(classes)))
        taken = taken if usual is None else list(classes).index(str(usual))
        return taken, (
            f"Nobody said which outcome is good for the person: '{classes[taken]}' counts as favourable. Choose it "
            "under Scope, with --favourable, or as 'favourable' in the schema file."
        )
    if normal(favourable) not in names:
        raise FitError(
            f"The favourable outcome must be one of the model's ({some_classes(classes)}), since the data has no "
            f"label, got '{cut(str(favourable))}'. Choose it again, under Scope, with --favourable, or "
            "in the schema file."
        )
    return names.index(normal(favourable)), ""


def _plain_names(own: tuple[str, ...]) -> tuple[str, ...]:
    """The model's own names as results show them: of one line, not too long, each another one."""
    plain = [cut(" ".join(name.encode(errors="replace").decode().split())) or "''" for name in own]
    return tuple(name if plain.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(plain))


def codes_of_outcomes(schema: Schema, classes: tuple[str, ...]) -> tuple[Value, ...] | None:
    """What the label's column holds for each outcome; ``None`` where the schema does not say."""
    for column in schema.columns:
        if column.name == schema.label and set(column.labels) == set(classes):
            codes = dict(zip(column.labels, column.codes, strict=True))
            return tuple(codes[name] for name in classes)
    return None


def _order(own: tuple[str, ...], names: tuple[str, ...] | None) -> tuple[int, ...] | None:
    if names is None:
        return None
    positions = {_outcome(name): i for i, name in enumerate(own)}
    wanted = [_outcome(name) for name in names]
    if len(positions) != len(own) or set(wanted) != set(positions):
        return None
    return tuple(positions[name] for name in wanted)


def _outcome(name: str) -> str:
    return normal(name).rstrip(".").casefold()


def _is_numbering(names: tuple[str, ...]) -> bool:
    numbers = [normal(name) for name in names]
    first = 1 if numbers[0] == "1" else 0
    return numbers in ([str(i + first) for i in range(len(names))], ["-1", "1"], ["False", "True"])
