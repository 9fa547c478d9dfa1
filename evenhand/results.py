"""What questions are answered with: figures as the command line says them, and tables with labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from fairness_engine.certification.partition.partition_tree import PartitionTree
    from fairness_engine.certification.partition.phrases import BoxColumn
    from fairness_engine.data.schema import Schema
    from fairness_engine.pairs import Pairs


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """What all answers have.

    Args:
        evaluations: rows passed to the model; of a certification, boxes assessed.
        seconds: that it took, without opening data and model.
        stop_reason: why it ended.
        notes: what makes the answer weaker than it could be, a sentence each.
        figures: everything that the command line's JSON says of such a run (``docs/command-line.md``).
    """

    evaluations: int
    seconds: float
    stop_reason: str
    notes: tuple[str, ...] = field(repr=False)
    figures: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Search(Answer):
    """Pairs of people who differ in protected attributes only and are decided differently.

    Args:
        n_tried, n_found: individuals tried, and those found to be discriminated against.
        n_plausible: pairs of two people who could exist; ``None`` when the run was ended before they were told.
        pairs: both people of each pair, ``2 * n_pairs`` rows in the order of discovery by ``pair`` (from 1) and
            ``side`` (``a``, ``b``): every input with its labels, the ``score`` of class 1 (of the decided class when
            there are more than two) and the ``decision``.
    """

    n_tried: int
    n_found: int
    n_plausible: int | None
    pairs: pd.DataFrame = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class PlausibleShare:
    """Those with a pair of two people who could exist, of the draws that miss no cell.

    Args:
        share: of the draws, 0 to 1; ``None`` when there was none.
        low, high: its 95 % interval.
        n, n_hits: draws, and those with such a pair.
    """

    share: float | None
    low: float
    high: float
    n: int
    n_hits: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimate(Answer):
    """How often the decision depends on the protected attributes.

    Args:
        share: of the rows drawn, 0 to 1; ``None`` when nothing was drawn.
        low, high: its 95 % interval.
        n, n_hits: rows drawn, and those that are discriminated against.
        distribution: what was drawn.
        plausible: the same of those with a pair of two people who could exist; ``None`` when the run was ended before
            they were told.
    """

    share: float | None
    low: float
    high: float
    n: int
    n_hits: int
    distribution: str
    plausible: PlausibleShare | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Count(Answer):
    """How many individuals of the whole space are discriminated against; ``None`` where the count was ended early.

    Args:
        n_discriminatory, n_individuals: how many, of how many.
        share: the first of the second, 0 to 1.
        plausible: of discriminatory individuals, all or 200,000 people drawn evenly, those with a pair of two people
            who could exist; ``None`` where there are none, and where no time was left.
    """

    n_discriminatory: int | None
    n_individuals: int | None
    share: float | None
    plausible: PlausibleShare | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Certification(Answer):
    """For whom it is proved that the decision does not depend on the protected attributes, and for whom that it does.

    Args:
        n_individuals: of the space; ``None`` where it was not counted.
        certified, falsified, undecided: shares of them, 0 to 1, which add up to 1.
        pairs: counterexamples, as in ``Search``.
    """

    n_individuals: float | None
    certified: float
    falsified: float
    undecided: float
    pairs: pd.DataFrame = field(repr=False)
    _tree: tuple[PartitionTree, Sequence[BoxColumn]] | None = field(repr=False)

    @cached_property
    def boxes(self) -> pd.DataFrame:
        """The regions that were told apart, the largest first: ``box`` in words; ``share``, ``certified``,
        ``falsified`` and ``undecided`` of all individuals, 0 to 1; ``people``, rows of the data in it.
        """
        import pandas as pd

        from fairness_engine.certification.partition.phrases import box_sentence

        names = ("certified", "falsified", "undecided")
        if self._tree is None:
            return pd.DataFrame(columns=["box", "share", *names, "people"])
        tree, columns = self._tree
        leaves = np.flatnonzero(tree.is_leaf)
        leaves = leaves[np.argsort(-tree.weight[leaves], kind="stable")]
        low, high = tree.boxes()
        words = [box_sentence(columns, low[leaf], high[leaf]) for leaf in leaves.tolist()]
        shares = {name: getattr(tree, name)[leaves] for name in names}
        return pd.DataFrame({"box": words, "share": tree.weight[leaves], **shares, "people": tree.n_people[leaves]})


@dataclass(frozen=True, eq=False, kw_only=True)
class Groups(Answer):
    """Which groups are decided differently from everyone else, without anybody naming one.

    Args:
        n_rule_sets: groups that were compared.
        rule_sets: those listed, the highest score first: ``group`` in words, ``rows`` and ``support`` (the share of the
            data's rows, 0 to 1), the favourable shares ``inside`` and ``outside``, ``score`` (by how much they differ)
            and its interval ``low`` to ``high``, which hold for all groups together, ``direction`` (``harmed`` or
            ``favoured``).
    """

    n_rule_sets: int
    rule_sets: pd.DataFrame = field(repr=False)


def people_of(pairs: Pairs, schema: Schema, classes: Sequence[str]) -> pd.DataFrame:
    """Both people of each pair, as ``Search.pairs`` has them.

    Args:
        pairs: rows of the engine.
        schema: what they are.
        classes: the model's.
    """
    import pandas as pd

    from fairness_engine.data.schema import Kind

    def woven(first: Any, second: Any) -> Any:
        return np.stack([first, second], axis=1).reshape(2 * len(pairs))

    people = np.stack([pairs.first, pairs.second], axis=1).reshape(2 * len(pairs), len(schema.inputs))
    content: dict[str, Any] = {}
    for place, column in enumerate(schema.inputs):
        values = people[:, place]
        if column.kind is Kind.CATEGORICAL:
            content[column.name] = pd.Categorical.from_codes(np.rint(values).astype(np.int64), pd.Index(column.labels))
        else:
            content[column.name] = np.rint(values).astype(np.int64) if column.kind is Kind.INTEGER else values
    content[_free("score", content)] = woven(pairs.score_first, pairs.score_second)
    decisions = woven(pairs.decision_first, pairs.decision_second)
    content[_free("decision", content)] = pd.Categorical.from_codes(decisions, pd.Index(classes))
    sides = [range(1, len(pairs) + 1), ["a", "b"]]
    return pd.DataFrame(content, index=pd.MultiIndex.from_product(sides, names=["pair", "side"]))


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """A name that no column of the data has."""
    return name if name not in taken else _free(f"model's {name}", taken)
