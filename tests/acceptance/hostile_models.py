"""Model files that are none, are damaged, lead elsewhere or hold code."""

from __future__ import annotations

import io
import json
import marshal
import pickle
import struct
import zipfile
from base64 import b64encode
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import onnx
import skops.io
from onnx import TensorProto, helper, numpy_helper
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from acceptance.hostile_case import N_INPUTS, Case, Maker, Place

ROWS = np.random.default_rng(8).integers(0, 10, (100, N_INPUTS)).astype(np.float64)
LABELS = (ROWS[:, 1] > 4).astype(int)


class Program:
    """Pickles to a call that writes the marker."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, (f"open({str(self.marker)!r}, 'w').close()",)


def called(name: str, content: bytes) -> Maker:
    """A file of this name with these bytes."""

    def make(place: Place) -> Path:
        path = place.folder / name
        path.write_bytes(content)
        return path

    return make


def pickled(name: str, protocol: int = 4) -> Maker:
    """Code under a name."""

    def make(place: Place) -> Path:
        path = place.folder / name
        path.write_bytes(pickle.dumps(Program(place.marker), protocol))
        return path

    return make


def archive(name: str, **members: str | bytes) -> Maker:
    """A zip of members; in their names, two underscores are a dot and three a slash."""

    def make(place: Place) -> Path:
        path = place.folder / name
        with zipfile.ZipFile(path, "w") as file:
            for member, content in members.items():
                file.writestr(member.replace("___", "/").replace("__", "."), content)
        return path

    return make


def bomb(place: Place) -> Path:
    """A zip of 2 MB whose member is 500 MB long."""
    path = place.folder / "model.keras"
    packed = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with packed, packed.open("config.json", "w") as member:
        for _ in range(500):
            member.write(bytes(1_000_000))
    return path


def program(place: Place) -> Path:
    """A text of Python that would write the marker."""
    path = place.folder / "train.py"
    path.write_text(f"open({str(place.marker)!r}, 'w').close()\n")
    return path


def nnet(header: str, layers: str = "1,2,3,4,\n5,\n") -> Maker:
    """A text of one layer of five numbers; its header: how many layers, inputs, outputs, the widest; their widths."""
    return called("m.nnet", f"// a note\n{header}0,\n0,0,0,0,\n9,9,9,9,\n0,0,0,0,0,\n1,1,1,1,1,\n{layers}".encode())


def onnx_graph(nodes: list[Any], tensors: tuple[Any, ...] = (), n_inputs: int | None = N_INPUTS) -> Maker:
    """An ONNX file with these operators from `rows` to `scores`."""

    def make(place: Place) -> Path:
        rows = helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, n_inputs])
        scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, None)
        graph = helper.make_graph(nodes, "g", [rows], [scores], list(tensors))
        path = place.folder / "model.onnx"
        opsets = [helper.make_opsetid("", 17)]
        path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString())
        return path

    return make


def external_weights(place: Place) -> Path:
    """Weights that lie in another file of the machine."""
    weights = numpy_helper.from_array(np.ones((N_INPUTS, 1), np.float32), "w")
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="/etc/passwd")
    path = onnx_graph([helper.make_node("MatMul", ["rows", "w"], ["scores"])], (weights,))(place)
    assert path is not None
    return path


def keras_layer(kind: str, **config: Any) -> Maker:
    """A Keras file whose model is one layer of this class."""
    described = {
        "module": "keras",
        "class_name": "Sequential",
        "config": {"name": "s", "layers": [{"module": "keras.layers", "class_name": kind, "config": config}]},
        "build_config": {"input_shape": [None, N_INPUTS]},
    }
    weights = io.BytesIO()
    with h5py.File(weights, "w") as file:
        file.create_group("layers")
    return archive(
        "model.keras",
        config__json=json.dumps(described),
        metadata__json=json.dumps({"keras_version": "3.10.0", "date_saved": "2026-01-01@00:00:00"}),
        model__weights__h5=weights.getvalue(),
    )


def lambda_layer(place: Place) -> Path:
    """A Lambda layer whose function writes the marker."""
    code = compile(f"open({str(place.marker)!r}, 'w').close()", "f", "exec")
    function = {"class_name": "__lambda__", "config": {"code": b64encode(marshal.dumps(code)).decode()}}
    path = keras_layer("Lambda", name="l", function=function)(place)
    assert path is not None
    return path


def skops_of(build: Any, **changes: Any) -> Maker:
    """A skops file of an estimator with some attributes changed."""

    def make(place: Place) -> Path:
        estimator = build.fit(ROWS, LABELS) if hasattr(build, "fit") else build
        for name, value in changes.items():
            setattr(estimator, name, value)
        path = place.folder / "model.skops"
        skops.io.dump(estimator, path)
        return path

    return make


def tree_that_points_outside(place: Place) -> Path:
    """A decision tree with a child of -5."""
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(ROWS, LABELS)
    path = place.folder / "model.skops"
    skops.io.dump(tree, path)
    changed = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for member in old.namelist():
            content = old.read(member)
            if member.endswith(".npy"):
                array = np.load(io.BytesIO(content))
                if array.dtype.names and "left_child" in array.dtype.names:
                    array["left_child"][0] = -5
                    saved = io.BytesIO()
                    np.save(saved, array)
                    content = saved.getvalue()
            new.writestr(member, content)
    path.write_bytes(changed.getvalue())
    return path


def h5_with(damage: Any) -> Maker:
    """The honest HDF5 file after a change."""

    def make(place: Place) -> None:
        with h5py.File(place.model, "r+") as file:
            damage(file)

    return make


def link_elsewhere(file: h5py.File) -> None:
    """The weights lie in another file of the machine."""
    del file["model_weights/dense/dense/kernel:0"]
    file["model_weights/dense/dense/kernel:0"] = h5py.ExternalLink("/etc/passwd", "/w")


def link_in_a_circle(file: h5py.File) -> None:
    """The weights are found by asking where they are."""
    del file["model_weights/dense/dense/kernel:0"]
    file["model_weights/dense/dense/kernel:0"] = h5py.SoftLink("/model_weights/dense/dense/kernel:0")


def huge_weights(file: h5py.File) -> None:
    """An array of 8 TB that nobody wrote."""
    del file["model_weights/dense/dense/kernel:0"]
    file.create_dataset("model_weights/dense/dense/kernel:0", shape=(2**20, 2**21), dtype="f4", chunks=(1024, 1024))


def weights_of(value: float) -> Any:
    """All weights are this."""

    def damage(file: h5py.File) -> None:
        file["model_weights/dense/dense/kernel:0"][...] = value

    return damage


def other_shape(file: h5py.File) -> None:
    """Weights for seven inputs."""
    del file["model_weights/dense/dense/kernel:0"]
    file["model_weights/dense/dense/kernel:0"] = np.ones((7, 1), np.float32)


def other_config(text: str) -> Any:
    """The model's description is this text."""

    def damage(file: h5py.File) -> None:
        file.attrs["model_config"] = text

    return damage


def cut(share: float) -> Maker:
    """The honest file, the first part of it."""

    def make(place: Place) -> None:
        content = place.model.read_bytes()
        place.model.write_bytes(content[: int(share * len(content))])

    return make


CASES = (
    Case("empty", called("model.h5", b""), "The model file is empty. Save or upload it again."),
    Case("absent", lambda place: place.folder / "nowhere.onnx", r"nowhere\.onnx"),
    Case("a folder", lambda place: place.workspace.parent, "--model must name a model file, but there is none at"),
    Case("text", called("model.onnx", b"hello"), "ONNX"),
    Case(
        "random bytes",
        called("model.keras", bytes(range(256)) * 40),
        "'model.keras' is damaged or cut short: its content is not",
    ),
    Case(
        "a name without a format",
        called("model.xyz", b"hello"),
        "'model.xyz' is of no known model format. Supported are Keras",
    ),
    Case("of XGBoost", called("model.json", b'{"learner":{"attributes":{}'), "XGBoost"),
    Case("of LightGBM", called("model.txt", b"tree\nversion=v4\nnum_class=1\n"), "LightGBM"),
    Case("of CatBoost", called("model.cbm", b"CBM1\x08Q\x00\x00"), "CatBoost"),
    Case("PMML", called("model.xml", b'<?xml version="1.0"?>\n<PMML xmlns="http://dmg.org/PMML-4_4">'), "PMML"),
    Case("of PyTorch", called("net.pt", b"\x80\x02\x8a\nl\xfc\x9cF\xf9"), "PyTorch"),
    Case("of R", called("model.RData", b"RDX3\nX\n"), "file of R"),
    Case("a program", program, "code that makes a model"),
    Case("a SavedModel", archive("m.zip", saved_model__pb=b"x"), "SavedModel"),
    Case("a SavedModel called .keras", archive("m.keras", m___saved_model__pb=b"x"), "SavedModel"),
    *(
        Case(f"code called {name}", pickled(name), "Pickle and joblib files run code of their author")
        for name in ("m.pkl", "m.pickle", "m.joblib", "m.sav")
    ),
    *(
        Case(f"code called {name}", pickled(name), "holds a Python pickle under another name and is refused")
        for name in ("m.h5", "m.keras", "m.onnx", "m.skops", "m.nnet", "m")
    ),
    *(Case(f"code of protocol {n}", pickled("m.pkl", n), "run code of their author on load") for n in range(6)),
    Case("a Lambda layer", lambda_layer, "Lambda"),
    Case("a layer of TensorFlow's file", keras_layer("TFSMLayer", filepath="/tmp/x"), "TFSMLayer"),
    Case(
        "a layer of another module",
        keras_layer("os.system", name="x"),
        "The model uses 'os.system', which is not a known part of",
    ),
    Case(
        "a vocabulary from the machine",
        keras_layer("StringLookup", name="x", vocabulary="/etc/passwd"),
        "The layer 'StringLookup' reads its vocabulary from a file",
    ),
    Case(
        "Keras without weights", archive("model.keras", config__json="{}", metadata__json="{}"), "class and its layers"
    ),
    Case(
        "Keras with a member of elsewhere",
        archive("model.keras", ______etc___x=b"x", config__json="{}"),
        "The model file names a member outside itself",
    ),
    Case(
        "Keras whose description is a list",
        archive("model.keras", config__json="[]", metadata__json="{}", model__weights__h5=b"x"),
        "The model's description must name a class and its layers.",
    ),
    Case("a bomb", bomb, "unpacks from .* to 500,000,000 bytes, which no real model does"),
    Case(
        "skops of a function",
        skops_of(FunctionTransformer(np.sin)),
        "The model file must hold a scikit-learn classifier, got",
    ),
    Case(
        "skops of a program",
        skops_of(FunctionTransformer(print)),
        "The model file names 'builtins.print', which is not a known",
    ),
    Case("skops that is no classifier", skops_of({"a": 1}), "The model file must hold a scikit-learn classifier, got"),
    Case(
        "skops of other columns",
        skops_of(LogisticRegression(), n_features_in_=9),
        "The model takes 9 inputs, but there are 4 input columns of",
    ),
    Case(
        "skops without weights",
        skops_of(LogisticRegression(), coef_=np.zeros((0, 0))),
        "The model fails on rows of the data",
    ),
    Case(
        "skops with NaN",
        skops_of(LogisticRegression(), coef_=np.full((1, N_INPUTS), np.nan)),
        "Layer 1 has weights that are not finite numbers: its",
    ),
    Case("skops without classes", skops_of(LogisticRegression(), classes_=np.array([])), "class"),
    Case("skops of one class", skops_of(LogisticRegression(), classes_=np.array([1])), "class"),
    Case(
        "a tree that points outside itself",
        tree_that_points_outside,
        "A tree of the model points outside itself: the model is",
    ),
    Case(
        "skops without its index",
        archive("m.skops", x__npy=b"1"),
        "A skops file must describe its object in 'schema.json', but",
    ),
    Case(
        "skops whose index is a list",
        archive("m.skops", schema__json="[]"),
        "A skops file must describe its object in 'schema.json', but",
    ),
    Case("weights in another file", external_weights, "The ONNX file keeps weights in another file and is refused."),
    Case("ONNX without operators", onnx_graph([]), "ONNX"),
    Case(
        "ONNX of an operator that is none",
        onnx_graph([helper.make_node("Run", ["rows"], ["scores"])]),
        "onnxruntime does not accept the model:",
    ),
    Case(
        "ONNX of another domain",
        onnx_graph([helper.make_node("Run", ["rows"], ["scores"], domain="com.evil")]),
        "The ONNX file uses the operator 'Run' of 'com.evil' and is",
    ),
    Case(
        "ONNX of nine inputs",
        onnx_graph([helper.make_node("ReduceSum", ["rows"], ["scores"])], (), 9),
        "The model takes 9 inputs, but there are 4 input columns of",
    ),
    Case(
        "ONNX that loops",
        onnx_graph([helper.make_node("Loop", ["", ""], ["scores"], body=helper.make_graph([], "b", [], []))]),
        "The ONNX file has a loop",
    ),
    Case(
        "ONNX of a random score",
        onnx_graph([helper.make_node("RandomUniformLike", ["rows"], ["scores"])]),
        "The ONNX file draws at random",
    ),
    Case("ONNX cut short", called("model.onnx", onnx.ModelProto(ir_version=9).SerializeToString()[:1]), "ONNX"),
    Case(
        "HDF5 that leads elsewhere", h5_with(link_elsewhere), "The model file links 'kernel:0' to another file or place"
    ),
    Case(
        "HDF5 that leads in a circle",
        h5_with(link_in_a_circle),
        "The model file links 'kernel:0' to another file or place",
    ),
    Case("HDF5 of 8 TB", h5_with(huge_weights), "The model file declares 8,796.1 GB of weights; at most 0.4"),
    Case("HDF5 with NaN", h5_with(weights_of(np.nan)), "The weights must be finite numbers, but"),
    Case("HDF5 with infinity", h5_with(weights_of(np.inf)), "The weights must be finite numbers, but"),
    Case("HDF5 of seven inputs", h5_with(other_shape), "The layers of the model must chain, but one with 4 outputs"),
    Case(
        "HDF5 without a description",
        h5_with(lambda file: file.attrs.__delitem__("model_config")),
        "The model file must hold the architecture and the weights,",
    ),
    Case(
        "HDF5 whose description is no JSON",
        h5_with(other_config("{")),
        "The model's description must be JSON, but it is damaged.",
    ),
    Case(
        "HDF5 whose description is nested without end",
        h5_with(other_config("[" * 30_000)),
        "The model's description must be JSON, but it is damaged.",
    ),
    Case("HDF5 cut to a half", cut(0.5), "The weights must be a whole HDF5 file, but it is damaged or"),
    Case("HDF5 without its last byte", cut(0.9999), "The weights must be a whole HDF5 file, but it is damaged or"),
    Case(".nnet without numbers", called("m.nnet", b"// a\nx,y\n"), "its header is incomplete"),
    Case(
        ".nnet cut short",
        nnet("1,4,1,4,\n4,1,\n", "1,2,"),
        "layers of 1 units need 2 lines of weights and biases, got 1",
    ),
    Case(".nnet of a million layers", nnet("1000000,4,1,4,\n4,1,\n"), "declares 1000000 layers of"),
    Case(".nnet of digits in groups", nnet("1,4,1,4,\n4,1,\n", "1_0,2,3,4,\n5,\n"), "must hold numbers, got '1_0,"),
    Case(".nnet with a word", nnet("1,4,1,4,\n4,1,\n", "one,2,3,4,\n5,\n"), "must hold numbers, got 'one,"),
    Case(".nnet with NaN", nnet("1,4,1,4,\n4,1,\n", "nan,2,3,4,\n5,\n"), "must hold 4 finite numbers, got 3"),
    Case(
        ".nnet of widths that differ",
        nnet("1,4,1,4,\n4,7,\n"),
        "sizes of layers in the .nnet file contradict one another",
    ),
    Case(".nnet of negative widths", nnet("1,-4,1,4,\n-4,1,\n"), "must begin with the sizes of its layers"),
    Case(
        "NumPy's array",
        called("m.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 10) + b"{'descr': "),
        "'m.npy' is of no known model format. Supported are Keras",
    ),
)
"""Each ends `inspect` with status 2 and one sentence, and its code has not run."""
