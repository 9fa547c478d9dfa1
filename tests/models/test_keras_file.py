"""The static reader of Keras files: what it reads, and what it refuses; hostile files are made here."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from small_models import dense_config, numbers_schema, random_network, write_legacy_h5

from fairness_engine.errors import ModelError
from fairness_engine.models.keras.config import UnreadArchitectureError
from fairness_engine.models.keras.file import read_keras
from fairness_engine.models.open import open_model
from memory import takes_at_most

pytestmark = pytest.mark.thorough

ROWS = np.random.default_rng(0).normal(size=(200, 4))


def as_layer(class_name: str, **config: Any) -> dict[str, Any]:
    return {"class_name": class_name, "config": {"name": class_name.lower(), **config}}


def write_keras(path: Path, layers: list[dict[str, Any]], arrays: dict[str, np.ndarray], **members: bytes) -> Path:
    """A ``.keras`` archive of a Sequential model."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for name, values in arrays.items():
            file[name] = values
    with zipfile.ZipFile(path, "w") as archive:
        config = {"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": layers}}
        archive.writestr("config.json", members.get("config", json.dumps(config).encode()))
        archive.writestr("metadata.json", "{}")
        archive.writestr("model.weights.h5", members.get("weights", buffer.getvalue()))
        for name, content in members.items():
            if name not in ("config", "weights"):
                archive.writestr(name, content)
    return path


def one_layer(**changes: Any) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    layer = as_layer("Dense", units=1, activation="sigmoid", use_bias=True, **changes)
    weights = {"layers/dense/vars/0": np.ones((4, 1), np.float32), "layers/dense/vars/1": np.zeros(1, np.float32)}
    return [layer], weights


# --- what is read -------------------------------------------------------------------------


def test_a_legacy_file_gives_its_network(tmp_path: Path):
    network = random_network((4, 8, 3, 1))
    write_legacy_h5(tmp_path / "m.h5", network)
    assert np.allclose(read_keras(tmp_path / "m.h5").predict(ROWS), network.predict(ROWS), atol=1e-6)


def test_an_archive_gives_its_network_also_in_the_layout_of_the_first_keras_archives(tmp_path: Path):
    layers, weights = one_layer()
    expected = 1 / (1 + np.exp(-ROWS.sum(axis=1)))
    read = read_keras(write_keras(tmp_path / "m.keras", layers, weights))
    assert np.allclose(read.predict(ROWS)[:, 0], expected, atol=1e-12)
    older = {name.replace("layers/", "_layer_checkpoint_dependencies/"): values for name, values in weights.items()}
    read = read_keras(write_keras(tmp_path / "n.keras", layers, older))
    assert np.allclose(read.predict(ROWS)[:, 0], expected, atol=1e-12)


def test_a_three_dimensional_batch_shape_is_a_row_when_the_middle_is_one(tmp_path: Path):
    layers, weights = one_layer(batch_shape=[None, 1, 4])
    assert read_keras(write_keras(tmp_path / "m.keras", layers, weights)).n_inputs == 4
    layers, weights = one_layer(batch_shape=[None, 3, 4])
    with pytest.raises(UnreadArchitectureError, match="takes inputs of shape"):
        read_keras(write_keras(tmp_path / "m.keras", layers, weights))


def test_layers_without_weights_do_what_keras_says(tmp_path: Path):
    dense, weights = one_layer()
    layers = [
        as_layer("InputLayer", batch_shape=[None, 4]),
        as_layer("Rescaling", scale=2.0, offset=-1.0),
        as_layer("Dropout", rate=0.5),
        as_layer("Flatten"),
        as_layer("Reshape", target_shape=[4]),
        as_layer("ELU", alpha=0.5),
        as_layer("LeakyReLU", negative_slope=0.25),
        as_layer("ReLU", max_value=6.0),
        *dense,
    ]
    values = ROWS * 2 - 1
    values = np.where(values > 0, values, 0.5 * np.expm1(values))
    values = np.where(values > 0, values, 0.25 * values)
    logits = np.clip(values, 0, 6).sum(axis=1)
    read = read_keras(write_keras(tmp_path / "m.keras", layers, weights))
    assert np.allclose(read.logits(ROWS)[:, 0], logits, atol=1e-12)


def test_normalisations_are_folded(tmp_path: Path):
    mean = np.array([1.0, 2.0, 3.0, 4.0])
    variance = np.array([4.0, 1.0, 9.0, 0.25])
    dense, weights = one_layer()
    layers = [
        as_layer("Normalization", axis=[-1], mean=[mean.tolist()], variance=[variance.tolist()]),
        as_layer("BatchNormalization", axis=[1], epsilon=0.01, scale=False),
        *dense,
    ]
    folder = "layers/batch_normalization/vars"
    weights |= {f"{folder}/0": np.full(4, 0.5), f"{folder}/1": np.full(4, 0.1), f"{folder}/2": np.full(4, 2.0)}
    logits = ((((ROWS - mean) / np.sqrt(variance)) - 0.1) / np.sqrt(2.01) + 0.5).sum(axis=1)
    read = read_keras(write_keras(tmp_path / "m.keras", layers, weights))
    assert np.allclose(read.logits(ROWS)[:, 0], logits, atol=1e-9)


@pytest.mark.parametrize(
    "layer",
    [
        as_layer("Conv1D", filters=2),
        as_layer("ReLU", max_value=3.0),
        as_layer("ReLU", max_value=6.0, negative_slope=0.1),
        as_layer("Softmax", axis=2),
        as_layer("Normalization", axis=[-1], invert=True),
        as_layer("Rescaling", scale=[1.0, 2.0]),
        as_layer("Softmax"),
        as_layer("Activation", activation="gelu"),
        as_layer("Dense", units=2, dtype="float16"),
        as_layer("Dense", units=2, quantization_config={"mode": "int8"}),
    ],
)
def test_harmless_layers_beyond_the_reader_are_left_to_keras(tmp_path: Path, layer: dict[str, Any]):
    dense, weights = one_layer()
    layers = [as_layer("InputLayer", batch_shape=[None, 4]), layer, *dense]
    with pytest.raises(UnreadArchitectureError):
        read_keras(write_keras(tmp_path / "m.keras", layers, weights))


KERAS_MODELS = """
import json, os, sys
import numpy as np
import keras
from keras import layers as L
keras.utils.set_random_seed(1)
folder = sys.argv[1]
rows = np.random.default_rng(0).normal(size=(200, 4)).astype("float32")
scale = L.Normalization()
scale.adapt(rows * 3 + 1)
inner = keras.Sequential([L.Dense(5, activation="leaky_relu"), L.LeakyReLU(negative_slope=0.3), L.Dense(5)])
start = keras.Input((4,), name="row")
chain = L.Softmax()(L.Dense(3)(L.Dense(6, activation="elu")(start)))
models = {
    "plain": keras.Sequential([keras.Input((4,)), L.Dense(8, activation="relu"), L.Dense(1, activation="sigmoid")]),
    "nested": keras.Sequential([keras.Input((4,)), scale, L.Dense(4), L.BatchNormalization(), L.ReLU(), inner,
                                L.Dense(2, activation="softmax")]),
    "chain": keras.Model(start, chain),
    "three_d": keras.Sequential([keras.Input((1, 4)), L.Dense(6, activation="selu"), L.Flatten(), L.Dense(1)]),
    "nested_chain": keras.Sequential([keras.Input((4,)), keras.Model(start, L.Dense(3)(start)), L.Dense(2,
    activation="softmax")]),
    "many": keras.Sequential([keras.Input((4,)), L.Dense(4, activation="softplus"), L.Dense(4, activation="softsign"),
                              L.Dense(4, activation="silu"), L.Dense(4, activation="relu6"), L.Dense(4,
                                  activation="tanh"),
                              L.ELU(alpha=0.7), L.Dense(1, activation="sigmoid", use_bias=False)]),
}
for name, model in models.items():
    for layer in model.layers:
        if isinstance(layer, L.BatchNormalization):
            layer.moving_mean.assign(np.linspace(-1, 1, 4)); layer.moving_variance.assign(np.linspace(0.5, 2, 4))
    model.save(f"{folder}/{name}.keras")
    model.save(f"{folder}/{name}.h5")
    given = rows[:, None, :] if name == "three_d" else rows
    np.save(f"{folder}/{name}.npy", np.asarray(model(given, training=False)).reshape(200, -1))
np.save(f"{folder}/rows.npy", rows)
"""


@pytest.fixture(scope="module")
def real_keras(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models that Keras made, and what Keras says of 200 rows."""
    folder = tmp_path_factory.mktemp("keras")
    subprocess.run([sys.executable, "-c", KERAS_MODELS, str(folder)], check=True, capture_output=True, timeout=300)
    return folder


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
@pytest.mark.parametrize("name", ["plain", "nested", "chain", "three_d", "nested_chain", "many"])
def test_the_reader_agrees_with_keras(real_keras: Path, name: str, suffix: str):
    rows = np.load(real_keras / "rows.npy").astype(np.float64)
    expected = np.load(real_keras / f"{name}.npy").astype(np.float64)
    network = read_keras(real_keras / f"{name}{suffix}")
    scores = network.predict(rows)
    if expected.shape[1] == 2:
        expected = expected[:, 1:]
    assert np.abs(scores - expected).max() < 1e-5


SHARED_SCORES = """
import sys
from pathlib import Path
import keras, numpy as np
for path in sorted(Path(sys.argv[1]).glob("*/*.h5")):
    model = keras.models.load_model(path, compile=False)
    width = model.input_shape[-1]
    rows = np.random.default_rng(0).integers(0, 40, (500, width)).astype("float32")
    given = rows if len(model.input_shape) == 2 else rows[:, None, :]
    np.save(Path(sys.argv[2]) / f"{path.parent.name}-{path.stem}.npy", np.asarray(model(given,
        training=False)).reshape(500, -1))
"""


@pytest.mark.shared
def test_published_networks_agree_with_keras(shared: Path, tmp_path: Path):
    command = [sys.executable, "-c", SHARED_SCORES, str(shared / "models"), str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    paths = sorted((shared / "models").glob("*/*.h5"))
    assert len(paths) >= 15
    for path in paths:
        network = read_keras(path)
        rows = np.random.default_rng(0).integers(0, 40, (500, network.n_inputs or 0)).astype(np.float64)
        expected = np.load(tmp_path / f"{path.parent.name}-{path.stem}.npy")
        assert np.abs(network.predict(rows) - expected).max() < 1e-5, path


def test_reading_imports_neither_keras_nor_tensorflow(tmp_path: Path):
    write_legacy_h5(tmp_path / "m.h5", random_network((4, 3, 1)))
    code = (
        "import sys; from pathlib import Path; from fairness_engine.models.keras.file import read_keras;"
        f"read_keras(Path({str(tmp_path / 'm.h5')!r}));"
        "assert not {'keras', 'tensorflow', 'sklearn', 'onnx', 'numba'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# --- what is refused ----------------------------------------------------------------------


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.path, "w")


def test_a_pickle_renamed_keras_is_refused_and_not_run(tmp_path: Path):
    path = tmp_path / "model.keras"
    path.write_bytes(pickle.dumps(Bomb(str(tmp_path / "ran"))))
    for allowed in (False, True):
        with pytest.raises(ModelError, match="Python pickle under another name"):
            open_model(path, numbers_schema(), unsafe_formats=allowed)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (as_layer("Lambda", function={"class_name": "__lambda__", "config": {"code": "4wEAAA=="}}), "'Lambda'"),
        (as_layer("TFSMLayer", filepath="/etc"), "'TFSMLayer'"),
        (as_layer("TorchModuleWrapper"), "'TorchModuleWrapper'"),
        (as_layer("StringLookup", vocabulary="/etc/passwd"), "reads its vocabulary from a file"),
        (as_layer("TextVectorization", vocabulary="/etc/passwd"), "reads its vocabulary from a file"),
        (as_layer("Evil"), "not a known part of Keras"),
        ({**as_layer("Dense", units=1), "module": "os"}, "not a known part of Keras"),
        ({**as_layer("Dense", units=1), "registered_name": "my_package>Dense"}, "not a known part of Keras"),
        (
            as_layer("Dense", units=1, activation={"class_name": "function", "module": "builtins", "config": "eval"}),
            "which is not an activation",
        ),
        (
            as_layer("Dense", units=1, kernel_initializer={"class_name": "run", "module": "keras.utils", "config": {}}),
            "not a known part of Keras",
        ),
        (as_layer("Dense", units=10**12), "at most 5,000,000 are allowed"),
    ],
)
@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_layers_that_could_run_code_or_read_files_are_refused(
    tmp_path: Path, layer: dict[str, Any], message: str, suffix: str
):
    dense, weights = one_layer()
    path = tmp_path / f"model{suffix}"
    if suffix == ".keras":
        write_keras(path, [layer, *dense], weights)
    else:
        write_legacy_h5(path, random_network((4, 1)), [layer, dense_config(1, 4, "sigmoid", "dense_0")])
    with pytest.raises(ModelError, match=message):
        open_model(path, numbers_schema())


def test_a_description_nested_without_end_is_refused(tmp_path: Path):
    content: Any = []
    for _ in range(200):
        content = [content]
    _, weights = one_layer()
    config = json.dumps({"class_name": "Sequential", "config": {"layers": content}}).encode()
    with pytest.raises(ModelError, match="nested deeper"):
        read_keras(write_keras(tmp_path / "m.keras", [], weights, config=config))
    with pytest.raises(ModelError, match="must be JSON"):
        read_keras(write_keras(tmp_path / "m.keras", [], weights, config=b"[" * 100_000))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (b"", "weights only"),
        (b"{", "must be JSON"),
        (b"[]", "must name a class"),
        (b'{"class_name": "Sequential", "config": {"layers": [{"class_name": "Dense"}]}}', "must list its layers"),
        (
            b'{"class_name": "Sequential", "config": {"layers": [{"class_name": 3, "config": {"name": "x"}}]}}',
            "not a known part",
        ),
    ],
)
def test_damaged_descriptions_are_refused(tmp_path: Path, config: bytes, message: str):
    with pytest.raises(ModelError, match=message):
        read_keras(write_keras(tmp_path / "m.keras", [], {}, config=config))


def test_gigabytes_declared_in_a_few_kilobytes_are_refused_at_once(tmp_path: Path):
    layers, _ = one_layer()
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file.create_dataset(
            "layers/dense/vars/0", shape=(4_000_000, 1000), dtype="f4", chunks=(1000, 1000), compression="gzip"
        )
        file.create_dataset("layers/dense/vars/1", shape=(1,), dtype="f4")
    path = write_keras(tmp_path / "m.keras", layers, {}, weights=buffer.getvalue())
    assert path.stat().st_size < 50_000
    with takes_at_most(20_000_000), pytest.raises(ModelError, match=r"declares 16\.0 GB"):
        open_model(path, numbers_schema())


def test_a_zip_bomb_is_refused_at_once(tmp_path: Path):
    path = tmp_path / "m.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", b"{}")
        archive.writestr("model.weights.h5", bytes(60_000_000))
    with takes_at_most(20_000_000), pytest.raises(ModelError, match="which no real model does"):
        open_model(path, numbers_schema())


@pytest.mark.parametrize("member", ["../evil.txt", "/etc/evil", "assets/../../x.txt", "c:\\evil", "assets\\x.txt"])
def test_members_outside_the_archive_are_refused(tmp_path: Path, member: str):
    layers, weights = one_layer()
    with pytest.raises(ModelError, match="outside itself"):
        read_keras(write_keras(tmp_path / "m.keras", layers, weights, **{member: b"x"}))


@pytest.mark.parametrize("member", ["evil.py", "assets/model.pkl", "saved.bin"])
def test_unexpected_members_are_refused(tmp_path: Path, member: str):
    layers, weights = one_layer()
    with pytest.raises(ModelError, match="does not belong to its format"):
        read_keras(write_keras(tmp_path / "m.keras", layers, weights, **{member: b"x"}))


def test_a_member_twice_or_encrypted_is_refused(tmp_path: Path):
    layers, weights = one_layer()
    path = write_keras(tmp_path / "m.keras", layers, weights)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("config.json", b"{}")
    with pytest.raises(ModelError, match="each member once"):
        read_keras(path)
    content = bytearray(write_keras(tmp_path / "n.keras", layers, weights).read_bytes())
    at = content.rindex(b"PK\x01\x02", 0, content.index(b"PK\x05\x06"))
    content[at + 8] |= 1
    (tmp_path / "n.keras").write_bytes(bytes(content))
    with pytest.raises(ModelError, match="encrypted"):
        read_keras(tmp_path / "n.keras")


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_truncated_files_are_refused(tmp_path: Path, suffix: str, share: float):
    path = tmp_path / f"m{suffix}"
    if suffix == ".keras":
        write_keras(path, *one_layer())
    else:
        write_legacy_h5(path, random_network((4, 60, 1)))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ModelError, match="cut short"):
        open_model(path, numbers_schema())


def test_links_to_other_files_are_refused(tmp_path: Path):
    network = random_network((4, 1))
    write_legacy_h5(tmp_path / "other.h5", network)
    for link in (h5py.ExternalLink("other.h5", "/model_weights"), h5py.SoftLink("/elsewhere")):
        path = tmp_path / "m.h5"
        write_legacy_h5(path, network)
        with h5py.File(path, "a") as file:
            del file["model_weights"]
            file["model_weights"] = link
        with pytest.raises(ModelError, match="links 'model_weights' to another file or place"):
            open_model(path, numbers_schema())


def test_weights_kept_in_another_file_are_refused(tmp_path: Path):
    (tmp_path / "secret.bin").write_bytes(bytes(16))
    path = tmp_path / "m.h5"
    write_legacy_h5(path, random_network((4, 1)))
    with h5py.File(path, "a") as file:
        del file["model_weights/dense_0/dense_0/kernel:0"]
        external = [(str(tmp_path / "secret.bin"), 0, 16)]
        file.create_dataset("model_weights/dense_0/dense_0/kernel:0", shape=(4, 1), dtype="f4", external=external)
    with pytest.raises(ModelError, match="keeps weights in another file"):
        open_model(path, numbers_schema())


def test_files_of_weights_only_are_refused(tmp_path: Path):
    path = tmp_path / "m.h5"
    write_legacy_h5(path, random_network((4, 1)))
    with h5py.File(path, "a") as file:
        del file.attrs["model_config"]
    with pytest.raises(ModelError, match="it holds weights only"):
        open_model(path, numbers_schema())


def test_nan_weights_and_text_for_weights_are_refused(tmp_path: Path):
    layers, weights = one_layer()
    weights["layers/dense/vars/0"] = np.array([[1.0], [np.nan], [0.0], [0.0]])
    with pytest.raises(ModelError, match="must be finite numbers"):
        read_keras(write_keras(tmp_path / "m.keras", layers, weights))
    weights["layers/dense/vars/0"] = np.array([[b"a"]] * 4)
    with pytest.raises(ModelError, match="arrays of numbers"):
        read_keras(write_keras(tmp_path / "m.keras", layers, weights))


@pytest.mark.parametrize(
    ("units", "kernel", "bias", "message"),
    [
        (2, (4, 1), (1,), "declares 2 units"),
        (1, (3, 1), (1,), "must chain"),
        (1, (4, 1), (7,), "need 1 biases"),
        (1, (4,), (1,), "declares 1 units"),
    ],
)
def test_shapes_that_do_not_chain_are_refused(
    tmp_path: Path, units: int, kernel: tuple[int, ...], bias: tuple[int, ...], message: str
):
    layers = [as_layer("InputLayer", batch_shape=[None, 4]), as_layer("Dense", units=units, activation="sigmoid")]
    weights = {"layers/dense/vars/0": np.ones(kernel), "layers/dense/vars/1": np.ones(bias)}
    with pytest.raises(ModelError, match=message):
        read_keras(write_keras(tmp_path / "m.keras", layers, weights))


def test_missing_weights_are_said(tmp_path: Path):
    layers, weights = one_layer()
    weights.pop("layers/dense/vars/1")
    with pytest.raises(ModelError, match="weights of layer 'dense' are missing"):
        read_keras(write_keras(tmp_path / "m.keras", layers, weights))
    path = tmp_path / "m.h5"
    write_legacy_h5(path, random_network((4, 1)), [dense_config(1, 4, "sigmoid", "other")])
    with pytest.raises(ModelError, match="weights of layer 'other' are missing"):
        read_keras(path)
    with h5py.File(path, "a") as file:
        del file["model_weights"]
    with pytest.raises(ModelError, match="must hold 'model_weights'"):
        read_keras(path)
    with zipfile.ZipFile(tmp_path / "n.keras", "w") as archive:
        archive.writestr("config.json", json.dumps({"class_name": "Sequential", "config": {"layers": layers}}))
    with pytest.raises(ModelError, match=r"must hold 'model\.weights\.h5'"):
        read_keras(tmp_path / "n.keras")


def test_models_that_branch_are_left_to_keras(tmp_path: Path):
    def node(name: str) -> list[list[Any]]:
        return [[[name, 0, 0, {}]]]

    row = {**as_layer("InputLayer", batch_input_shape=[None, 4]), "inbound_nodes": []}
    first = {"class_name": "Dense", "config": {"name": "x", "units": 4}, "inbound_nodes": node("inputlayer")}
    joined = {
        "class_name": "Add",
        "config": {"name": "y"},
        "inbound_nodes": [[["x", 0, 0, {}], ["inputlayer", 0, 0, {}]]],
    }
    for outputs in ([["y", 0, 0]], [["x", 0, 0], ["y", 0, 0]]):
        config = {"layers": [row, first, joined], "input_layers": [["inputlayer", 0, 0]], "output_layers": outputs}
        content = json.dumps({"class_name": "Functional", "config": config}).encode()
        with pytest.raises(UnreadArchitectureError):
            read_keras(write_keras(tmp_path / "m.keras", [], {}, config=content))


# --- what is never used, and what is declared only ----------------------------------------


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_the_loss_of_a_nested_model_never_reaches_keras(tmp_path: Path, suffix: str):
    import keras

    inner = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="gelu")])
    model = keras.Sequential([keras.Input((4,)), inner, keras.layers.Dense(1, activation="sigmoid")])
    path = tmp_path / f"model{suffix}"
    model.save(path)

    def spoil(config: dict[str, Any]) -> dict[str, Any]:
        nested = next(layer for layer in config["config"]["layers"] if layer["class_name"] == "Sequential")
        loss = {"module": "somewhere", "class_name": "Loss", "config": {}, "registered_name": "own>Loss"}
        nested["compile_config"] = {"optimizer": "adam", "loss": loss, "metrics": None}
        return config

    if suffix == ".h5":
        with h5py.File(path, "r+") as file:
            file.attrs["model_config"] = json.dumps(spoil(json.loads(file.attrs["model_config"])))
    else:
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        members["config.json"] = json.dumps(spoil(json.loads(members["config.json"]))).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
    opened = open_model(path, numbers_schema())
    rows = np.arange(20.0).reshape(5, 4)
    assert np.allclose(opened.scores(rows), np.asarray(model(rows.astype(np.float32))), atol=1e-6)


@pytest.mark.parametrize("function", [{"a": 1}, ["relu"], 3, None])
def test_a_function_that_is_no_name_is_refused(tmp_path: Path, function: Any):
    activation = {"class_name": "function", "module": "builtins", "config": function}
    layers, weights = one_layer()
    with pytest.raises(ModelError, match="which is not an activation"):
        open_model(
            write_keras(tmp_path / "m.keras", [as_layer("Dense", units=1, activation=activation), *layers], weights),
            numbers_schema(),
        )


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((90_000_000, 1), {}, "declare far more numbers than the model file holds"),
        ((90_000_000, 1), {"chunks": (100_000, 1), "compression": "gzip"}, "declare far more numbers"),
        ((2_000_000, 1), {}, "one with 4 outputs is followed by one with 2000000 inputs"),
        ((4, 600_000), {}, "declares 1 units, but its weights have shape"),
    ],
)
def test_weights_that_are_only_declared_are_not_read(
    tmp_path: Path, shape: tuple[int, ...], options: dict[str, Any], message: str
):
    layers, _ = one_layer()
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file.create_dataset("layers/dense/vars/0", shape=shape, dtype="f4", **options)
        file.create_dataset("layers/dense/vars/1", shape=(1,), dtype="f4")
    layers = [as_layer("InputLayer", batch_shape=[None, 4]), *layers]
    path = write_keras(tmp_path / "m.keras", layers, {}, weights=buffer.getvalue())
    with takes_at_most(5_000_000), pytest.raises(ModelError, match=message):
        open_model(path, numbers_schema())


def test_a_row_of_a_million_numbers_makes_no_matrix(tmp_path: Path):
    layers = [as_layer("InputLayer", batch_shape=[None, 1_000_000]), as_layer("ReLU")]
    with pytest.raises(ModelError, match="or take at most 20,000 inputs, but its file declares 1,000,000"):
        open_model(write_keras(tmp_path / "m.keras", layers, {"x": np.zeros(1)}), numbers_schema())


LONG = "n" * 100_000


@pytest.mark.parametrize(
    ("layer", "kernel"),
    [
        ({"class_name": "Dense", "config": {"name": LONG, "units": 2}}, (4, 1)),
        (as_layer("Dense", units=LONG), (4, 1)),
        (as_layer("Dense", units=1, batch_input_shape=[[LONG]] * 2), (4, 1)),
        (as_layer("Dense", units=1), (1,) * 30),
        (as_layer(LONG), (4, 1)),
        (as_layer("Dense", units=1, activation={"class_name": "function", "config": [LONG]}), (4, 1)),
    ],
)
def test_what_a_file_says_is_quoted_in_part(tmp_path: Path, layer: dict[str, Any], kernel: tuple[int, ...]):
    path = write_keras(tmp_path / "m.keras", [layer], {"layers/dense/vars/0": np.ones(kernel)})
    with pytest.raises(ModelError) as caught:
        open_model(path, numbers_schema())
    assert len(str(caught.value)) <= 300
