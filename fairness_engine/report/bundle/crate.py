"""The crate: what the bundle is, every file of it, and each run as an action, as RO-Crate 1.3 in the profile Process
Run Crate 0.6 (researchobject.org, w3id.org/ro/wfrun/process/0.6).

Files that are not there on purpose are named with their hash, and say why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from fairness_engine.report.bundle.contents import (
    ATTESTATION_FILE,
    CRATE_FILE,
    MODEL_CARD_FILE,
    PAIRS_CSV,
    PAIRS_PARQUET,
    REVIEW_FILE,
    RUN_FILE,
    BundledFile,
    BundledRun,
    Contents,
    data_path,
    model_path,
    schema_path,
)
from fairness_engine.report.bundle.figures import said, title
from fairness_engine.report.bundle.run_content import FileEntry
from fairness_engine.store.people.roles import LOCAL_OWNER, UNLISTED_OWNER
from fairness_engine.store.records import RunState, to_time

CONTEXT = "https://w3id.org/ro/crate/1.3/context"
SPECIFICATION = "https://w3id.org/ro/crate/1.3"
PROFILE = "https://w3id.org/ro/wfrun/process/0.6"
NO_ROWS = (
    "Not in the bundle: it was asked to hold no rows of the data, and {what}. Whoever has the file can check it by its "
    "SHA-256."
)
WHY_NO_DATA = NO_ROWS.format(what="these are people")
WHY_NO_MODEL = NO_ROWS.format(what="a model may hold rows that it was trained on")
WHY_GONE = "Not in the bundle: the workspace does not have the file any more."
_TERMS = "#terms"
_AGENT = "#agent"
_FORMATS = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".npz": "application/zip",
    ".html": "text/html",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".md": "text/markdown",
    ".txt": "text/plain",
    ".pdf": "application/pdf",
    ".onnx": "application/octet-stream",
    ".keras": "application/zip",
    ".skops": "application/zip",
}
_DESCRIBED = {
    REVIEW_FILE: ("The review", "Name, columns and scope of the review, and which runs the bundle holds."),
    MODEL_CARD_FILE: ("Model card", "CycloneDX 1.7: figures of the runs on each model, with intervals and groups."),
    RUN_FILE: ("A run", "What it was asked to do, how it ended, counts, results, and the hashes of its seal."),
    PAIRS_CSV: ("Pairs, one line a person", "Invented people unless the column 'is_in_data' says otherwise."),
    PAIRS_PARQUET: ("Pairs, one line a person", "The same as the CSV file."),
    "tree.npz": ("The partition tree", "What is proved, box by box, with its certificates, as the run stored it."),
    "rules.npz": ("Scored rule sets", "All rule sets with their counts and intervals, as the run stored them."),
    "tested.npz": ("A sample of whom a search tested", "In order, so that the search can be watched again."),
}
_BY_FOLDER = {
    "data/croissant": ("Data card", "Croissant 1.1 with the vocabulary for responsible AI: columns and categories."),
    "data/schema-": ("Columns", "The schema that runs read the data by; a schema file of the command line."),
    "data/": ("The data", "The table that the runs are about, as it was added. Personal data."),
    "models/": ("A model", "As it was added, or as a retraining made it. It may hold rows that it was trained on."),
    "runs/": ("Stored pairs", "As the run stored them: positions of categories, and numbers."),
}


def crate(contents: Contents, files: Sequence[BundledFile], n_attestation_bytes: int) -> dict[str, Any]:
    """The content of ``ro-crate-metadata.json``.

    Args:
        contents: of the bundle.
        files: all that it lists with their hashes.
        n_attestation_bytes: of the attestation, which hashes the crate and so cannot be hashed here.
    """
    parts = [_file(file, contents) for file in sorted(files, key=lambda file: file.path)]
    parts.append(
        {
            "@id": ATTESTATION_FILE,
            "@type": "File",
            "name": "Attestation",
            "description": "in-toto statement over all files of the bundle, this one's metadata among them, which is "
            "why its own hash does not stand here. Unsigned: sign it with a tool of your own.",
            "encodingFormat": "application/vnd.in-toto+json",
            "contentSize": str(n_attestation_bytes),
        }
    )
    absent = list(_absent(contents))
    actions = [_action(run, contents) for run in contents.runs]
    folders = [_run_folder(run, contents) for run in contents.runs]
    in_folders = {part["@id"] for folder in folders for part in folder["hasPart"]}
    top = [part for part in [*parts, *absent] if part["@id"] not in in_folders]
    graph = [
        {
            "@id": CRATE_FILE,
            "@type": "CreativeWork",
            "name": "Metadata of the bundle",
            "about": {"@id": "./"},
            "conformsTo": {"@id": SPECIFICATION},
        },
        _root(contents, [*top, *folders], actions),
        {"@id": PROFILE, "@type": ["CreativeWork", "Profile"], "name": "Process Run Crate", "version": "0.6"},
        _terms(),
        _agent(contents),
        *actions,
        *_software(contents),
        *folders,
        *parts,
        *absent,
    ]
    return {"@context": CONTEXT, "@graph": [_compact(entity) for entity in graph]}


def _compact(entity: dict[str, Any]) -> dict[str, Any]:
    """An entity with single values for lists of one, and nothing for empty ones, as the specification recommends."""
    singles = {key: value[0] if isinstance(value, list) and len(value) == 1 else value for key, value in entity.items()}
    return {key: value for key, value in singles.items() if value != []}


def _root(contents: Contents, parts: Sequence[Any], actions: Sequence[Any]) -> dict[str, Any]:
    review = contents.about.review
    name = f"Evidence of the review '{review.name}'" if review else f"Evidence of {_counted(len(contents.runs))}"
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": name,
        "description": _description(contents),
        "datePublished": _time(contents.published),
        "license": {"@id": _TERMS},
        "publisher": {"@id": _AGENT},
        "conformsTo": {"@id": PROFILE},
        "hasPart": [{"@id": part["@id"]} for part in parts],
        "mentions": [{"@id": action["@id"]} for action in actions],
    }


def _description(contents: Contents) -> str:
    """What the bundle holds of whom."""
    runs = contents.runs
    told = [f"{_counted(len(runs))}, with their evidence."]
    n_of_data = sum(run.n_of_data or 0 for run in runs)
    n_unknown = sum(run.n_pairs for run in runs if run.n_of_data is None)
    n_pairs = sum(run.n_pairs for run in runs)
    if n_pairs:
        told.append(
            f"Pairs are invented people; {n_of_data:,} of {n_pairs:,} are of people who stand in the data, with "
            "whatever protected values."
        )
    if n_unknown:
        told.append(f"Of {n_unknown:,} pairs nobody can say so, since the data could not be read.")
    if contents.about.with_rows:
        told.append("Personal data: the bundle holds the data, the models, and pairs of people of the data.")
    else:
        told.append("The bundle was asked to hold no rows of the data: what would tell them is left out, and named.")
        told += [why for run in runs for why in run.withheld.why]
    return " ".join(told)


def _counted(n: int) -> str:
    return f"{n:,} run{'' if n == 1 else 's'}"


def _terms() -> dict[str, Any]:
    return {
        "@id": _TERMS,
        "@type": "CreativeWork",
        "name": "Terms of use",
        "description": "Not stated by the program that wrote the bundle: whoever hands it on says what may be done "
        "with it, and with the data and models that it speaks of.",
    }


def _agent(contents: Contents) -> dict[str, Any]:
    """Whose review it is, as far as anybody said so."""
    owner = contents.about.review.owner if contents.about.review else LOCAL_OWNER
    unknown = {LOCAL_OWNER: "Whoever worked at this machine", UNLISTED_OWNER: "Somebody who did not sign in"}
    return {"@id": _AGENT, "@type": "Person", "name": unknown.get(owner, owner)}


# --- files --------------------------------------------------------------------------------------


def _file(file: BundledFile, contents: Contents) -> dict[str, Any]:
    name, description = _words(file.path)
    entity = {
        "@id": quote(file.path),
        "@type": "File",
        "name": name,
        "description": description,
        "encodingFormat": _format(file.path),
        "contentSize": str(file.n_bytes),
        "sha256": file.sha256,
    }
    original = _original_name(file.path, contents)
    return entity | ({"alternateName": original} if original else {})


def _words(path: str) -> tuple[str, str]:
    """Name and description of a file."""
    last = PurePosixPath(path).name
    known = _DESCRIBED.get(path) or (_DESCRIBED.get(last) if path.startswith("runs/") else None)
    of_folder = (words for beginning, words in _BY_FOLDER.items() if path.startswith(beginning))
    return known or next(of_folder, (last, "A file that was added to the bundle, such as the report."))


def _format(path: str) -> str:
    suffix = PurePosixPath(path).suffix.lower()
    if path.startswith("data/croissant"):
        return "application/ld+json"
    if path == MODEL_CARD_FILE:
        return "application/vnd.cyclonedx+json"
    return _FORMATS.get(suffix, "application/octet-stream")


def _original_name(path: str, contents: Contents) -> str:
    """What a file was called when it was added; empty for one of the bundle's own."""
    names = {data_path(entry): entry.name for entry in contents.data}
    names |= {model_path(entry): entry.name for entry in contents.models}
    return names.get(path, "")


def _absent(contents: Contents) -> Iterator[dict[str, Any]]:
    """The files that are not there, with the reason."""
    for entries, path_of, reason in (
        (contents.data, data_path, WHY_NO_DATA),
        (contents.models, model_path, WHY_NO_MODEL),
    ):
        for entry in entries:
            path = path_of(entry)
            if not contents.has(path):
                why = WHY_GONE if contents.about.with_rows else reason
                yield {
                    "@id": _absent_id(entry),
                    "@type": "File",
                    "name": entry.name,
                    "description": why,
                    "encodingFormat": _format(path),
                    "contentSize": str(entry.n_bytes),
                    "sha256": entry.sha256,
                    "localPath": path,
                }


def _absent_id(entry: FileEntry) -> str:
    """Of a file that is described and not there: a local identifier, which RO-Crate has for that."""
    return f"#file-{entry.id}"


def _reference(entry: FileEntry, contents: Contents) -> dict[str, str]:
    path = model_path(entry) if entry in contents.models else data_path(entry)
    return {"@id": quote(path) if contents.has(path) else _absent_id(entry)}


def _run_folder(run: BundledRun, contents: Contents) -> dict[str, Any]:
    return {
        "@id": quote(run.folder),
        "@type": "Dataset",
        "name": title(run),
        "description": said(run),
        "hasPart": [{"@id": quote(path)} for path in contents.of_run(run)],
    }


# --- runs ---------------------------------------------------------------------------------------


def _action(run: BundledRun, contents: Contents) -> dict[str, Any]:
    content = run.run
    used = [entry for entry in (content.data, content.model) if entry is not None]
    objects = [_reference(entry, contents) for entry in used]
    objects += [{"@id": quote(path)} for path in (schema_path(run),) if contents.has(path)]
    results = [{"@id": quote(path)} for path in contents.of_run(run)]
    if content.made_model is not None:
        results.append(_reference(content.made_model, contents))
    is_done = run.state is RunState.FINISHED
    entity: dict[str, Any] = {
        "@id": f"#run-{content.id}",
        "@type": "CreateAction",
        "name": title(run),
        "description": f"{said(run)} {_settings(run)}",
        "instrument": {"@id": _program_id(run)},
        "agent": {"@id": _AGENT},
        "object": objects,
        "result": results,
        "endTime": _time(content.finished or content.created),
        "actionStatus": f"http://schema.org/{'Completed' if is_done else 'Failed'}ActionStatus",
    }
    if content.started is not None:
        entity["startTime"] = _time(content.started)
    if not is_done:
        entity["error"] = content.message or f"The run was {run.state.value}; what it had found is kept."
    return entity


def _settings(run: BundledRun) -> str:
    """What was asked, in words."""
    config = run.config
    told = [f"{name}={value}" for name, value in sorted(config.settings.items())]
    return f"Settings: {', '.join([*told, f'seed={config.seed}'])}."


def _program_id(run: BundledRun) -> str:
    """A package URL (ECMA-427): the program has no other address."""
    return f"pkg:generic/evenhand@{quote(run.config.versions.get('evenhand', 'unknown'))}"


def _software(contents: Contents) -> Iterator[dict[str, Any]]:
    """The program in each version that worked runs, and the libraries that it had then."""
    programs: dict[str, dict[str, str]] = {}
    for run in contents.runs:
        programs.setdefault(_program_id(run), {}).update(run.config.versions)
    told: dict[str, dict[str, Any]] = {}
    for identity, versions in sorted(programs.items()):
        libraries = [_library(name, version) for name, version in sorted(versions.items()) if name != "evenhand"]
        told |= {library["@id"]: library for library in libraries}
        told[identity] = {
            "@id": identity,
            "@type": "SoftwareApplication",
            "name": "Evenhand",
            "description": "Finds, proves, explains and mitigates discrimination in machine-learning models.",
            "url": identity,
            "version": versions.get("evenhand", "unknown"),
            "softwareRequirements": [{"@id": library["@id"]} for library in libraries],
        }
    yield from told.values()


def _library(name: str, version: str) -> dict[str, Any]:
    home = f"https://pypi.org/project/{quote(name)}/{quote(version)}/"
    identity = home
    if name == "python":
        home = "https://www.python.org/"
        identity = f"#python-{quote(version)}"
    return {"@id": identity, "@type": "SoftwareApplication", "name": name, "url": home, "version": version}


def _time(seconds: float) -> str:
    return to_time(seconds).isoformat(timespec="seconds")
