"""The model card: the models of a review as a machine-learning bill of materials, CycloneDX 1.7 (ECMA-424), with the
figures of the runs in ``modelCard``.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from fairness_engine.report.bundle.contents import (
    BundledRun,
    Contents,
    card_path,
    data_path,
    model_path,
)
from fairness_engine.report.bundle.figures import (
    Came,
    Figure,
    accuracy,
    figures,
    outcome,
    protected_text,
    rule_set_text,
    said,
    title,
)
from fairness_engine.report.bundle.run_content import FileEntry
from fairness_engine.store.records import to_time

_NAMESPACE = uuid.UUID("0e6a4f7c-4d0b-5b1e-9a52-8f4d3c0d2e17")
"""Of serial numbers: the same bundle has the same one."""
_NO_MITIGATION = "None is recorded in this bundle."


def model_card(contents: Contents) -> dict[str, Any] | None:
    """The content of ``model-card.cdx.json``; ``None`` where no run has a model."""
    if not contents.models:
        return None
    first, *others = [_component(model, contents) for model in contents.models]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.7.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.7",
        "serialNumber": f"urn:uuid:{_serial(contents)}",
        "version": 1,
        "metadata": {
            "timestamp": to_time(contents.published).isoformat(timespec="seconds"),
            "tools": {"components": [{"type": "application", "name": "Evenhand", "version": contents.about.evenhand}]},
            "component": first,
        },
        "components": [*others, *(_data_component(data, contents) for data in contents.data)],
    }


def _serial(contents: Contents) -> uuid.UUID:
    review = contents.about.review
    return uuid.uuid5(_NAMESPACE, " ".join([review.id if review else "", *contents.about.runs]))


def _component(model: FileEntry, contents: Contents) -> dict[str, Any]:
    """A model with its card: the runs that it answered, and the retraining that made it."""
    answered = [run for run in contents.runs if run.config.model_id == model.id]
    made_by = [run for run in contents.runs if run.run.made_model == model]
    told = [*answered, *(run for run in made_by if run not in answered)]
    component: dict[str, Any] = {
        "type": "machine-learning-model",
        "bom-ref": _reference(model),
        "name": model.name,
        "hashes": [{"alg": "SHA-256", "content": model.sha256}],
        "modelCard": {
            "modelParameters": {
                "task": "classification",
                "datasets": [{"ref": _reference(data)} for data in contents.data if _is_of(data, told)],
            },
            "quantitativeAnalysis": {
                "performanceMetrics": [
                    *_accuracy(answered),
                    *(_metric(figure, run) for run in told for figure in _figures(run, model)),
                ]
            },
            "considerations": _considerations(told),
        },
    }
    if contents.has(model_path(model)):
        component["externalReferences"] = [{"type": "distribution", "url": model_path(model)}]
    if made_by:
        component["pedigree"] = {
            "ancestors": list(_ancestors(made_by)),
            "notes": " ".join(said(run) for run in made_by),
        }
    return component


def _is_of(data: FileEntry, runs: Sequence[BundledRun]) -> bool:
    return any(run.config.data_id == data.id for run in runs)


def _figures(run: BundledRun, model: FileEntry) -> Iterator[Figure]:
    """The figures of a run that are of one model: a retraining measures two."""
    if run.run.version is None:
        yield from figures(run)
        return
    other = "model after" if run.config.model_id == model.id else "model before"
    for figure in figures(run):
        if other not in figure.of:
            yield figure


def _accuracy(answered: Sequence[BundledRun]) -> Iterator[dict[str, Any]]:
    """How often a model decides as the data has it: once, as the newest run was told."""
    for run in reversed(answered):
        figure = accuracy(run)
        if figure is not None:
            yield _metric(figure, run)
            return


def _metric(figure: Figure, run: BundledRun) -> dict[str, Any]:
    metric: dict[str, Any] = {
        "type": f"{figure.name} ({figure.evidence.value})",
        "value": repr(figure.value),
        "slice": f"{figure.of}; run {run.run.id}",
    }
    if figure.low is not None and figure.high is not None:
        metric["confidenceInterval"] = {"lowerBound": repr(figure.low), "upperBound": repr(figure.high)}
    return metric


def _considerations(told: Sequence[BundledRun]) -> dict[str, Any]:
    """For whom the model is a risk, what is not known, and what was done about it."""
    mended = "; ".join(said(run) for run in told if run.config.kind == "retrain") or _NO_MITIGATION
    content: dict[str, Any] = {
        "technicalLimitations": [
            f"{title(run)}, run {run.run.id}: {outcome(run).value}. This does not show that there is none."
            for run in told
            if outcome(run) in (Came.NONE_FOUND, Came.NOTHING_CLAIMED)
        ],
        "fairnessAssessments": [
            *(each | {"mitigationStrategy": mended} for each in _assessed_people(told)),
            *(each | {"mitigationStrategy": mended} for each in _assessed_groups(told)),
        ],
    }
    return {name: value for name, value in content.items() if value}


def _assessed_people(told: Sequence[BundledRun]) -> Iterator[dict[str, str]]:
    """What was shown of people who differ in protected attributes alone, together for the same attributes."""
    shown: dict[str, list[str]] = {}
    for run in told:
        if run.config.kind not in ("rules", "retrain") and outcome(run) is Came.SHOWN:
            shown.setdefault(protected_text(run), []).append(f"{said(run)} Run {run.run.id}.")
    for protected, harms in shown.items():
        yield {
            "groupAtRisk": f"People who would be decided differently if they differed in {protected} alone",
            "harms": " ".join(harms),
        }


def _assessed_groups(told: Sequence[BundledRun]) -> Iterator[dict[str, str]]:
    """Groups whose difference is beyond chance."""
    for run in told:
        for line in run.rule_sets.top if run.rule_sets is not None else ():
            if line.low > 0:
                group = line.group if line.is_harmed else f"Everyone but {line.group}"
                yield {"groupAtRisk": group, "harms": f"{rule_set_text(line)}. Run {run.run.id}."}


def _ancestors(made_by: Sequence[BundledRun]) -> Iterator[dict[str, Any]]:
    for run in made_by:
        parent = run.run.model
        if parent is not None:
            hashes = [{"alg": "SHA-256", "content": parent.sha256}]
            yield {"type": "machine-learning-model", "name": parent.name, "hashes": hashes}


def _data_component(data: FileEntry, contents: Contents) -> dict[str, Any]:
    url = data_path(data) if contents.has(data_path(data)) else card_path(data, contents)
    schema = contents.schema_of(data)
    return {
        "type": "data",
        "bom-ref": _reference(data),
        "name": data.name,
        "hashes": [{"alg": "SHA-256", "content": data.sha256}],
        "data": [
            {
                "type": "dataset",
                "name": data.name,
                "contents": {"url": url},
                "sensitiveData": list(schema.protected),
                "description": f"What the runs were made on; its card is {card_path(data, contents)}.",
            }
        ],
    }


def _reference(entry: FileEntry) -> str:
    return f"{entry.role.value}-{entry.id}"
