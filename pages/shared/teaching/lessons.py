"""What a demo teaches: a question a page and its right answer, made from the catalogue of the samples alone. Cards,
pages and the exercise sheet say it in these words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from pages.shared.app import navigation, wording

if TYPE_CHECKING:
    from fairness_engine.data.catalogue import Sample, SampleModel

_IN_WORDS = {"born_in": "place of birth"}
"""Attributes whose name is none."""
_N_WRONG = 3


PLACES = (navigation.PAIRS, navigation.WHERE, navigation.GROUPS, navigation.CERTIFY, navigation.RETRAIN)
"""The pages that answer questions."""


@dataclass(frozen=True)
class Question:
    """What a class guesses before it sees a page.

    Args:
        place: the page that answers it.
        asks: one or two sentences.
        answer: sentences.
        choices: those to choose from; without any, only a number is asked for.
        right: the position of the right one.
        counts: what the number counts, after ``of 100``; empty where none is asked for.
        n_of_100: the right number.
    """

    place: navigation.Place
    asks: str
    answer: str
    choices: tuple[str, ...] = ()
    right: int | None = None
    counts: str = ""
    n_of_100: int | None = None


def of_100(n: int, n_all: int) -> int:
    """How many of a hundred, to the nearest."""
    return round(100 * n / n_all)


def finding(sample: Sample, model: SampleModel) -> str:
    """What a demo finds, in one sentence."""
    measured = model.measured
    n = of_100(measured.n_changed, measured.n_rows)
    of_whom = f"{n} of 100" if measured.n_changed else f"none of {wording.count(measured.n_rows)}"
    if sample.text_column is not None:
        return f"For {of_whom} comments, the decision changes with another term of religion or sexuality."
    return f"For {of_whom} people, the decision changes when nothing but {_names(model.protected, 'or')} does."


def questions(sample: Sample, model: SampleModel) -> tuple[Question, ...]:
    """Of a demo, in the order of the pages."""
    groups = _groups(sample, model)
    if sample.text_column is not None:
        return (groups,)
    where = [_where(sample)] if model.measured.n_changed else []
    return (_pairs(sample, model), *where, groups, _proof(sample, model), _retraining(sample, model))


def _names(names: Sequence[str], last: str) -> str:
    plain = [_IN_WORDS.get(name, name.replace("_", " ")) for name in names]
    return plain[0] if len(plain) == 1 else f"{', '.join(plain[:-1])} {last} {plain[-1]}"


def _pairs(sample: Sample, model: SampleModel) -> Question:
    measured = model.measured
    counts = f"{wording.count(measured.n_changed)} of {wording.count(measured.n_rows)} people of the data"
    return Question(
        navigation.PAIRS,
        f"The model decides about a person. Then nothing but {_names(model.protected, 'or')} is changed, and it "
        "decides again. For how many of 100 people of the data is that another decision?",
        f"{finding(sample, model)} That is {counts}. {model.known}",
        counts="people are decided otherwise",
        n_of_100=of_100(measured.n_changed, measured.n_rows),
    )


def _where(sample: Sample) -> Question:
    truth = sample.read_truth()
    effect = truth["planted"][0]
    others = [name for name in truth["decision_rule"]["points"] if name not in (*sample.affected, *effect["where"])]
    n = len(sample.affected)
    right = _names(sample.affected, "and")
    wrong = list(combinations(others, n))
    choices = sorted({right, *(_names(names, "and") for names in wrong[:: max(1, len(wrong) // _N_WRONG)][:_N_WRONG])})
    tells = "say" if n > 1 else "says"
    why = (
        f"So {right} {tells} who is affected."
        if set(sample.affected) <= set(effect["where"])
        else "No other attribute is part of that: it matters for whoever has about as many points as the cut asks "
        f"for, and {right} {'tell' if n > 1 else 'tells'} that best."
    )
    return Question(
        navigation.WHERE,
        f"For some people {_names(sample.protected, 'or')} decides, for others it does not. What else tells best for "
        "whom?",
        f"Planted: {effect['says']} {why}",
        tuple(choices),
        choices.index(right),
    )


def _groups(sample: Sample, model: SampleModel) -> Question:
    worst = model.measured.worst
    shares = [of_100(n_favourable, n) for n, n_favourable in model.measured.groups]
    said = "; ".join(f"{n} of 100 {name}" for n, name in zip(shares, sample.groups, strict=True))
    order = sorted(range(len(sample.groups)), key=sample.groups.__getitem__)
    return Question(
        navigation.GROUPS,
        f"{sample.asks} Which of these groups fares worst, and how many of 100 of it {sample.outcome}?",
        f"Of the data {sample.outcome}: {said}. {model.known}",
        tuple(sample.groups[i] for i in order),
        order.index(worst),
        f"of that group {sample.outcome}",
        shares[worst],
    )


def _proof(sample: Sample, model: SampleModel) -> Question:
    share = model.measured.uniform_share
    source = "estimated on a sample of them"
    if model.is_exact and not share:
        source = "the model does not look at what is protected"
    elif model.is_exact:
        planted = next(each for each in sample.read_truth()["shares"] if each["protected"] == list(model.protected))
        share = planted["share"]
        source = "counted exactly"
    n = 100 - round(100 * share)
    return Question(
        navigation.CERTIFY,
        "Think of everybody who could exist, every combination of the other attributes once. For how many of 100 of "
        f"them is the decision the same whatever {_names(model.protected, 'and')} are?",
        f"For {n} of 100: {wording.share(share)} are decided otherwise ({source}). A proof says of whom it is certain, "
        "and leaves the others open; it never guesses.",
        counts="individuals are decided alike",
        n_of_100=n,
    )


def _retraining(sample: Sample, model: SampleModel) -> Question:
    proxies = " ".join(sample.read_truth()["proxies"])
    return Question(
        navigation.RETRAIN,
        f"The model is trained again without {_names(model.protected, 'and')}. For how many of 100 people does the "
        f"decision then change with nothing but {_names(model.protected, 'or')}?",
        f"For none: it is not told them. Groups can fare worse all the same, through what goes with them. {proxies}",
        counts="people are decided otherwise",
        n_of_100=0,
    )
