"""``runs verify BUNDLE``, as somebody who was sent a bundle uses it: what is there is replayed, what is not there is
said, what was forged with care is noticed, and what is hostile writes nothing and runs nothing.
"""

from __future__ import annotations

import io
import json
import pickle
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bundle_cases
from bundle_cases import KINDS, SAMPLE_DATA, read
from fairness_engine.__main__ import main
from fairness_engine.codec import decode, encode
from fairness_engine.report.bundle import rebuilding
from fairness_engine.report.bundle.contents import About, BundledRun, Contents, json_bytes
from fairness_engine.report.bundle.writing import _write_documents
from fairness_engine.store.files import file_identity
from fairness_engine.store.records import FileRole
from fairness_engine.store.seal import file_hash

pytestmark = pytest.mark.thorough

SAMPLE_MODEL = SAMPLE_DATA.parent.parent / "sample_models" / "census_income_tree.skops"
DOCUMENTS = ("ro-crate-metadata.json", "attestation.intoto.json", "model-card.cdx.json", "data/croissant.json")


@dataclass(frozen=True)
class Told:
    """What the command said: its status, the object on standard output, and standard error."""

    status: int
    result: dict[str, Any]
    errors: str

    @property
    def verdicts(self) -> dict[str, str]:
        """By the name of the check, without the run."""
        return {check["name"].split(" of run")[0]: check["verdict"] for check in self.result["checks"]}

    @property
    def wrong(self) -> set[str]:
        """Checks that are contradicted."""
        return {name for name, verdict in self.verdicts.items() if verdict == "contradicted"}


@pytest.fixture
def verify(
    capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Told]:
    """The command; its temporary folder is looked at afterwards: nothing may stay, nor any workspace be made."""
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def run(folder: Path, *options: str) -> Told:
        unused = temporary.parent / "unused"
        status = main(["runs", "verify", str(folder), *options, "--json", "-", "--workspace", str(unused)])
        out, errors = capsys.readouterr()
        assert list(temporary.iterdir()) == []
        assert not unused.exists()
        assert "Traceback" not in errors
        return Told(int(status), json.loads(out) if out else {}, errors)

    return run


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Bundles of some kinds of runs, each made once."""
    made: dict[tuple[Any, ...], Path] = {}

    def bundle(*kinds: str, with_rows: bool = True) -> Path:
        key = (*kinds, with_rows)
        if key not in made:
            folder = tmp_path_factory.mktemp("bundle")
            bundle_cases.write(folder / "workspace", folder / "bundle", *kinds, with_rows=with_rows)
            made[key] = folder / "bundle"
        return made[key]

    return bundle


@pytest.fixture
def copy(bundles: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """A copy of such a bundle, to be changed."""

    def copied(*kinds: str, with_rows: bool = True) -> Path:
        shutil.copytree(bundles(*kinds, with_rows=with_rows), tmp_path / "bundle")
        return tmp_path / "bundle"

    return copied


def only_run(folder: Path) -> Path:
    """The folder of a bundle's only run."""
    [run_id] = read(folder, "review.json")["runs"]
    return folder / "runs" / run_id


# --- what holds ---------------------------------------------------------------------------------


def test_a_bundle_of_every_kind_of_run_is_confirmed_whole(
    bundles: Callable[..., Path], verify: Callable[..., Told]
) -> None:
    told = verify(bundles())
    assert told.status == 0, told.result["checks"]
    assert told.result["confirmed"] == told.result["checked"] == len(told.result["checks"])
    assert (told.result["failed"], told.result["not_checked"]) == (0, [])
    assert [run["kind"] for run in told.result["runs"]] == [*KINDS[:1], "search", *KINDS[2:6], "rules", "retrain"]
    looked = {"files of the bundle", "documents", "tables of pairs", "people of the data", "rule sets as told", "pairs"}
    looked |= {"files", "seal", "totals", "the figure", "the proved shares", "certificates", "all rule sets"}
    assert set(told.verdicts) == looked | {"rule sets", "retrained model", "people to watch"}


def test_without_rows_what_could_not_be_looked_at_is_said(
    bundles: Callable[..., Path], verify: Callable[..., Told]
) -> None:
    folder = bundles(with_rows=False)
    told = verify(folder)
    assert told.status == 1
    assert told.result["failed"] == 0
    assert told.verdicts["files of the bundle"] == told.verdicts["documents"] == "holds"
    why = {each["what"].split(" of run")[0]: each["why"] for each in told.result["not_checked"]}
    assert set(why) == {"files", "what it found", "pairs left out", "seal"}
    assert "give it with --data" in why["files"]
    n_seals = sum(each["what"].startswith("seal") for each in told.result["not_checked"])
    assert n_seals == 2, "of the two searches that lack pairs; the others' are whole"


def test_the_files_that_are_given_stand_in(
    bundles: Callable[..., Path], verify: Callable[..., Told], tmp_path: Path
) -> None:
    new_model = next(
        path for path in (bundles() / "models").iterdir() if path.read_bytes() != SAMPLE_MODEL.read_bytes()
    )
    given = ["--data", str(SAMPLE_DATA), "--model", str(SAMPLE_MODEL)]
    told = verify(bundles(with_rows=False), *given)
    assert (told.status, told.result["failed"]) == (1, 0)
    why = {each["what"].split(" of run")[0]: each["why"] for each in told.result["not_checked"]}
    assert set(why) == {"pairs left out", "seal", "retrained model"}
    assert "the new model file 'census_income_tree-variants.skops' is not in the bundle" in why["retrained model"]
    few = bundles("certify", "retrain", "labels", with_rows=False)
    told = verify(few, *given, "--model", str(new_model))
    assert told.status == 0, told.result["checks"]
    other = tmp_path / "other.csv"
    other.write_bytes(SAMPLE_DATA.read_bytes() + b"\n")
    told = verify(few, "--data", str(other))
    assert told.status == 2
    assert "--data must be a file that the bundle was made from (census_income.csv), to the byte" in told.errors
    assert verify(few, "--model", str(tmp_path / "none")).errors.startswith("--model must name a file")


def test_a_bundle_is_named_by_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> str:
        assert main(["runs", "verify", *arguments, "--workspace", str(tmp_path / "workspace")]) == 2
        return capsys.readouterr().err

    assert "or a bundle by its folder, which holds 'ro-crate-metadata.json'" in said(str(tmp_path))
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "ro-crate-metadata.json").touch()
    assert "does not. Its report has a bundle beside it: name its folder 'bundle'." in said(str(tmp_path))
    assert "There is no run 'abc'" in said("abc")
    assert "'abc' is no bundle" in said("abc", "--data", "x.csv")


# --- what was changed ---------------------------------------------------------------------------


def test_a_changed_byte_fails(copy: Callable[..., Path], verify: Callable[..., Told]) -> None:
    folder = copy("estimate", with_rows=False)
    content = (folder / "tables" / "a table.csv").read_bytes()
    (folder / "tables" / "a table.csv").write_bytes(content.replace(b"1", b"7"))
    told = verify(folder)
    assert told.status == 1
    assert told.wrong == {"files of the bundle", "documents"}
    [said] = [check["said"] for check in told.result["checks"] if check["name"] == "files of the bundle"]
    assert said == "'tables/a table.csv' is not what it was"


def forge(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change what a run says of itself, and make all documents and hashes anew, as the program would."""
    path = only_run(folder) / "run.json"
    content = json.loads(path.read_bytes())
    change(content)
    path.write_bytes(json_bytes(encode(decode(BundledRun, content))))
    remake(folder)


def remake(folder: Path) -> None:
    about = decode(About, read(folder, "review.json"))
    runs = tuple(decode(BundledRun, read(folder, f"runs/{run_id}/run.json")) for run_id in about.runs)
    for name in DOCUMENTS:
        (folder / name).unlink(missing_ok=True)
    _write_documents(folder, about, runs)
    assert Contents(about, runs, {}).about.runs == about.runs


def half(values: dict[str, Any], name: str) -> None:
    values[name] /= 2


def test_a_figure_that_was_forged_with_all_hashes_is_noticed_by_the_seal_and_by_the_model(
    copy: Callable[..., Path], verify: Callable[..., Told]
) -> None:
    folder = copy("estimate")

    def lower(content: dict[str, Any]) -> None:
        share = content["run"]["results"]["share"]
        share["n_hits"] -= 1
        share["share"] = share["n_hits"] / share["n"]
        content["run"]["results"]["share_curve"][-1][1] = share["share"]

    forge(folder, lower)
    told = verify(folder)
    assert told.status == 1
    assert told.wrong == {"seal", "the figure"}


def test_tables_that_were_forged_with_all_hashes_are_noticed(
    copy: Callable[..., Path], verify: Callable[..., Told]
) -> None:
    folder = copy("search", with_rows=False)
    run = only_run(folder)
    text = (run / "pairs.csv").read_text()
    (run / "pairs.csv").write_text(text.replace("Private", "Government", 1))
    remake(folder)
    told = verify(folder)
    assert told.wrong == {"tables of pairs"}
    (run / "pairs.csv").write_text(text)
    table = pq.read_table(run / "pairs.parquet")
    changed = table.set_column(table.column_names.index("decision"), "decision", pa.array([0] * len(table)))
    pq.write_table(changed, run / "pairs.parquet")
    remake(folder)
    told = verify(folder)
    assert told.wrong == {"tables of pairs"}
    assert "pairs.parquet" in next(check["said"] for check in told.result["checks"] if "tables" in check["name"])


def test_a_parquet_table_that_another_version_wrote_is_the_same(
    copy: Callable[..., Path], verify: Callable[..., Told]
) -> None:
    folder = copy("search", with_rows=False)
    path = only_run(folder) / "pairs.parquet"
    pq.write_table(pq.read_table(path), path, compression="gzip", version="1.0")
    remake(folder)
    assert verify(folder).verdicts["tables of pairs"] == "holds"


def test_people_of_the_data_that_were_put_back_are_noticed(
    copy: Callable[..., Path], bundles: Callable[..., Path], verify: Callable[..., Told]
) -> None:
    """A bundle says that it holds no row of the data, and holds all."""
    whole = only_run(bundles("scan"))
    folder = copy("scan", with_rows=False)
    run = only_run(folder)
    lines = [line.rsplit(",", 1)[0] for line in (whole / "pairs.csv").read_text().splitlines()]
    (run / "pairs.csv").write_text("\n".join(lines) + "\n")
    shutil.copytree(whole / "stored", run / "stored", dirs_exist_ok=True)
    table = pq.read_table(whole / "pairs.parquet")
    pq.write_table(table.drop_columns("is_in_data"), run / "pairs.parquet")
    parts = json.loads((whole / "run.json").read_bytes())["run"]["parts"]

    def put_back(content: dict[str, Any]) -> None:
        content["run"]["parts"] = parts
        content["withheld"] = {"n_pairs": 0, "parts": [], "why": []}

    forge(folder, put_back)
    told = verify(folder, "--data", str(SAMPLE_DATA))
    assert told.wrong == {"people of the data"}


def test_rule_sets_that_are_told_otherwise_are_noticed(copy: Callable[..., Path], verify: Callable[..., Told]) -> None:
    folder = copy("labels", with_rows=False)
    forge(folder, lambda content: half(content["rule_sets"]["top"][0], "score"))
    told = verify(folder)
    assert told.wrong == {"rule sets as told"}


def test_pairs_that_were_swapped_with_all_hashes_are_noticed_by_the_model(
    copy: Callable[..., Path], verify: Callable[..., Told]
) -> None:
    folder = copy("search")
    run = only_run(folder)
    [path] = (run / "stored").glob("*.parquet")
    table = pq.read_table(path)
    scores = table["score_a"].to_numpy() / 2
    pq.write_table(table.set_column(table.column_names.index("score_a"), "score_a", pa.array(scores)), path)
    remake(folder)
    told = verify(folder)
    assert {"seal", "pairs", "tables of pairs"} <= told.wrong


# --- what is hostile ----------------------------------------------------------------------------


class Payload:
    """Writes a marker where it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.marker, "it ran")


def stored(folder: Path, pattern: str) -> Path:
    [path] = (only_run(folder) / "stored").glob(pattern)
    return path


def pickled_arrays(path: Path, marker: Path) -> None:
    np.savez(path, column=np.array([Payload(marker)], dtype=object), allow_pickle=True)


def large_arrays(path: Path, _: Path) -> None:
    """A header that says far more than follows."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("column.npy", header.getvalue())


def packed_zeros(path: Path, _: Path) -> None:
    """Far more zeros than the file is long; the test lowers the limit, which is 2 GB."""
    with path.open("wb") as file:
        np.savez_compressed(file, column=np.zeros(1 << 20))


def circular_tree(path: Path, _: Path) -> None:
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["right"] = np.zeros_like(arrays["right"])
    np.savez(path, **arrays)


def other_rules(path: Path, _: Path) -> None:
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["head"] = arrays["head"] + 10**9
    np.savez(path, **arrays)


def rows_of_text(path: Path, _: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.set_column(0, table.column_names[0], pa.array(["x"] * len(table))), path)


def more_rows(path: Path, _: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(pa.concat_tables([table] * 50), path)


def nested_rows(path: Path, _: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.set_column(0, table.column_names[0], pa.array([[1.0]] * len(table))), path)


STORED: dict[str, tuple[str, str, Callable[[Path, Path], Any]]] = {
    "a tree with code": ("certify", "tree.npz", pickled_arrays),
    "a tree that says it is large": ("certify", "tree.npz", large_arrays),
    "a tree that unpacks to gigabytes": ("certify", "tree.npz", packed_zeros),
    "a tree with a circle": ("certify", "tree.npz", circular_tree),
    "a tree that is no archive": ("certify", "tree.npz", lambda path, _: path.write_bytes(b"PK\x03\x04" + b"\0" * 99)),
    "rule sets with code": ("labels", "rules.npz", pickled_arrays),
    "rule sets that point elsewhere": ("labels", "rules.npz", other_rules),
    "pairs of text": ("search", "*.parquet", rows_of_text),
    "more pairs than are told": ("search", "*.parquet", more_rows),
    "pairs of lists": ("search", "*.parquet", nested_rows),
    "pairs that are no table": (
        "search",
        "*.parquet",
        lambda path, _: path.write_bytes(b"PAR1" + b"\xff" * 60 + b"PAR1"),
    ),
    "pairs that are gone": ("search", "*.parquet", lambda path, _: path.unlink()),
}


@pytest.mark.parametrize("what", STORED)
def test_a_stored_file_that_no_run_leaves_is_not_read(
    what: str,
    copy: Callable[..., Path],
    verify: Callable[..., Told],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rebuilding, "_MAX_ARRAY_BYTES", 1 << 20)
    kind, pattern, change = STORED[what]
    folder = copy(kind, with_rows=False)
    marker = tmp_path / "marker"
    change(stored(folder, pattern), marker)
    told = verify(folder)
    assert told.status == 1
    assert "files of the bundle" in told.wrong
    assert not marker.exists()
    why = {each["what"].split(" of run")[0]: each["why"] for each in told.result["not_checked"]}
    assert "what is kept" in why or "pairs as stored" in why, told.result["checks"]
    assert all(len(each) < 400 for each in why.values())


def test_a_model_that_runs_code_stays_shut(
    copy: Callable[..., Path], verify: Callable[..., Told], tmp_path: Path
) -> None:
    """Its entry says that it is a pickle, with all hashes made anew; the data is honest."""
    folder = copy("search")
    marker = tmp_path / "marker"
    [model] = (folder / "models").iterdir()
    evil = tmp_path / "evil.pkl"
    evil.write_bytes(pickle.dumps(Payload(marker)))
    sha256 = file_hash(evil)
    shutil.copyfile(evil, folder / "models" / f"{sha256[:16]}.pkl")
    model.unlink()
    identity = file_identity(FileRole.MODEL, "model.pkl", sha256)

    def swap(content: dict[str, Any]) -> None:
        entry = next(file for file in content["run"]["files"] if file["role"] == "model")
        entry |= {"id": identity, "sha256": sha256, "name": "model.pkl", "n_bytes": evil.stat().st_size}
        content["run"]["config"]["model_id"] = identity

    forge(folder, swap)
    told = verify(folder)
    assert told.status == 1
    assert not marker.exists()
    assert told.verdicts["pairs"] == "not checked"
    [why] = [check["said"] for check in told.result["checks"] if check["name"].startswith("pairs of run")]
    assert "pickle" in why.lower()


@pytest.mark.parametrize("name", ["review.json", "run.json", "pairs.csv", "pairs.parquet", "data", "models"])
def test_a_part_that_is_missing_is_said(name: str, copy: Callable[..., Path], verify: Callable[..., Told]) -> None:
    folder = copy("search")
    path = folder / name if (folder / name).exists() else only_run(folder) / name
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    told = verify(folder)
    assert told.status == 1
    assert "files of the bundle" in told.wrong
    assert told.result["not_checked"] != []


def test_metadata_that_leads_elsewhere_is_one_sentence(
    copy: Callable[..., Path], verify: Callable[..., Told], tmp_path: Path
) -> None:
    folder = copy("estimate", with_rows=False)
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to("/etc/passwd")
    told = verify(folder)
    assert told.status == 2
    assert told.errors.count("\n") == 1
    assert told.errors.startswith("A bundle holds files and folders, no links, got 'report.html'.")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle"]


def fields() -> Iterator[Any]:
    """Questions that no program asked."""
    for keys, value in {
        ("config", "scope", "protected"): ["nobody"],
        ("config", "scope", "max_variants"): 10**9,
        ("config", "scope", "limits"): {"age": [5, -5]},
        ("config", "technique"): "../../x",
        ("config", "n_samples"): 10**18,
        ("config", "kind"): "unheard of",
        ("config", "schema", "columns"): [{"name": "x", "kind": "real", "min": -1e308, "max": 1e308}],
    }.items():
        yield pytest.param(keys, value, id=".".join(keys))


@pytest.mark.parametrize(("keys", "value"), list(fields()))
def test_a_question_that_nobody_asked_is_said(
    keys: tuple[str, ...], value: Any, copy: Callable[..., Path], verify: Callable[..., Told]
) -> None:
    folder = copy("search", with_rows=False)
    path = only_run(folder) / "run.json"
    content = json.loads(path.read_bytes())
    place = content["run"]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    path.write_text(json.dumps(content))
    told = verify(folder)
    assert told.status in (1, 2)
    assert told.errors.count("\n") <= 1
    if told.status == 1:
        assert "files of the bundle" in told.wrong
