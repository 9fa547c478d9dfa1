"""What the pair card says of plausibility, word for word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pair_cases

from fairness_engine.measures.plausibility.plausibility import PersonAssessed
from fairness_engine.measures.plausibility.unseen_values import UnseenPair, ValueRange
from fairness_engine.oracle.domain import Domain, Scope
from pages.pairs import plausibility


def assessed(**changes: object) -> PersonAssessed:
    """The first pair's person, whose nearest person is a nurse of 41."""
    neighbour = pair_cases.pairs().first[0].copy()
    neighbour[2:4] = 2, 41
    known = PersonAssessed(0.1, 0.2, neighbour, (2, 3), (), 4_000, is_in_range=True, is_fixed_seen=True)
    return replace(known, **changes)


def verdict(known: PersonAssessed) -> str:
    return plausibility.verdict(pair_cases.domain(), known, pair_cases.pairs().first[0]).replace("\\", "")


def test_a_person_near_the_data_is_said_to_be() -> None:
    assert verdict(assessed()) == (
        "✓ could: 10 % from the nearest person in the data; 99 % of real people have somebody within 20 %. "
        f"That person has job nurse instead of {pair_cases.HOSTILE} and age 41 instead of 30."
    )


def test_a_person_of_the_data_a_far_one_and_one_with_unseen_values_are_told_apart() -> None:
    assert verdict(assessed(distance=0.0, differs=())) == "✓ is in the data."
    assert verdict(assessed(distance=0.3)).startswith(
        "hardly: 30 % from the nearest person in the data, further than 99 %"
    )
    unseen = (never(30.0, 0, 12.0),)
    assert verdict(assessed(unseen=unseen)).startswith("is near the data, but see below: 10 %")
    assert verdict(assessed(distance=0.0, differs=(), unseen=unseen)) == "is in the data, but see below."


def never(age: float, n_seen: int, n_expected: float) -> UnseenPair:
    """Nurses of an age."""
    return UnseenPair(ValueRange(2, 2.0, 2.0), ValueRange(3, age, age + 2), n_seen, n_expected)


def test_what_comes_from_the_file_is_escaped() -> None:
    text = plausibility.differences(pair_cases.domain(), assessed(), pair_cases.pairs().first[0])
    assert "<img" not in text.replace("\\<", "")


def test_values_that_never_occur_together_are_named_with_how_many_were_expected() -> None:
    unseen = tuple(never(30.0 + i, i, 412.4 - i) for i in range(7))
    lines = [
        line.replace("\\", "").replace("\u202f", "")
        for line in plausibility.unseen_lines(pair_cases.domain(), assessed(unseen=unseen))
    ]
    assert lines[0] == "≠ None of 4000 people has job nurse and age 30 to 32; by chance 412 would."
    assert lines[1] == "≠ No more than 1 of 4000 people has job nurse and age 31 to 33; by chance 411 would."
    assert len(lines) == 6
    assert lines[-1] == "2 more such pairs of values."


def test_the_constraints_of_the_review_are_checked() -> None:
    fixed = Domain(pair_cases.schema(), Scope(("sex",), fixed=("job", "age")))
    assert (
        plausibility.constraint_sentence(pair_cases.domain(), [assessed(), assessed()])
        == "All values lie in the ranges of the review."
    )
    assert plausibility.constraint_sentence(fixed, [assessed()]).endswith(
        "Not varied: job and age, as in a row of the data."
    )
    broken = assessed(is_in_range=False, is_fixed_seen=False)
    assert plausibility.constraint_sentence(fixed, [assessed(), broken]) == (
        "A value lies outside the ranges of the review. Not varied: job and age, unlike in any row of the data."
    )


def test_without_the_model_the_stored_figures_stand_in() -> None:
    pair = pair_cases.pairs()[:1]
    assert plausibility.stored_sentence(pair) == "This was not measured."
    measured = replace(pair, distance=np.array([[0.12, 0.0]]), n_unseen=np.array([[1, 2]]))
    assert plausibility.stored_sentence(measured) == (
        "**A** is 12 % from the data; 1 pair of values practically never occurs together in it. "
        "**B** is 0 % from the data; 2 pairs of values practically never occur together in it."
    )
    older = replace(pair, distance=np.array([[0.12, np.nan]]), n_unseen=np.array([[1, -1]]))
    assert plausibility.stored_sentence(older).startswith("An earlier version measured what both people share")
