"""``runs verify`` notices what was done to a workspace after its runs ended, by somebody with an editor for databases
and files.

One workspace holds a run of every kind. Each case changes one thing in a copy; the command must hear of it, first with
the seal that was made when the run ended, and, where the rest of the run can tell, also after the seal was made anew by
whoever changed it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import skops.io
from commands import Commands, Told
from nnet_text import write_nnet
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier

KINDS = ("search", "estimate", "count", "certify", "rules", "labels", "proxies", "retrain")
"""Runs by their command; ``labels`` are rule sets of the data's own outcomes, whose runs have no model."""


@dataclass(frozen=True)
class Workspace:
    """A workspace, and its run of each kind."""

    folder: Path
    runs: dict[str, str]

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a query of the database gives."""
        with sqlite3.connect(self.folder / "evenhand.db") as connection:
            return connection.execute(query, values).fetchall()

    def result(self, kind: str, name: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Change a stored result."""
        where = (self.runs[kind], name)
        [(text,)] = self.rows("select content from results where run_id = ? and name = ?", *where)
        content = json.loads(text)
        change(content)
        self.rows("update results set content = ? where run_id = ? and name = ?", json.dumps(content), *where)

    def config(self, kind: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Change a run's question."""
        [(text,)] = self.rows("select config from runs where id = ?", self.runs[kind])
        content = json.loads(text)
        change(content)
        self.rows("update runs set config = ? where id = ?", json.dumps(content), self.runs[kind])

    def file(self, kind: str, pattern: str) -> Path:
        """A file of a run."""
        [path] = (self.folder / "runs" / self.runs[kind]).glob(pattern)
        return path

    def pairs(self, change: Callable[[pa.Table], pa.Table]) -> None:
        """Change the search's table of pairs."""
        path = self.file("search", "*.parquet")
        table = change(pq.read_table(path))
        pq.write_table(table, path)

    def arrays(self, kind: str, name: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Change arrays of a run's file."""
        path = self.file(kind, name)
        with np.load(path) as stored:
            content = {key: stored[key].copy() for key in stored.files}
        change(content)
        np.savez(path, **content)

    def stored_file(self, role: str) -> Path:
        """The bytes of the data or of the model."""
        [(sha256,)] = self.rows("select sha256 from files where role = ? order by created limit 1", role)
        [path] = [path for path in self.folder.rglob("*") if path.is_file() and path.name.startswith(sha256)]
        return path

    def pairs_cells(self, **cells: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        """Change columns of the search's table of pairs; dots of their names as ``__``."""

        def change(table: pa.Table) -> pa.Table:
            for name, altered in cells.items():
                position = table.column_names.index(name.replace("__", "."))
                values = altered(table.column(position).to_numpy().copy())
                table = table.set_column(position, table.field(position), pa.array(values))
            return table

        self.pairs(change)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, command: Commands) -> Workspace:
    """A run of every kind, of a network that looks at sex a little."""
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(0, 2, 600), rng.integers(0, 12, 600), rng.integers(0, 30, 600)], axis=1)
    is_good = rows[:, 2] + 3 * rows[:, 0] + rng.normal(0, 3, 600) > 16
    lines = [f"{'fm'[a]},{b},{c},{'yes' if ok else 'no'}" for (a, b, c), ok in zip(rows, is_good, strict=True)]
    (folder / "data.csv").write_text("\n".join(["sex,place,points,approved", *lines]) + "\n")
    model = MLPClassifier((6,), max_iter=300, random_state=0, learning_rate_init=0.01).fit(rows, is_good)
    write_nnet(folder / "model.nnet", model.coefs_, model.intercepts_)
    skops.io.dump(model, folder / "model.skops")  # the same network, which scikit-learn can train again
    same = ["--data", str(folder / "data.csv"), "--protected", "sex", "--favourable", "yes"]
    same += ["--workspace", str(folder / "workspace"), "--seed", "3"]
    models = {kind: ["--model", str(folder / "model.nnet")] for kind in KINDS}
    models |= {"labels": [], "retrain": ["--model", str(folder / "model.skops")]}
    own = {
        "search": ["--technique", "random", "--max-found", "15"],
        "estimate": ["--samples", "3000"],
        "count": [],
        "certify": ["--max-seconds", "60"],
        "rules": [],
        "labels": [],
        "proxies": ["--explained", "10"],
        "retrain": ["--strategy", "variants", "--rounds", "1", "--measure-seconds", "0", "--tolerance", "0.5"],
    }
    told = {
        kind: command.run("rules" if kind == "labels" else kind, *same, *models[kind], *own[kind]) for kind in KINDS
    }
    assert [each.status for each in told.values()] == [0] * len(KINDS), [each.errors for each in told.values()]
    assert told["search"].result["n_found"] == 15
    assert told["retrain"].result["improved"]
    return Workspace(folder / "workspace", {kind: each.result["run_id"] for kind, each in told.items()})


def verified(command: Commands, workspace: Workspace, kind: str) -> Told:
    """What the command says of the run of a kind."""
    return command.run("runs", "verify", workspace.runs[kind], "--workspace", str(workspace.folder))


@pytest.mark.parametrize("kind", KINDS)
def test_an_untouched_run_is_confirmed_whole(kind: str, made: Workspace, command: Commands) -> None:
    told = verified(command, made, kind)
    assert told.status == 0, told
    assert told.result["confirmed"] == told.result["checked"] >= 4 - (kind in ("search", "retrain"))
    assert told.result["failed"] == 0
    assert told.result["not_checked"] == []
    assert len(told.result["seal"]) == 64


@dataclass(frozen=True)
class Tampering:
    """One thing that is done.

    Args:
        what: in words.
        kind: whose run is verified then.
        do: it, in a copy of the workspace.
        by: the checks that must notice it, among others.
    """

    what: str
    kind: str
    do: Callable[[Workspace], Any]
    by: tuple[str, ...] = ("seal",)


def totals(kind: str, column: str, value: Any) -> Callable[[Workspace], Any]:
    """Another total of a run."""
    return lambda w: w.rows(f"update runs set {column} = ? where id = ?", value, w.runs[kind])


def result(kind: str, name: str, *keys: Any, add: float = 0.01) -> Callable[[Workspace], None]:
    """A number of a stored result, a little higher."""

    def change(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] += add

    return lambda w: w.result(kind, name, change)


def config(kind: str, *keys: Any, to: Any) -> Callable[[Workspace], None]:
    """Another answer in a run's question."""

    def change(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = to

    return lambda w: w.config(kind, change)


def arrays(kind: str, file: str, **changes: Callable[[NDArray[Any]], NDArray[Any]]) -> Callable[[Workspace], None]:
    """Other arrays in a run's file."""

    def change(content: dict[str, Any]) -> None:
        for name, altered in changes.items():
            content[name] = altered(content[name])

    return lambda w: w.arrays(kind, file, change)


def swapped_model(w: Workspace) -> None:
    """Another model's bytes under the name of the first."""
    write_nnet(w.stored_file("model"), [np.array([[0], [0], [1]])], [np.array([-15])])


def swapped_model_and_entry(w: Workspace) -> None:
    """The same, and its entry says so."""
    path = w.stored_file("model")
    was = path.name
    swapped_model(w)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    target = path.parent.parent / sha256[:2] / sha256
    target.parent.mkdir(exist_ok=True)
    path.rename(target)
    size = target.stat().st_size
    w.rows("update files set sha256 = ?, n_bytes = ? where sha256 = ?", sha256, size, was)


def other_new_model(w: Workspace) -> None:
    """The retraining's model is now the one it began with."""
    [(old,)] = w.rows("select parent_id from versions")
    w.rows("update versions set model_id = ?", old)


def swapped_reports(w: Workspace) -> None:
    """A report of the beginning after the last."""
    w.rows(
        "insert into progress (run_id, evaluations, seconds, n_tried, n_found, phase) values (?, 1, 0.1, 1, 0, '')",
        w.runs["search"],
    )


TAMPERINGS = [
    # pairs
    Tampering("a row is cut", "search", lambda w: w.pairs(lambda t: t.slice(0, len(t) - 1)), ("seal", "totals")),
    Tampering(
        "a row is repeated",
        "search",
        lambda w: w.pairs(lambda t: pa.concat_tables([t.slice(0, len(t) - 1), t.slice(0, 1)])),
        ("seal", "totals"),
    ),
    Tampering("two rows are swapped", "search", lambda w: w.pairs(lambda t: t.take([1, 0, *range(2, len(t))]))),
    Tampering(
        "the persons of all pairs are swapped",
        "search",
        lambda w: w.pairs_cells(a__sex=lambda v: 1 - v, b__sex=lambda v: 1 - v),
        ("seal", "pairs"),
    ),
    Tampering(
        "a person becomes the other", "search", lambda w: w.pairs_cells(b__sex=lambda v: 1 - v), ("seal", "pairs")
    ),
    Tampering(
        "a column that both share", "search", lambda w: w.pairs_cells(a__points=lambda v: v + 9), ("seal", "pairs")
    ),
    Tampering("a person of no domain", "search", lambda w: w.pairs_cells(a__place=lambda v: v + 99), ("seal", "pairs")),
    Tampering("a score", "search", lambda w: w.pairs_cells(score_a=lambda v: v + 0.01), ("seal", "pairs")),
    Tampering("a decision", "search", lambda w: w.pairs_cells(decision_a=lambda v: 1 - v), ("seal", "pairs")),
    Tampering("when a pair was found", "search", lambda w: w.pairs_cells(evaluation=lambda v: v + 1)),
    Tampering("how near a pair is to the data", "search", lambda w: w.pairs_cells(distance_a=lambda v: v / 2)),
    Tampering(
        "the file of pairs is gone", "search", lambda w: w.file("search", "*.parquet").unlink(), ("seal", "pairs")
    ),
    Tampering("the file of pairs is no file", "search", lambda w: w.file("search", "*.parquet").write_text("PAR1")),
    Tampering(
        "the list of pairs", "search", lambda w: w.rows("update parts set n_pairs = n_pairs - 1"), ("seal", "totals")
    ),
    Tampering(
        "a part listed twice",
        "search",
        lambda w: w.rows("insert into parts select run_id, start + 100, n_pairs, file from parts"),
        ("seal", "totals"),
    ),
    # totals, questions, order
    Tampering("how many were found", "search", totals("search", "n_found", 99), ("seal", "totals")),
    Tampering("how many were tried", "labels", totals("labels", "n_tried", 10**9)),
    Tampering("how many evaluations", "labels", totals("labels", "evaluations", 10**9)),
    Tampering("how long it took", "labels", totals("labels", "seconds", 0.001)),
    Tampering("why it ended", "labels", totals("labels", "stop_reason", "cancelled")),
    Tampering("whether it ended", "labels", totals("labels", "state", "crashed")),
    Tampering("the order of reports", "search", swapped_reports, ("seal", "totals")),
    Tampering(
        "a report is gone", "search", lambda w: w.rows("delete from progress where run_id = ?", w.runs["search"])
    ),
    Tampering("the seed of rule sets", "labels", config("labels", "seed", to=4)),
    Tampering("the technique", "labels", config("labels", "technique", to="maft")),
    Tampering("the versions", "labels", config("labels", "versions", "numpy", to="1.0")),
    Tampering("the versions are gone", "labels", config("labels", "versions", to="none")),
    Tampering("a label of the schema", "search", config("search", "schema", "columns", 0, "categories", to=["m", "f"])),
    Tampering(
        "a range of the schema", "search", config("search", "schema", "columns", 2, "max", to=14), ("seal", "pairs")
    ),
    Tampering("the scope", "search", config("search", "scope", "protected", to=["place"]), ("seal", "pairs")),
    Tampering("the threshold", "search", config("search", "scope", "threshold", to=0.9), ("seal", "pairs")),
    Tampering("how plausible", "search", result("search", "plausibility", "n_implausible", add=-1)),
    Tampering("how diverse", "search", result("search", "diversity", "n_leaves_hit", add=1)),
    # files
    Tampering(
        "the data",
        "search",
        lambda w: w.stored_file("data").write_bytes(w.stored_file("data").read_bytes() + b"f,1,1,no\n"),
        ("files",),
    ),
    Tampering("the data is gone", "count", lambda w: w.stored_file("data").unlink(), ("files",)),
    Tampering(
        "the name of the data", "search", lambda w: w.rows("update files set name = 'other.csv' where role = 'data'")
    ),
    Tampering("the model", "search", swapped_model, ("files",)),
    Tampering("the model and its entry", "search", swapped_model_and_entry, ("seal", "pairs")),
    # figures
    Tampering("an estimated share", "estimate", result("estimate", "share", "share"), ("seal", "the figure")),
    Tampering("its hits", "estimate", result("estimate", "share", "n_hits", add=1), ("seal", "the figure")),
    Tampering("its interval", "estimate", result("estimate", "share", "low"), ("seal", "the figure")),
    Tampering(
        "its interval of plausible people",
        "estimate",
        result("estimate", "plausible_share", "high"),
        ("seal", "the figure"),
    ),
    Tampering("a point of its curve", "estimate", result("estimate", "share_curve", 0, 1), ("seal", "the figure")),
    Tampering("the seed of an estimate", "estimate", config("estimate", "seed", to=4), ("seal", "the figure")),
    Tampering("a count", "count", result("count", "count", "n_discriminatory", add=-1), ("seal", "the figure")),
    Tampering(
        "how many of a count could exist",
        "count",
        result("count", "count", "plausible", "high", add=0.001),
        ("seal", "the figure"),
    ),
    Tampering("how many there are", "count", result("count", "count", "n_individuals", add=1), ("seal", "the figure")),
    Tampering(
        "the certified share", "certify", result("certify", "certification", "certified"), ("seal", "the proved shares")
    ),
    Tampering("how many it is about", "certify", result("certify", "certification", "n_individuals", add=1)),
    Tampering("the trace", "certify", result("certify", "trace", 0, 1, add=-0.01)),
    Tampering("the weights of a certification", "certify", config("certify", "settings", "weights", to="data")),
    Tampering(
        "shares of the tree",
        "certify",
        arrays("certify", "tree.npz", certified=lambda v: v * 0.9),
        ("seal", "the proved shares"),
    ),
    Tampering("where the tree is cut", "certify", arrays("certify", "tree.npz", cut=lambda v: v + 1)),
    Tampering("weights of the tree", "certify", arrays("certify", "tree.npz", weight=lambda v: v[::-1].copy())),
    Tampering(
        "certificates",
        "certify",
        arrays("certify", "tree.npz", certificate_coefficients=lambda v: -v),
        ("seal", "certificates"),
    ),
    Tampering(
        "the tree is gone", "certify", lambda w: w.file("certify", "tree.npz").unlink(), ("seal", "the proved shares")
    ),
    # rule sets
    Tampering(
        "counts of a rule set",
        "rules",
        arrays("rules", "rules.npz", favourable_inside=lambda v: v + 5),
        ("seal", "all rule sets"),
    ),
    Tampering(
        "an interval of a rule set",
        "rules",
        arrays("rules", "rules.npz", low=lambda v: v + 0.01),
        ("seal", "all rule sets"),
    ),
    Tampering("the summary of rule sets", "rules", result("rules", "rules", "n_rule_sets", add=1)),
    # proxies
    Tampering(
        "how well a column tells an attribute",
        "proxies",
        result("proxies", "proxies", "attributes", 0, "columns", 0, "tells", "low", add=-0.01),
        ("seal", "all proxies"),
    ),
    Tampering(
        "what is left of a difference",
        "proxies",
        result("proxies", "proxies", "attributes", 0, "differences", 0, "raw", "high", add=0.01),
        ("seal", "all proxies"),
    ),
    Tampering("the seed of a run of proxies", "proxies", config("proxies", "seed", to=4), ("seal", "all proxies")),
    # a retraining
    Tampering(
        "accuracy of the new model",
        "retrain",
        result("retrain", "after", "quality", "accuracy", "value"),
        ("seal", "retrained model"),
    ),
    Tampering(
        "a share of the old model",
        "retrain",
        result("retrain", "before", "uniform", "low", add=0.5),
        ("seal", "retrained model"),
    ),
    Tampering("a share of the new model", "retrain", result("retrain", "after", "data", "share", add=0.5)),
    Tampering(
        "who got better",
        "retrain",
        result("retrain", "changes", "groups", 0, "n_better", add=1),
        ("seal", "retrained model"),
    ),
    Tampering(
        "group figures",
        "retrain",
        lambda w: w.result("retrain", "changes", lambda c: c["figures"]["after"].clear()),
        ("seal", "retrained model"),
    ),
    Tampering(
        "a figure that is no number",
        "estimate",
        lambda w: w.result("estimate", "share", lambda c: c.update(share=None)),
        ("seal", "the figure"),
    ),
    Tampering(
        "figures that are not there",
        "retrain",
        lambda w: w.result("retrain", "before", lambda c: c.pop("quality")),
        ("seal", "retrained model"),
    ),
    Tampering(
        "the verdict", "retrain", lambda w: w.result("retrain", "retrained", lambda c: c.update(verdict="worse"))
    ),
    Tampering("the model card", "retrain", lambda w: w.result("retrain", "card", lambda c: c.update(text="# Card"))),
    Tampering("the new model", "retrain", other_new_model, ("seal", "retrained model")),
    # the seal
    Tampering("a line of the seal", "search", lambda w: w.rows("delete from seals where position = 3")),
    Tampering("the whole seal", "search", lambda w: w.rows("delete from seals")),
    Tampering("a hash of the seal", "search", lambda w: w.rows("update seals set sha256 = chain where position = 3")),
]


@pytest.mark.parametrize("case", TAMPERINGS, ids=lambda case: case.what)
def test_what_was_changed_is_noticed(case: Tampering, made: Workspace, command: Commands, tmp_path: Path) -> None:
    shutil.copytree(made.folder, tmp_path / "copy")
    copy = Workspace(tmp_path / "copy", made.runs)
    case.do(copy)
    told = verified(command, copy, case.kind)
    assert told.status in (1, 2), told
    if told.status == 2:
        assert told.errors.strip().count("\n") == 0, "one sentence"
        return
    verdicts = {check["name"]: check["verdict"] for check in told.result["checks"]}
    noticed = {name for name, verdict in verdicts.items() if verdict != "holds"}
    assert noticed.issuperset(case.by), told.result["checks"]


@pytest.mark.parametrize(("kind", "name"), [("estimate", "plausible_share"), ("count", "plausible")])
def test_figures_of_an_earlier_version_hold_without_those_that_it_did_not_know(
    kind: str, name: str, made: Workspace, command: Commands, tmp_path: Path
) -> None:
    shutil.copytree(made.folder, tmp_path / "copy")
    copy = Workspace(tmp_path / "copy", made.runs)
    if kind == "count":
        copy.result("count", "count", lambda content: content.pop(name))
    else:
        copy.rows("delete from results where run_id = ? and name = ?", made.runs[kind], name)
    told = verified(command, copy, kind)
    verdicts = {check["name"]: check["verdict"] for check in told.result["checks"]}
    assert verdicts["the figure"] == "holds"
