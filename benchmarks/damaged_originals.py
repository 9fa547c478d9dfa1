"""Small honest files of every format that is opened, made anew: what ``damage.py`` changes."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]  # joblib ships no types
import numpy as np
import onnx
import pandas as pd
import skops.io
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomTreesEmbedding,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.groups.identity_terms.terms import default_terms, terms_json
from fairness_engine.oracle.domain import Scope
from fairness_engine.pairs import Pairs
from fairness_engine.runs.kinds import SEARCH
from fairness_engine.store.pairs_file import write_pairs
from fairness_engine.store.run_config import RunConfig

NAMES = ("a", "b", "c", "d")
SCHEMA = Schema(
    (
        *(Column(name, Kind.INTEGER, minimum=0, maximum=9) for name in NAMES),
        Column("label", Kind.CATEGORICAL, codes=(0, 1), labels=("no", "yes")),
    ),
    label="label",
    favourable=1,
    protected=("a",),
)
SCOPE = Scope(("a",))
TEXT_SCHEMA = Schema(
    (
        Column("said", Kind.TEXT),
        Column("verdict", Kind.CATEGORICAL, codes=("toxic", "fine"), labels=("toxic", "fine")),
    ),
    label="verdict",
    favourable="fine",
)
TEXT_SCOPE = Scope(("said",))
_RNG = np.random.default_rng(5)
_ROWS = _RNG.integers(0, 10, (120, 4)).astype(np.float64)
_LABELS = (_ROWS[:, 0] + _ROWS[:, 1] > _ROWS[:, 2] + 5).astype(int)
_FRAME = pd.DataFrame(_ROWS, columns=list(NAMES))
DATA = pd.DataFrame(_ROWS.astype(int), columns=list(NAMES)).assign(label=_LABELS).to_csv(index=False).encode()
TEXTS = (
    "a lovely day",
    "I like this",
    "thank you all",
    "a fine day",
    "a horrid day",
    "I hate this",
    "shame on you all",
)
_VERDICTS = ("fine",) * 4 + ("toxic",) * 3
TEXT_DATA = pd.DataFrame({"said": TEXTS, "verdict": _VERDICTS}).to_csv(index=False).encode()


@dataclass(frozen=True)
class Original:
    """An honest file.

    Args:
        name: with the suffix of its format.
        content: of the file.
    """

    name: str
    content: bytes


def _estimators() -> dict[str, Any]:
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    line = LogisticRegression()
    every = ColumnTransformer(
        [
            ("one", OneHotEncoder(handle_unknown="ignore"), ["a"]),
            ("order", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["b"]),
            ("bins", make_pipeline(SimpleImputer(), KBinsDiscretizer(3)), ["c"]),
            ("near", make_pipeline(KNNImputer(), QuantileTransformer(n_quantiles=10)), ["d"]),
        ]
    )
    return {
        "tree": tree,
        "forest": RandomForestClassifier(3, max_depth=3, random_state=0),
        "extra": ExtraTreesClassifier(2, max_depth=3, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=3, max_depth=2),
        "histograms": HistGradientBoostingClassifier(max_iter=2, max_depth=3),
        "categories": HistGradientBoostingClassifier(max_iter=2, max_depth=3, categorical_features=[0, 2]),
        "ada": AdaBoostClassifier(tree, n_estimators=2),
        "bagging": BaggingClassifier(tree, n_estimators=2),
        "kd": KNeighborsClassifier(3, algorithm="kd_tree", leaf_size=10),
        "ball": KNeighborsClassifier(3, algorithm="ball_tree", leaf_size=10),
        "brute": KNeighborsClassifier(3, algorithm="brute"),
        "radius": RadiusNeighborsClassifier(5.0, algorithm="brute", outlier_label=0),
        "svc": SVC(),
        "nusvc": NuSVC(nu=0.2, kernel="poly"),
        "linear svc": LinearSVC(),
        "line": line,
        "bayes": GaussianNB(),
        "network": MLPClassifier((4,), max_iter=20),
        "pipeline": make_pipeline(every, line),
        "target": make_pipeline(ColumnTransformer([("t", TargetEncoder(cv=2), ["a", "b"])]), tree),
        "powers": make_pipeline(StandardScaler(), PolynomialFeatures(2), line),
        "leaves": make_pipeline(RandomTreesEmbedding(3, max_depth=2, random_state=0), line),
        "vote": VotingClassifier([("line", line), ("tree", tree)], voting="soft"),
        "stack": StackingClassifier([("line", line), ("bayes", GaussianNB())], final_estimator=tree, cv=2),
        "calibrated": CalibratedClassifierCV(tree, cv=2, method="isotonic"),
    }


@cache
def _fitted() -> dict[str, Any]:
    named = ("pipeline", "target")
    return {name: clone(e).fit(_FRAME if name in named else _ROWS, _LABELS) for name, e in _estimators().items()}


def of_skops() -> list[Original]:
    return [Original(f"{name}.skops", skops.io.dumps(each)) for name, each in _fitted().items()]


def of_skops_texts() -> list[Original]:
    line = LogisticRegression(C=50.0)
    pipelines = {
        "tfidf": make_pipeline(TfidfVectorizer(), line),
        "hashing": make_pipeline(HashingVectorizer(n_features=64), SGDClassifier(random_state=0)),
        "counts": make_pipeline(CountVectorizer(ngram_range=(1, 2)), RandomForestClassifier(3, random_state=0)),
        "sparse": make_pipeline(CountVectorizer(), SVC()),
        "near": make_pipeline(TfidfVectorizer(), KNeighborsClassifier(2)),
    }
    return [Original(f"{name}.skops", skops.io.dumps(e.fit(TEXTS, _VERDICTS))) for name, e in pipelines.items()]


def of_pickles(suffix: str, save: Callable[[Any, Any], Any]) -> list[Original]:
    originals = []
    for name, each in _fitted().items():
        stream = io.BytesIO()
        save(each, stream)
        originals.append(Original(f"{name}{suffix}", stream.getvalue()))
    return originals


def of_onnx() -> list[Original]:
    """What sklearn-onnx writes, a chain of dense layers, one of several inputs, one with a branch."""
    from skl2onnx import to_onnx  # type: ignore[import-untyped]  # it ships no types

    kinds = ("tree", "forest", "boosting", "svc", "line", "network", "brute", "bayes", "powers")
    row = _ROWS[:1].astype(np.float32)
    originals = []
    for name, each in _fitted().items():
        if name in kinds:
            for zipmap in (False, True) if name in ("forest", "line") else (False,):
                model = to_onnx(each, row, options={id(each): {"zipmap": zipmap}})
                originals.append(Original(f"{name} {zipmap}.onnx", model.SerializeToString()))
    return [
        *originals,
        Original("dense.onnx", _dense()),
        Original("inputs.onnx", _inputs()),
        Original("if.onnx", _if()),
    ]


def _onnx(nodes: list[Any], inputs: list[Any], tensors: dict[str, Any]) -> bytes:
    helper = onnx.helper
    scores = helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, [None, 1])
    weights = [onnx.numpy_helper.from_array(value, name) for name, value in tensors.items()]
    graph = helper.make_graph(nodes, "g", inputs, [scores], weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString())


def _float(*shape: int) -> Any:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


def _row(name: str, kind: int, *tail: int) -> Any:
    return onnx.helper.make_tensor_value_info(name, kind, ["n", *tail])


def _dense() -> bytes:
    node = onnx.helper.make_node
    nodes = [
        node("Gemm", ["rows", "w", "b"], ["h"]),
        node("Relu", ["h"], ["r"]),
        node("MatMul", ["r", "v"], ["s"]),
        node("Sigmoid", ["s"], ["scores"]),
    ]
    return _onnx(nodes, [_row("rows", 1, 4)], {"w": _float(4, 5), "b": _float(5), "v": _float(5, 1)})


def _inputs() -> bytes:
    """One input a column; a table is gathered from by the first."""
    node = onnx.helper.make_node
    nodes = [
        node("Gather", ["table", "a"], ["e"], axis=0),
        node("Reshape", ["e", "shape"], ["f"]),
        node("Cast", ["b"], ["g"], to=1),
        node("Concat", ["f", "g", "c", "d"], ["h"], axis=1),
        node("MatMul", ["h", "w"], ["s"]),
        node("Sigmoid", ["s"], ["scores"]),
    ]
    inputs = [_row("a", 7, 1), _row("b", 7, 1), _row("c", 1, 1), _row("d", 1, 1)]
    return _onnx(nodes, inputs, {"table": _float(10, 3), "shape": np.array([-1, 3]), "w": _float(6, 1)})


def _if() -> bytes:
    helper = onnx.helper
    out = helper.make_tensor_value_info("y", 1, None)
    weights = onnx.numpy_helper.from_array(_float(4, 1), "w")
    branch = helper.make_graph([helper.make_node("MatMul", ["rows", "w"], ["y"])], "b", [], [out], [weights])
    nodes = [
        helper.make_node("If", ["yes"], ["s"], then_branch=branch, else_branch=branch),
        helper.make_node("Sigmoid", ["s"], ["scores"]),
    ]
    return _onnx(nodes, [_row("rows", 1, 4)], {"yes": np.array(True)})


def of_keras() -> list[Original]:
    """Chains of dense layers that are read without Keras, and what Keras itself evaluates; ``.keras`` and ``.h5``."""
    import keras

    layers = keras.layers
    rows = keras.Input((4,))
    scaled = layers.Normalization(mean=[4.5] * 4, variance=[8.0] * 4)(rows)
    nested = keras.Sequential([keras.Input((4,)), layers.Dense(3, "relu"), layers.BatchNormalization()])(scaled)
    chain = keras.Model(rows, layers.Dense(1, "sigmoid")(nested))
    plain = keras.Sequential([keras.Input((4,)), layers.Dense(4, "relu"), layers.Dense(2, "softmax")])
    joined = layers.Concatenate()([layers.Dense(2, "tanh")(rows), layers.Dense(2)(rows)])
    branched = keras.Model(rows, layers.Dense(1, "sigmoid")(joined))
    originals = []
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".keras", ".h5"):
            for name, model in {"chain": chain, "plain": plain, "branched": branched}.items():
                path = Path(folder) / f"{name}{suffix}"
                model.save(path)
                originals.append(Original(path.name, path.read_bytes()))
    return originals


def of_keras_texts() -> list[Original]:
    import keras

    layers = keras.layers
    words = layers.TextVectorization(max_tokens=50, output_sequence_length=6)
    words.adapt(list(TEXTS))
    said = keras.Input((1,), dtype="string")
    pooled = layers.GlobalAveragePooling1D()(layers.Embedding(50, 4)(words(said)))
    model = keras.Model(said, layers.Dense(1, "sigmoid")(pooled))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.keras"
        model.save(path)
        return [Original(path.name, path.read_bytes())]


def of_nnet() -> list[Original]:
    lines = ["// a network", "2,4,1,4,", "4,3,1,", "0,", *["0,0,0,0,"] * 4]
    lines += ["1.0,-2.5e-1,0.5,0.25,"] * 3 + ["0.5,"] * 3 + ["1,-1,2,", "-0.5,"]
    return [Original("m.nnet", "\n".join(lines).encode())]


def of_csv() -> list[Original]:
    texts = (
        DATA,
        b"age,sex,job,label\n31,F,clerk,yes\n45,M,None,no\n28,F,?,no\n60,M,nurse,yes\n33,F,clerk,no\n",
        b"a;b;c\n1,5;x;1\n2,5;y;0\n3,25;x;1\n",
        'name,b\n"x, y",1\n"say ""z""",2\nÜ,3\n'.encode(),
        b"a\tb\n1\tu\n2\tv\n3\tu\n",
        TEXT_DATA,
    )
    return [Original(f"{i}.csv", text) for i, text in enumerate(texts)]


def of_schemas(root: Path) -> list[Original]:
    files = sorted((root / "sample_data").glob("*.schema.json"))
    return [
        Original("own.json", json.dumps(SCHEMA.to_json()).encode()),
        *(Original(f.name, f.read_bytes()) for f in files),
    ]


def of_terms() -> list[Original]:
    terms = default_terms()
    table = "category,term\n" + "".join(f"{category},{word}\n" for category, words in terms for word in words[:3])
    return [Original("terms.json", terms_json(terms).encode()), Original("terms.csv", table.encode())]


def of_answers() -> list[Original]:
    scores = "".join(f"{0.5 + 0.001 * i:.6f}\n" for i in range(120))
    decisions = "".join(f"{i % 2}\n" for i in range(120))
    return [Original("scores.csv", f"score\n{scores}".encode()), Original("d.csv", f"decision\n{decisions}".encode())]


def pairs_config() -> RunConfig:
    return SEARCH.config("data", "model", SCHEMA, SCOPE, technique="random")


def of_pairs() -> list[Original]:
    first = _ROWS[:40]
    second = first.copy()
    second[:, 0] = 9 - second[:, 0]
    score = np.random.default_rng(2).random(40)
    code = np.arange(40) % 2
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.parquet"
        write_pairs(path, Pairs(first, second, score, 1 - score, code, 1 - code, np.arange(40)), pairs_config())
        return [Original(path.name, path.read_bytes())]


def of_joblib() -> list[Original]:
    return of_pickles(".joblib", joblib.dump)
