"""Exports by the real tools: scikit-learn with skops, skl2onnx and Keras, with names, words and inputs of their own
types.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from models.export_bank import (
    CATEGORIES,
    COLUMNS,
    NUMBERS,
    Bank,
    Case,
    Maker,
    coded,
    file_of,
)

# --- files with names, by scikit-learn and skl2onnx ---------------------------------------------


def _fitted(bank: Bank, table: Any, estimator: Any, target: Any = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = bank.frame["bewilligt"].to_numpy() if target is None else target
        return estimator.fit(table[bank.is_train], own[bank.is_train])


def _share_of_ja(estimator: Any, table: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shares_by_class = estimator.predict_proba(table)
    return shares_by_class[:, [str(each) in ("ja", "1") for each in estimator.classes_].index(True)]


def skops_case(name: str, bank: Bank, folder: Path, what: str) -> Case:
    """A pipeline or a bare estimator of scikit-learn, saved with skops; its classes are 'ja' and 'nein', or 0 and 1
    where that is said.
    """
    import skops.io
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    target = None
    class_1 = "nein"
    linear: Any = LogisticRegression(max_iter=400)
    if what.startswith("dummies"):
        table: Any = bank.inputs[bank.orders("numbers first")]
        if "scaled outside" in what:
            shift, scale = bank.scaler(table, "standard")
            table = (table - shift) / scale
        if "0/1" in what:
            target = bank.is_granted.astype(int)
            class_1 = "ja"
        if "array" in what:
            table = table.to_numpy()
        estimator = _pipeline(("scale", StandardScaler()), ("model", linear)) if "scaler inside" in what else linear
        if "logarithm" in what:
            table = table.assign(Einkommen=np.log1p(table["Einkommen"]))
    elif what.startswith("codes"):
        table = coded(bank, what.removeprefix("codes "))
        estimator = _pipeline(("scale", StandardScaler()), ("model", linear))
    else:
        table = _file_frame(bank)
        order = [*NUMBERS, *CATEGORIES] if "numbers first" in what else list(COLUMNS)
        table = table[order].copy()
        if "PLZ as a number" in what:
            table = table.assign(PLZ=table["PLZ"].astype(int))
        if "scaled outside" in what:
            own = table[list(NUMBERS)]
            table[list(NUMBERS)] = (own - own[bank.is_train].mean()) / own[bank.is_train].std(ddof=0)
        if "array" in what:
            estimator = _column_pipeline(order, by_place=True, what=what)
            table = table.to_numpy(dtype=object)
        else:
            estimator = _column_pipeline(order, by_place=False, what=what)
    fitted = _fitted(bank, table, estimator, target)
    path = file_of(folder, name, ".skops")
    skops.io.dump(fitted, path)
    return Case(name, path, _share_of_ja(fitted, table), class_1=class_1)


def _pipeline(*steps: tuple[str, Any]) -> Any:
    from sklearn.pipeline import Pipeline

    return Pipeline(list(steps))


def _file_frame(bank: Bank) -> pd.DataFrame:
    """The columns as an author reads them, texts as text."""
    return bank.frame[list(COLUMNS)].astype(dict.fromkeys(CATEGORIES, object))


def _column_pipeline(order: Sequence[str], *, by_place: bool, what: str) -> Any:
    """Imputers, a scaler and an encoder by column, and a model."""
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    is_number = [name in NUMBERS or (name == "PLZ" and "PLZ as a number" in what) for name in order]
    places = [i if by_place else name for i, name in enumerate(order)]
    numbers = [place for place, wanted in zip(places, is_number, strict=True) if wanted]
    texts = [place for place, wanted in zip(places, is_number, strict=True) if not wanted]
    if "boosting" in what:
        encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
        steps = ColumnTransformer([("numbers", "passthrough", numbers), ("texts", encode, texts)])
        return _pipeline(("columns", steps), ("model", HistGradientBoostingClassifier(max_iter=20, random_state=0)))
    of_numbers = _pipeline(("fill", SimpleImputer(add_indicator=True)), ("scale", StandardScaler()))
    of_texts = _pipeline(
        ("fill", SimpleImputer(strategy="most_frequent")), ("encode", OneHotEncoder(handle_unknown="ignore"))
    )
    if "scaled outside" in what:
        of_numbers = SimpleImputer()
    steps = ColumnTransformer([("numbers", of_numbers, numbers), ("texts", of_texts, texts)])
    return _pipeline(("columns", steps), ("model", LogisticRegression(max_iter=400)))


def onnx_case(name: str, bank: Bank, folder: Path, what: str) -> Case:
    """A model of scikit-learn exported by skl2onnx: one typed input a column, or all as one matrix of numbers."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    if what.startswith("columns"):
        frame = _file_frame(bank)
        frame[list(NUMBERS)] = frame[list(NUMBERS)].astype(np.float32)
        steps = ColumnTransformer(
            [
                ("numbers", StandardScaler(), list(NUMBERS)),
                ("texts", OneHotEncoder(handle_unknown="ignore"), list(CATEGORIES)),
            ]
        )
        fitted = _fitted(bank, frame, _pipeline(("columns", steps), ("model", LogisticRegression(max_iter=400))))
        types = [
            (each, FloatTensorType([None, 1]) if each in NUMBERS else StringTensorType([None, 1])) for each in COLUMNS
        ]
        given: Any = frame
        model = to_onnx(fitted, initial_types=types, options={"zipmap": "zipmap" in what})
    else:
        table = bank.inputs[bank.orders("numbers first")].to_numpy(np.float32)
        fitted = _fitted(
            bank, table, _pipeline(("scale", StandardScaler()), ("model", LogisticRegression(max_iter=400)))
        )
        given = table
        model = to_onnx(fitted, table[:1], options={"zipmap": "zipmap" in what})
    path = file_of(folder, name, ".onnx")
    path.write_bytes(model.SerializeToString())
    return Case(name, path, _share_of_ja(fitted, given), class_1="nein")


FILES_WITH_NAMES: dict[str, Maker] = {
    name: partial(skops_case, what=what)
    for name, what in {
        "skops, dummies, frame": "dummies",
        "skops, dummies, frame, 0/1": "dummies 0/1",
        "skops, dummies, frame, scaled outside": "dummies scaled outside",
        "skops, dummies, frame, income as a logarithm": "dummies scaler inside logarithm",
        "skops, dummies, array": "dummies array",
        "skops, dummies, array, scaler inside, 0/1": "dummies array scaler inside 0/1",
        "skops, codes of OrdinalEncoder outside": "codes sorted",
        "skops, codes of factorize outside": "codes by appearance",
        "skops, pipeline of columns": "pipeline",
        "skops, pipeline of columns, PLZ as a number": "pipeline PLZ as a number",
        "skops, pipeline of columns, scaled outside": "pipeline scaled outside",
        "skops, pipeline of columns, array": "pipeline array",
        "skops, pipeline of columns, array, numbers first": "pipeline array numbers first",
        "skops, boosting on histograms": "boosting",
        "skops, boosting on histograms, array": "boosting array",
    }.items()
} | {
    "skl2onnx, an input a column": partial(onnx_case, what="columns"),
    "skl2onnx, an input a column, zipmap": partial(onnx_case, what="columns zipmap"),
    "skl2onnx, one matrix": partial(onnx_case, what="matrix"),
    "skl2onnx, one matrix, zipmap": partial(onnx_case, what="matrix zipmap"),
}


# --- networks with inputs of their own types, by Keras -------------------------------------------


def keras_case(name: str, bank: Bank, folder: Path, what: str) -> Case:
    """A network trained by Keras for three epochs: a vector, or numbers beside words, codes or blocks."""
    import keras
    from keras import layers

    keras.utils.set_random_seed(3)
    numbers = bank.frame[list(NUMBERS)].astype(np.float32)
    train = bank.is_train
    if what == "vector":
        values = {"x": bank.inputs[bank.orders("numbers first")].to_numpy(np.float32)}
        scale = layers.Normalization()
        scale.adapt(values["x"][train])
        network = keras.Sequential(
            [keras.Input((88,), name="x"), scale, layers.Dense(8, "relu"), layers.Dense(1, "sigmoid")]
        )
    else:
        values = {}
        entrances = []
        joined = []
        if "blocks" in what:
            order = list(NUMBERS)[::-1] if "reversed" in what else list(NUMBERS)
            block = numbers[order].to_numpy()
            if "scaled outside" in what:
                block = (block - block[train].mean(axis=0)) / block[train].std(axis=0)
            entrance = keras.Input((len(order),), name="zahlen")
            scale = layers.Normalization()
            scale.adapt(block[train])
            values["zahlen"] = block
            entrances.append(entrance)
            joined.append(entrance if "scaled outside" in what else scale(entrance))
        else:
            for each in NUMBERS:
                column = numbers[[each]].to_numpy()
                entrance = keras.Input((1,), name=_keras_name(each))
                scale = layers.Normalization()
                scale.adapt(column[train])
                values[entrance.name] = column
                entrances.append(entrance)
                joined.append(scale(entrance))
        codes = coded(bank, "by appearance" if "by appearance" in what else "sorted")
        for each in CATEGORIES:
            known = sorted(bank.frame[each].unique())
            if "words" in what:
                entrance = keras.Input((1,), name=_keras_name(each), dtype="string")
                values[entrance.name] = bank.frame[[each]].to_numpy(object)
                look_up = layers.StringLookup(vocabulary=known, output_mode="one_hot")
                joined.append(look_up(entrance))
            elif "one-hot" in what:
                continue
            else:
                entrance = keras.Input((1,), name=_keras_name(each), dtype="int32")
                values[entrance.name] = codes[[each]].to_numpy(np.int32)
                joined.append(layers.Flatten()(layers.Embedding(len(known), 3)(entrance)))
            entrances.append(entrance)
        if "one-hot" in what:
            rest = [each for each in bank.inputs.columns if each not in NUMBERS]
            entrance = keras.Input((len(rest),), name="kategorien")
            values["kategorien"] = bank.inputs[rest].to_numpy(np.float32)
            entrances.append(entrance)
            joined.append(entrance)
        hidden = layers.Dense(8, "relu")(layers.Concatenate()(joined))
        network = keras.Model(entrances, layers.Dense(1, "sigmoid")(hidden))
    import tensorflow as tf

    tensors = {key: tf.constant(value.tolist() if value.dtype == object else value) for key, value in values.items()}
    given: Any = tensors["x"] if what == "vector" else tensors
    chosen = np.flatnonzero(train)
    network.compile(keras.optimizers.Adam(0.01), "binary_crossentropy")
    data = tf.data.Dataset.from_tensor_slices(
        (
            tf.nest.map_structure(lambda value: tf.gather(value, chosen), given),
            bank.is_granted[train].astype(np.float32),
        )
    )
    network.fit(data.batch(64), epochs=3, verbose=0, shuffle=False)
    path = file_of(folder, name, ".keras")
    network.save(path)
    return Case(name, path, np.asarray(network(given, training=False), dtype=float)[:, 0])


def _keras_name(column: str) -> str:
    """A column's name as Keras takes it for an input."""
    return "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in column)


FILES_OF_KERAS: dict[str, Maker] = {
    name: partial(keras_case, what=what)
    for name, what in {
        "Keras, vector with Normalization": "vector",
        "Keras, an input a column, words looked up": "columns, words",
        "Keras, an input a column, embeddings of sorted codes": "columns, embeddings",
        "Keras, an input a column, embeddings of codes by appearance": "columns, embeddings by appearance",
        "Keras, block of numbers, words looked up": "blocks, words",
        "Keras, block of numbers reversed, words looked up": "blocks reversed, words",
        "Keras, block of numbers scaled outside, words looked up": "blocks scaled outside, words",
        "Keras, block of numbers, block of one-hot": "blocks, one-hot",
    }.items()
}
