"""A review: data, a model and what is protected, and the five questions. They are worked in this process."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evenhand.arguments import checked
from evenhand.data import Data
from evenhand.loops import prepare_loops
from evenhand.models import opener_of
from evenhand.results import Certification, Count, Estimate, Groups, PlausibleShare, Search, people_of
from fairness_engine.errors import ModelError, SettingError

if TYPE_CHECKING:
    import pandas as pd

    from fairness_engine.data.schema import Value
    from fairness_engine.model_process.session import ModelSession
    from fairness_engine.oracle.budget import Budget
    from fairness_engine.runs.kinds import RunKind
    from fairness_engine.store.records import RunRecord
    from fairness_engine.store.store import RunStore

A = TypeVar("A")
_IN_MEMORY = "in-memory"
"""Stands for the model's file in a configuration that is thrown away."""
_MAX_SHOWN = 12
_OF_A_RULE_SET = ["rows", "support", "inside", "outside", "score", "low", "high", "direction"]


class Review:
    """Data, a model and a scope, opened together.

    A model file is opened in this process, by the same code and with the same refusals as everywhere; formats that run
    code when they are opened (pickle, joblib) are always refused here. The command line and the app put a locked-down
    process around what is opened: take a stranger's file there.

    Args:
        data: from ``read_data``.
        model: a model file (Keras, ONNX, skops, ``.nnet``); a fitted scikit-learn classifier; or a function, which is
            given a data frame with the data's inputs, in the values and types of the data frame that was read, and
            returns a decision a row (the label's outcomes), or scores: ``(n_rows,)`` of class 1 or
            ``(n_rows, n_classes)``, in the order of ``data.outcomes``. ``None`` compares what the label's column holds;
            then only ``groups`` can be asked.
        protected: names of the protected attributes; ``None`` takes the schema's.
        positive: the outcome whose score a model's one score is (its class 1); ``None`` takes the second one.
        threshold: the decision is class 1 above it; ``None`` takes the model's own.
        fixed: attributes that must not vary.
        limits: a narrower range by attribute: two numbers, or positions of categories.
        values: values to compare by protected attribute, instead of all: numbers or categories.
        max_variants: combinations of protected values that are compared at most.
        links: columns that change with a protected attribute, beside the schema's: ``sex:relationship=Husband/Wife``,
            one value for each of the attribute's in their order.

    Raises:
        Error: the model cannot be opened or does not belong to the data, or the scope cannot be.
    """

    @checked
    def __init__(
        self,
        data: Data,
        model: str | os.PathLike[str] | Callable[[pd.DataFrame], Any] | Any | None = None,
        *,
        protected: Sequence[str] | str | None = None,
        positive: Value | None = None,
        threshold: float | None = None,
        fixed: Sequence[str] | str = (),
        limits: Mapping[str, tuple[float, float]] | None = None,
        values: Mapping[str, Sequence[Value]] | None = None,
        max_variants: int = 1000,
        links: Sequence[str] | str = (),
    ) -> None:
        from fairness_engine.cli.request import values_of
        from fairness_engine.data.inference import suggest_protected
        from fairness_engine.data.links.reading import joined, parse_link
        from fairness_engine.model_process.starting.compiled_loops import Loops

        prepare_loops(Loops.MODELS)  # before anything imports them
        from fairness_engine.model_process.session import open_table
        from fairness_engine.oracle.domain import Ranges, Scope

        if not isinstance(data, Data):
            raise SettingError(f"The data must come from evenhand.read_data, got {type(data).__name__}.")
        schema = data.schema if positive is None else replace(data.schema, positive=positive)
        names = tuple(protected or schema.protected)
        if not names:
            likely = suggest_protected(schema) or schema.names[:_MAX_SHOWN]
            raise SettingError(f"Name the protected attributes with protected=[...]; likely are {', '.join(likely)}.")
        scope = Scope(
            protected=names,
            threshold=threshold,
            fixed=tuple(fixed),
            limits=limits or {},
            bins={name: values_of(schema, name, [*map(str, own)], "values") for name, own in (values or {}).items()},
            max_variants=max_variants,
        )
        schema = schema.with_protected(names)
        if links:
            given = [parse_link(one, schema) for one in links]
            schema = replace(schema, links=joined([*schema.links, *given], schema))
        scope = replace(scope, links=schema.links) if links else scope.with_links_of(schema)
        Ranges(schema, scope)  # refuses what cannot be, before the model is opened
        self._data = data
        self._scope = scope
        self._session: ModelSession = open_table(data.table, schema, scope, opener_of(model, data))
        self._has_model = model is not None

    def __repr__(self) -> str:
        """Data, model and what is protected."""
        model = self._session.model.format if self._has_model else "no model"
        return f"<Review of {self._data!r}, {model}, protected {', '.join(self._scope.protected)}>"

    @checked
    def search(
        self,
        technique: str = "aequitas",
        *,
        seed: int = 0,
        max_seconds: float | None = None,
        max_evaluations: int | None = None,
        max_found: int | None = None,
        start_rows: int | None = None,
        **settings: Any,
    ) -> Search:
        """Search for discriminatory pairs.

        Args:
            technique: ``random``, ``data-scan``, ``aequitas``, ``directed``, ``maft``, ``maft-plus``, ``adf``,
                ``eidig``, ``sg`` or ``sg-shared`` (``docs/techniques.md``).
            seed: 0 and more; the same seed finds the same pairs in the same order, unless seconds end the search.
            max_seconds, max_evaluations, max_found: when it ends, whichever comes first; 200,000 evaluations when none
                is given, and for ``data-scan`` what testing every row takes.
            start_rows: start from at most so many rows of the data, drawn by the seed; ``None`` for all.
            settings: of the technique, by name.

        Raises:
            Error: the model cannot be searched, or not with this technique, or a setting is out of its range.
        """
        from fairness_engine.cli.commands.search import search_fields
        from fairness_engine.oracle.budget import Budget
        from fairness_engine.runs import kinds
        from fairness_engine.search.techniques.data_scan import DATA_SCAN, scan_budget

        given = (max_evaluations, max_seconds, max_found)
        budget = Budget() if given == (None, None, None) else Budget(*given)
        if technique == DATA_SCAN and given == (None, None, None):
            budget = scan_budget(self._data.table.n_rows, self._session.domain)
        own = {"technique": technique, "settings": settings, "budget": budget, "max_starts": start_rows}

        def read(store: RunStore, run: RunRecord) -> Search:
            figures = search_fields(store, run)
            told = figures["plausibility"]
            return Search(
                n_tried=run.n_tried,
                n_found=run.n_found,
                n_plausible=told["n_plausible"] if told else None,
                pairs=self._pairs(store, run),
                **_common(run, figures, store),
            )

        return self._work(kinds.SEARCH, read, seed=seed, **own)

    @checked
    def estimate(
        self, *, samples: int = 20_000, distribution: str = "uniform", seed: int = 0, max_seconds: float | None = None
    ) -> Estimate:
        """Estimate how often the decision depends on the protected attributes.

        Args:
            samples: how many rows are drawn.
            distribution: what is drawn: ``uniform`` over the whole space, ``data`` rows, or ``perturbed`` ones.
            seed: 0 and more.
            max_seconds: draw no longer.

        Raises:
            Error: the model cannot be searched, or a setting is out of its range.
        """
        from fairness_engine.cli.commands.search import estimate_fields
        from fairness_engine.oracle.budget import Budget
        from fairness_engine.oracle.domain import Distribution
        from fairness_engine.runs import kinds

        if distribution not in set(Distribution):
            raise SettingError(f"The distribution must be one of {', '.join(Distribution)}, got '{distribution}'.")
        budget = Budget() if max_seconds is None else Budget(max_seconds=max_seconds)

        def read(store: RunStore, run: RunRecord) -> Estimate:
            figures = estimate_fields(store, run)
            told = {name: figures[name] for name in ("share", "low", "high", "n", "n_hits", "distribution")}
            plausible = PlausibleShare(**figures["plausible"]) if figures["plausible"] else None
            return Estimate(**told, plausible=plausible, **_common(run, figures, store))

        return self._work(kinds.ESTIMATE, read, seed=seed, budget=budget, n_samples=samples, distribution=distribution)

    @checked
    def count(self, *, max_seconds: float | None = None) -> Count:
        """Count everyone who is discriminated against, where the space is small enough.

        Args:
            max_seconds: give up after them.

        Raises:
            Error: the space is too large or not finite, or the model cannot be searched.
        """
        from fairness_engine.cli.commands.search import count_fields
        from fairness_engine.runs import kinds

        def read(store: RunStore, run: RunRecord) -> Count:
            figures = count_fields(store, run)
            told = {name: figures[name] for name in ("n_discriminatory", "n_individuals", "share")}
            plausible = PlausibleShare(**figures["plausible"]) if figures["plausible"] else None
            return Count(**told, plausible=plausible, **_common(run, figures, store))

        return self._work(kinds.COUNT, read, budget=_seconds(max_seconds))

    @checked
    def certify(self, *, max_seconds: float = 60.0, seed: int = 0, **settings: Any) -> Certification:
        """Prove for whom the decision does not depend on the protected attributes, and for whom it does.

        Args:
            max_seconds: refine no longer; a second or two of reckoning follow.
            seed: of the samples that estimate what stays undecided; no proof depends on it.
            settings: ``mode``, ``weights``, ``max_boxes``, ``target`` and others of ``evenhand certify --help``.

        Raises:
            Error: models of its kind, or this scope, cannot be certified; or a setting is out of its range.
        """
        from fairness_engine.certification.partition.phrases import box_columns
        from fairness_engine.cli.commands.certify import certified_fields
        from fairness_engine.data.links.spelling import role_schema
        from fairness_engine.runs import kinds
        from fairness_engine.runs.writers.proofs import stored_tree, stored_tree_file

        def read(store: RunStore, run: RunRecord) -> Certification:
            figures = certified_fields(store, run)
            tree = None
            if stored_tree_file(store, run.id) is not None:
                boxes, space = stored_tree(store, run.id)
                tree = (
                    boxes,
                    box_columns(role_schema(run.config.schema, run.config.scope.links), space, boxes.n_digits),
                )
            told = {name: figures[name] for name in ("n_individuals", "certified", "falsified", "undecided")}
            return Certification(**told, pairs=self._pairs(store, run), _tree=tree, **_common(run, figures, store))

        reason = self._session.certifiable()["reason"] if self._has_model else None
        if reason is not None:  # said before loops are compiled for nothing
            raise ModelError(reason)
        return self._work(kinds.CERTIFY, read, seed=seed, budget=_seconds(max_seconds), settings=settings)

    @checked
    def groups(
        self,
        *,
        top: int = 100,
        seed: int = 0,
        max_seconds: float | None = None,
        predictions: str = "",
        **settings: Any,
    ) -> Groups:
        """Compare every group that the protected attributes make with everyone else.

        Args:
            top: list so many, the highest scores first, without near-duplicates; 0 lists all, near-duplicates too.
            seed: 0 and more.
            max_seconds: stop after them; what is scored is kept.
            predictions: without a model: the column whose decisions are compared instead of the label's.
            settings: ``support``, ``error``, ``confidence``, ``bins`` and others of ``evenhand rules --help``.

        Raises:
            Error: no group is large enough, there is no outcome to compare, or a setting is out of its range.
        """
        import pandas as pd

        from fairness_engine.cli.commands.rules import rules_fields
        from fairness_engine.data.recorded import Source
        from fairness_engine.groups.rule_sets.phrases import group_words_of_json
        from fairness_engine.runs import kinds
        from fairness_engine.runs.writers.rule_sets import stored_rules

        for name in ("source", "text_column", "terms"):
            if name in settings:
                raise SettingError(f"'{name}' cannot be set here. Texts are compared by 'evenhand rules'.")
        source = Source.MODEL if self._has_model else Source.LABELS
        asked = {**settings, "source": source.value, "predictions": predictions}

        def read(store: RunStore, run: RunRecord) -> Groups:
            figures = rules_fields(store, run, top)
            listed = figures["rule_sets"]
            attributes = stored_rules(store, run.id).attributes if listed else ()
            words = [group_words_of_json(attributes, each["rules"]) for each in listed]
            lines = pd.DataFrame(listed, columns=_OF_A_RULE_SET)
            lines.insert(0, "group", words)
            return Groups(n_rule_sets=figures["n_rule_sets"], rule_sets=lines, **_common(run, figures, store))

        return self._work(kinds.RULES, read, seed=seed, budget=_seconds(max_seconds), settings=asked)

    def _work(self, kind: RunKind[Any], read: Callable[[RunStore, RunRecord], A], **own: Any) -> A:
        """Work a run as the worker does, in a store that is thrown away, and read what it found."""
        from fairness_engine.clock import Clock
        from fairness_engine.events import to_line
        from fairness_engine.runs.recorder import RunRecorder
        from fairness_engine.store.alive import host_name
        from fairness_engine.store.records import RunState
        from fairness_engine.store.store import RunStore

        model_id = _IN_MEMORY if self._has_model else ""
        schema = self._session.dataset.schema
        config = kind.config(self._data.table.source_hash, model_id, schema, self._scope, **own)
        prepare_loops(*kind.loops)
        with (
            tempfile.TemporaryDirectory(prefix="evenhand-") as folder,
            closing(RunStore(Path(folder))) as store,
        ):
            run_id = store.create_run(config)
            store.claim(run_id, host_name(), os.getpid(), "")
            recorder = RunRecorder(store, store.run(run_id))
            for event in self._session.run(config, Clock(config.budget.max_seconds or math.inf)):
                recorder.take(to_line(event))  # as it would come from a process of its own
                recorder.write_when_due()
            recorder.close()
            store.finish(run_id, RunState.FINISHED, reason=recorder.stop_reason, counts=recorder.counts)
            return read(store, store.run(run_id))

    def _pairs(self, store: RunStore, run: RunRecord) -> pd.DataFrame:
        return people_of(store.pairs(run.id), run.config.schema, self._session.model.classes)


def _seconds(most: float | None) -> Budget:
    """A limit of seconds alone; without one, what has no other limit goes on to its end."""
    from fairness_engine.oracle.budget import Budget

    return Budget() if most is None else Budget(None, most)


def _common(run: RunRecord, figures: Mapping[str, Any], store: RunStore) -> dict[str, Any]:
    """What ``Answer`` has."""
    from fairness_engine.runs.kinds import results_of

    results = results_of(store, run.id)
    advice = results.reading.advice if results.reading else ()
    return {
        "evaluations": run.evaluations,
        "seconds": run.seconds,
        "stop_reason": run.stop_reason.value if run.stop_reason else "",
        "notes": (*advice, *results.notes.notes),
        "figures": figures,
    }
