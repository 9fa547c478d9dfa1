"""A data set, a model and a scope, opened together in the model's process, and the questions they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import pack_array, unpack_array
from fairness_engine.clock import Clock
from fairness_engine.codec import decode, encode
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.label import favourable_or_second, say_doubled
from fairness_engine.data.links.spelling import Spelling
from fairness_engine.data.recorded import RecordedDecisions, recorded_labels, recorded_predictions
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import Table, read_table
from fairness_engine.errors import FitError, ProcessError, SettingError
from fairness_engine.events import Event, PairsFound, ResultReady
from fairness_engine.model_process.protocol import pack_pairs, unpack_pairs
from fairness_engine.model_process.text_session import TextSession, open_texts, text_column
from fairness_engine.models.classes import favourable_of_model
from fairness_engine.models.encoders.linked import linked
from fairness_engine.models.fit.known_answers import KnownAnswers
from fairness_engine.models.fit.probing import finite
from fairness_engine.models.fit.reading_state import Reading
from fairness_engine.models.model import Model, is_there, no_model
from fairness_engine.models.open import open_model
from fairness_engine.models.shared import Blocks, Sharing, share
from fairness_engine.oracle.domain import Distribution, Domain, Ranges, Scope
from fairness_engine.pairs import Pairs
from fairness_engine.store.run_config import RunConfig

if TYPE_CHECKING:
    from fairness_engine.certification.assessor import Assessor
    from fairness_engine.certification.box_inspection.inspector import BoxInspector
    from fairness_engine.certification.partition.enumeration import BoxEnumerator
    from fairness_engine.certification.settings import CertifySettings
    from fairness_engine.measures.diversity import Surrogate
    from fairness_engine.measures.plausibility.plausibility import Plausibility
    from fairness_engine.retraining.evaluation.rule_group import RuleGroup


@dataclass(frozen=True)
class ModelSession:
    """What one process holds.

    Args:
        dataset: the table as rows of the engine.
        model: bound to the data's schema; ``no_model`` where decisions of a column of the data are assessed.
        scope: ``None`` for questions that need no protected attribute (the fit card).
        table: that the data set was made of; kept only where there is no model, since any of its columns may hold
            decisions.
        model_file: where the model's file is and what it was called, to train it again.
        picked, group: pairs and the rule set that a person picked for a retraining.
        surrogate: the tree that diversity is measured by, where an earlier run learned it.
        known_reading: how the model is read, where an earlier run judged it.
        of_people: where the rows of this are rows of roles (see ``in_roles``): the same for rows of people.
        found: what is the same for all runs on what was opened, by name, once one has found it.
        unsaid: that nobody said which outcome is good for the person; empty where somebody did.
    """

    dataset: Dataset
    model: Model
    scope: Scope | None
    table: Table | None = None
    model_file: tuple[Path, str] | None = None
    picked: Pairs | None = None
    group: RuleGroup | None = None
    surrogate: Surrogate | None = None
    known_reading: Reading | None = None
    of_people: ModelSession | None = None
    found: dict[str, Any] = field(default_factory=dict)
    unsaid: str = ""

    @cached_property
    def domain(self) -> Domain:
        """The space of the scope.

        Raises:
            ProcessError: opened without a scope.
        """
        if self.scope is None:
            raise ProcessError("This question needs a scope, and the model was opened without one.")
        schema = self.dataset.schema
        return Domain(schema, self.scope, self.model.taken(schema.names))

    @cached_property
    def in_roles(self) -> ModelSession:
        """The same with every person as a row of roles, so that whoever compares protected values need not know of
        links; itself where the scope has none.
        """
        spelling = self._spelling
        if self.scope is None or spelling is None:
            return self
        more = self.dataset.incomplete
        dataset = replace(
            self.dataset,
            rows=spelling.roles(self.dataset.rows),
            incomplete=None if more is None else replace(more, rows=spelling.roles(more.rows)),
        )
        return replace(
            self,
            dataset=dataset,
            model=linked(self.model, spelling) if is_there(self.model) else self.model,
            scope=replace(self.scope, links=()),
            picked=None if self.picked is None else self.picked.mapped(spelling.roles),
            of_people=self,
        )

    @cached_property
    def _spelling(self) -> Spelling | None:
        """What the scope's links make of rows; ``None`` without links."""
        if self.scope is None or not self.scope.links:
            return None
        schema = self.dataset.schema
        return Ranges(schema, self.scope, self.model.taken(schema.names)).spelling

    def run(
        self,
        config: RunConfig,
        clock: Clock,
        report: Callable[[Event], None] = lambda _: None,
        blocks: Blocks | None = None,
    ) -> Iterator[Event]:
        """The events of a run, of any kind there is.

        Args:
            config: of the run.
            clock: of the run; its seconds begin with what they limit.
            report: takes the progress of a step that is at work between two events.
            blocks: who evaluates large batches of rows; ``None`` to do it here.

        Raises:
            InputError: the model cannot be searched, or not with this technique; see ``requirements.check``. Or it
                cannot be certified; see ``certification.subject``.
        """
        if is_there(self.model):
            yield ResultReady("reading", encode(self.reading()))
        from fairness_engine.model_process.work import OF_TABLES

        spelling = self._spelling
        asked = self.in_roles if blocks is None or not is_there(self.model) else self.shared(Sharing(blocks))
        doubled = say_doubled(str(self.dataset.schema.label), self.dataset.classes)
        notes = [note for note in (self.unsaid, doubled) if note and config.kind in _OF_FAVOURABLE]
        for event in _with_notes(OF_TABLES[config.kind](asked, config, clock, report), notes):
            if spelling is not None and isinstance(event, PairsFound):
                yield PairsFound(event.pairs.mapped(spelling.spelled))
            else:
                yield event

    def given(self, request: Mapping[str, Any]) -> ModelSession:
        """The same with what a request brings for a run: the pairs (``cases``) and the ``rule_set`` that a person
        picked, the ``surrogate`` and the ``reading`` that an earlier run learned; each may be missing.
        """
        from fairness_engine.measures.diversity import Surrogate
        from fairness_engine.retraining.evaluation.rule_group import RuleGroup

        cases = request.get("cases")
        rule_set = request.get("rule_set")
        surrogate = request.get("surrogate")
        reading = request.get("reading")
        return replace(
            self,
            picked=None if cases is None else unpack_pairs(cases, self.domain.n_columns),
            group=None if rule_set is None else RuleGroup.from_json(rule_set),
            surrogate=None if surrogate is None else decode(Surrogate, surrogate),
            known_reading=None if reading is None else decode(Reading, reading),
        )

    def learn_surrogate(self, clock: Clock) -> Surrogate | None:
        """The tree that diversity is measured by, unless it was given; ``None`` when the clock ended it."""
        from fairness_engine.measures.diversity import fit_surrogate

        if self.surrogate is not None:
            return self.surrogate
        surrogate = fit_surrogate(self.model, self.domain, self.dataset.rows, clock)
        if surrogate is not None:
            self.learned["surrogate"] = encode(surrogate)
        return surrogate

    def block(self, name: str, settings: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, Any]:
        """What a block of another process's run comes to; see ``model_process.blocks``."""
        from fairness_engine.model_process.blocks import answer_block

        return answer_block(self, name, settings, arrays)

    @cached_property
    def assessors(self) -> dict[str, tuple[Assessor, BoxEnumerator]]:
        """What decides boxes for whoever shares out a certification, by its settings."""
        return {}

    def shared(self, sharing: Sharing) -> ModelSession:
        """The same with the model's work shared out; the rows of blocks are of roles where the scope has links."""
        roles = self.in_roles
        of_roles = replace(sharing, settings={**sharing.settings, "of_roles": True})
        people = roles.of_people
        return replace(
            roles,
            model=share(roles.model, of_roles),
            of_people=None if people is None else replace(people, model=share(people.model, sharing)),
        )

    @cached_property
    def learned(self) -> dict[str, Any]:
        """What a run learned that the next one of the same question need not learn again; plain JSON, by name."""
        return {} if self.of_people is None else self.of_people.learned

    def recorded(self, predictions: str = "", dataset: Dataset | None = None) -> RecordedDecisions:
        """What a column of the data decides: of predictions, or the label when no name is given.

        Args:
            predictions: name of the column.
            dataset: whose rows are asked about; the opened one, if none is given.

        Raises:
            SettingError: it holds no outcomes, or nobody said which is favourable; or predictions were asked for beside
                a model.
        """
        dataset = self.dataset if dataset is None else dataset
        if not predictions:
            return recorded_labels(dataset)
        if self.table is None:
            raise SettingError(
                "A column of predictions is compared without a model. Leave the model out, or the column."
            )
        return recorded_predictions(self.table, dataset, predictions)

    def box(self, settings: Mapping[str, Any], low: Any, high: Any) -> dict[str, Any]:
        """What is known of one box of a certification; digits ``(D,)`` each, packed.

        Raises:
            InputError: the model, or the scope, cannot be certified, or it is no box.
        """
        details = self._inspector(settings).inspect(unpack_array(low), unpack_array(high))
        shown = details.counterexample.mapped(self.domain.spelled)
        return {"box": details.to_json(), "counterexample": pack_pairs(shown)}

    def _inspector(self, settings: Mapping[str, Any]) -> BoxInspector:
        """What assesses boxes, kept for the next click on the same certification."""
        from fairness_engine.certification.box_inspection.inspector import BoxInspector
        from fairness_engine.certification.settings import CertifySettings

        wanted = CertifySettings.from_json(settings)
        if wanted not in self._inspectors:
            self._inspectors.clear()
            asked = self.in_roles
            self._inspectors[wanted] = BoxInspector(asked.model, asked.domain, asked.dataset.rows, wanted)
        return self._inspectors[wanted]

    @cached_property
    def _inspectors(self) -> dict[CertifySettings, BoxInspector]:
        return {}

    def certifiable(self) -> dict[str, Any]:
        """Why the model cannot be certified in this scope, in a sentence or two; null when it can."""
        from fairness_engine.model_process.working.certification import why_not_certifiable

        return {"reason": why_not_certifiable(self.in_roles.model, self.in_roles.domain)}

    def trainable(self) -> dict[str, Any]:
        """Can the model be retrained on the data, what may be trained instead, and what that will take, as JSON."""
        from fairness_engine.model_process.working.retraining import trainable
        from fairness_engine.retraining.settings import RetrainSettings
        from fairness_engine.retraining.trainable import libraries_of

        can = trainable(self)
        libraries: tuple[str, ...] = ()
        if self.model_file is not None and can.kind:
            libraries = libraries_of(*self.model_file, RetrainSettings())
        return {"trainable": can.to_json(), "libraries": libraries}

    @cached_property
    def plausibility(self) -> Plausibility:
        """What the data says about which people could exist: the same for all runs on it, whatever their seed."""
        from fairness_engine.measures.plausibility import SEED
        from fairness_engine.measures.plausibility.plausibility import Plausibility

        if self.of_people is not None:
            return self.of_people.plausibility.of_rows(self.of_people.domain.spelled)
        if "plausibility" not in self.found:
            learnt = Plausibility.learn(self.dataset.rows, self.domain, np.random.default_rng(SEED))
            self.found["plausibility"] = learnt
        known: Plausibility = self.found["plausibility"]
        return known

    def fit(self, answers: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The fit card, as JSON. What is drawn for it does not depend on a run.

        Args:
            answers: that the model gave in its own environment, as ``KnownAnswers.to_json`` gives them.
        """
        from fairness_engine.models.fit.report import assess_fit

        known = None if answers is None else KnownAnswers.from_json(answers)
        card: dict[str, Any] = assess_fit(self.model, self.dataset, np.random.default_rng(0), known).to_json()
        return {"fit": card}

    def reading(self) -> Reading:
        """How far it is confirmed that the model is read rightly, by a brief look."""
        from fairness_engine.models.fit.reading import assess_briefly
        from fairness_engine.models.model import measure_rows_per_second

        if "reading" not in self.found:
            speed = measure_rows_per_second(self.model, self.dataset.rows[:1_000], 0.0)
            rng = np.random.default_rng(0)
            found, is_steady = assess_briefly(self.model, self.dataset, speed, rng, self.known_reading)
            found = replace(found, ways=())  # they are for the Model page, where they can be chosen
            self.found["reading"] = found
            if is_steady and self.known_reading is None:
                self.learned["reading"] = encode(found)
        known: Reading = self.found["reading"]
        return known

    def scores(self, rows: Any) -> dict[str, Any]:
        """Scores and decisions of rows of the engine.

        Args:
            rows: ``(n_rows, n_columns)``, packed.

        Raises:
            FitError: the model gives no number for some.
        """
        scores = finite(self.model.scores(unpack_array(rows)))
        return {"scores": pack_array(scores), "decisions": pack_array(self.model.decide(scores))}

    def decisions(self, rows: Any) -> dict[str, Any]:
        """The least and the greatest class that the variants of rows get.

        Args:
            rows: ``(n_rows, n_columns)``, packed.
        """
        from fairness_engine.model_process.working.certification import extreme_decisions

        asked = self.in_roles
        least, most = extreme_decisions(asked.model, asked.domain, self.domain.roles(unpack_array(rows)))
        return {"least": pack_array(least), "most": pack_array(most)}

    def plausible(self, rows: Any) -> dict[str, Any]:
        """What is known of people ``(n_people, n_columns)``, packed: could they exist?"""
        return {"plausible": [self.plausibility.assess(row).to_json() for row in unpack_array(rows)]}

    def simplify(self, pair: Any) -> dict[str, Any]:
        """The plainest form of one pair; both packed."""
        from fairness_engine.explanation.simplify import plain_row, simplify_pair

        asked = self.in_roles
        plain = plain_row(asked.domain, asked.dataset.rows)
        given = unpack_pairs(pair, self.domain.n_columns).mapped(self.domain.roles)
        found = simplify_pair(asked.model, asked.domain, given, plain)
        return {"pair": pack_pairs(found.mapped(self.domain.spelled))}

    def gradients(self) -> dict[str, Any]:
        """How estimated gradients compare with the true ones, as JSON."""
        from fairness_engine.measures.gradient_accuracy import check_gradients

        asked = self.in_roles
        return {"gradients": check_gradients(asked.model, asked.domain, asked.dataset.rows).to_json()}

    def shap(self, people: Any) -> dict[str, Any]:
        """SHAP values of both people of a pair ``(2, n_columns)``, packed."""
        from fairness_engine.explanation.shap_values import explain_pair

        names = self.dataset.schema.names
        known = self.model.taken(names)
        taken = np.array([i for i, name in enumerate(names) if name in known], dtype=np.int64)
        return {"shap": explain_pair(self.model, unpack_array(people), self.dataset.rows, taken).to_json()}

    def where(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The groups in which the model discriminates.

        Raises:
            InputError: the model cannot be searched; see ``requirements.check``.
        """
        from fairness_engine.explanation.where import WhereSettings, find_where, where_to_json
        from fairness_engine.search import requirements

        asked = self.in_roles
        held = (asked.model, asked.domain, asked.dataset.rows)
        requirements.check(*held, None)
        wanted = WhereSettings(Distribution(settings["distribution"]), int(settings["max_depth"]))
        found = find_where(*held, wanted)
        return {"where": where_to_json(found), "examples": pack_pairs(found.examples.mapped(self.domain.spelled))}

    def group_figures(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Selection rates, impact ratios and equalised odds by group, as JSON; see ``group_figures``."""
        from fairness_engine.model_process.working.group_figures import answer

        return {"figures": answer(self, settings)}

    def thresholds(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Rows with the favourable outcome by group at other decision thresholds, as JSON; see ``group_figures``."""
        from fairness_engine.model_process.working.group_figures import answer_thresholds

        return {"thresholds": answer_thresholds(self, settings)}

    @cached_property
    def scored(self) -> tuple[Dataset, NDArray[np.float64]]:
        """The people of the data whom a model of two classes answers, and their scores of class 1 ``(n_rows,)``.

        Raises:
            SettingError: it is too slow.
            FitError: it gives no number for some row.
        """
        from fairness_engine.model_process.working.group_figures import score_rows

        return score_rows(self.model, self.dataset)

    @cached_property
    def favourable(self) -> NDArray[np.bool_]:
        """Whether the model decides for each person of the data ``(n_rows,)``.

        Raises:
            ModelError: there is no model.
            SettingError: it is too slow.
        """
        from fairness_engine.model_process.working.group_figures import decide_rows

        return decide_rows(self.model, self.dataset)

    @cached_property
    def incomplete_favourable(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
        """Whether the model decides for each person of the data with a missing cell, and whether it answers at all
        ``(n_rows,)`` each; ``None`` where there is no such person, or the model takes none."""
        from fairness_engine.models.fit.incomplete import incomplete_scores, is_answered

        if self.of_people is not None:
            return self.of_people.incomplete_favourable
        more = self.dataset.incomplete
        if more is None or self.model.incomplete is None:
            return None
        scores = incomplete_scores(self.model, more.rows)
        answered = is_answered(scores)
        decided = np.zeros(len(more), dtype=bool)
        decided[answered] = self.model.decide(scores[answered]) == self.model.favourable
        return decided, answered

    def summary(self) -> dict[str, Any]:
        """What the reply to ``open`` says."""
        return {
            "n_rows": len(self.dataset.rows),
            "n_dropped": self.dataset.n_dropped,
            "problems": list(self.dataset.problems),
            "classes": list(self.model.classes),
            "threshold": self.model.threshold,
            "is_binary": self.model.is_binary,
            "favourable": self.model.favourable,
            "taken": sorted(self.model.taken(self.dataset.schema.names)),
        }


def open_all(request: Mapping[str, Any]) -> ModelSession | TextSession:
    """Read the data and open the model that an ``open`` request names; without a model, what the data says is left.

    A scope whose protected column holds texts asks for a model of texts.

    Raises:
        InputError: either cannot be used, or they do not belong together.
    """
    data = request["data"]
    model_file = request.get("model")
    schema = Schema.from_json(request["schema"])
    scope = Scope.from_json(request["scope"]) if request.get("scope") else None
    column = text_column(schema, scope)
    if scope is not None and column is not None:
        return open_texts(request, schema, scope, column)
    if scope is not None:
        space = Domain if request.get("needs_variants", True) else Ranges
        space(schema, scope)  # refuses what cannot be, before files are read
        schema = schema.with_protected(scope.protected)
    table = read_table(Path(data["path"]), name=data["name"])
    if model_file is None:
        return open_table(table, schema, scope, None)
    path = Path(model_file["path"])
    name = model_file["name"]
    opener = partial(open_model, path, unsafe_formats=bool(request.get("unsafe_formats")), name=name)
    return replace(open_table(table, schema, scope, opener), model_file=(path, name))


def open_table(table: Table, schema: Schema, scope: Scope | None, opener: Callable[..., Model] | None) -> ModelSession:
    """Data that was read, and a model bound to it.

    Args:
        table, schema: the data.
        scope: see ``ModelSession``; its protected attributes are the schema's.
        opener: what opens the model, of the schema and by name ``classes``, ``favourable`` and ``threshold`` as
            ``open_model`` takes them; ``None`` where a column of the data is assessed.

    Raises:
        InputError: the data cannot be used, or does not belong to the model.
    """
    dataset = make_dataset(table, schema)
    if opener is None:
        return ModelSession(dataset, no_model(dataset.classes, dataset.favourable_class), scope, table)
    if not schema.inputs:
        raise FitError(
            "A model of tables needs a column of categories or numbers, but the data has texts only. Choose another "
            "type under Data, or a model of texts and its column under Scope."
        )
    model = opener(
        dataset.schema,
        classes=dataset.classes or None,
        favourable=favourable_or_second(dataset.schema, dataset.classes, dataset.favourable_class),
        threshold=scope.threshold if scope else None,
    )
    unsaid = ""
    if not dataset.classes:
        favourable, unsaid = favourable_of_model(model.classes, dataset.schema.favourable, model.favourable)
        model = replace(model, favourable=favourable, notes=(*model.notes, unsaid) if unsaid else model.notes)
    if scope is not None:
        scope.check_scores(model.predictor.output, model.predictor.n_scores)
    return ModelSession(dataset, model, scope, unsaid=unsaid)


_OF_FAVOURABLE = ("search", "rules", "figures", "proxies")
"""Kinds of runs that say who is decided for, and who against."""


def _with_notes(events: Iterator[Event], notes: list[str]) -> Iterator[Event]:
    """The events of a run with more notes, the first of them; unchanged where there are none."""
    if notes:
        yield ResultReady("notes", {"notes": notes})
    for event in events:
        if notes and isinstance(event, ResultReady) and event.name == "notes" and isinstance(event.content, dict):
            yield ResultReady("notes", {"notes": [*notes, *event.content["notes"]]})
        else:
            yield event


ANSWERS: dict[str, Callable[..., dict[str, Any]]] = {
    "summary": ModelSession.summary,
    "fit": ModelSession.fit,
    "scores": ModelSession.scores,
    "decisions": ModelSession.decisions,
    "plausible": ModelSession.plausible,
    "simplify": ModelSession.simplify,
    "shap": ModelSession.shap,
    "where": ModelSession.where,
    "gradients": ModelSession.gradients,
    "group_figures": ModelSession.group_figures,
    "thresholds": ModelSession.thresholds,
    "box": ModelSession.box,
    "block": ModelSession.block,
    "certifiable": ModelSession.certifiable,
    "trainable": ModelSession.trainable,
}
"""By the name of the question, see ``questions``."""
