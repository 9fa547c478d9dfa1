"""Files of models that are not opened, each told by its content or suffix, with the lines of code that make one that is."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import PurePath

from fairness_engine.errors import ModelError

_FLOATS = "from onnxmltools.convert.common.data_types import FloatTensorType"
_WRITE = 'open("model.onnx", "wb").write(onnx_model.SerializeToString())'

XGBOOST_RECIPE = f"""# pip install xgboost onnxmltools
import onnxmltools, xgboost
{_FLOATS}
model = xgboost.XGBClassifier()
model.load_model("FILE")
model.get_booster().feature_names = None  # onnxmltools takes numbered inputs only: keep the order of the columns
onnx_model = onnxmltools.convert_xgboost(model, initial_types=[("row", FloatTensorType([None, model.n_features_in_]))])
{_WRITE}"""
LIGHTGBM_RECIPE = f"""# pip install lightgbm onnxmltools
import lightgbm, onnxmltools
{_FLOATS}
model = lightgbm.Booster(model_file="FILE")
onnx_model = onnxmltools.convert_lightgbm(model, initial_types=[("row", FloatTensorType([None, model.num_feature()]))])
{_WRITE}"""
CATBOOST_RECIPE = """# pip install catboost; without categorical features, which CatBoost does not export
from catboost import CatBoostClassifier
model = CatBoostClassifier().load_model("FILE")
model.save_model("model.onnx", format="onnx")"""
TORCH_RECIPE = """# pip install torch onnx; where the network's class is at hand
import torch
model.eval()  # the trained network
row = torch.zeros(1, 12)  # one row: as many numbers as the network takes
torch.onnx.export(model, (row,), "model.onnx", input_names=["row"], output_names=["score"],
                  dynamic_axes={"row": {0: "n"}, "score": {0: "n"}}, dynamo=False)"""
SAVED_MODEL_RECIPE = """# pip install tf_keras; where TensorFlow is at hand
import tf_keras
model = tf_keras.models.load_model("FOLDER")
model.save("model.h5")"""
TFLITE_RECIPE = """# where the network was trained: the file that was made into this one
model.save("model.keras")"""
PICKLE_RECIPE = """# pip install skops; with the scikit-learn that the model was trained with
import joblib, skops.io
model = joblib.load("FILE")  # only a file of your own: this runs its code
skops.io.dump(model, "model.skops")"""
CODE_RECIPE = """# at the end of the code, once the model is trained
import skops.io  # pip install skops
skops.io.dump(model, "model.skops")  # scikit-learn
model.save("model.keras")  # or Keras"""
PMML_RECIPE = """# where the model was trained with scikit-learn (sklearn2pmml): the pipeline itself
import skops.io  # pip install skops
from sklearn.pipeline import Pipeline
skops.io.dump(Pipeline(pipeline.steps), "model.skops")"""
R_RECIPE = """# in R: a column of the model's decisions, for Groups, which need no model
model <- readRDS("FILE")
data <- read.csv("data.csv")
data$predicted <- ifelse(predict(model, data, type = "response") > 0.5, "yes", "no")
write.csv(data, "data_with_predictions.csv", row.names = FALSE)"""
H2O_RECIPE = """# pip install h2o onnxmltools; gradient boosting (GBM) only
import onnxmltools
onnx_model = onnxmltools.convert_h2o("FILE")
open("model.onnx", "wb").write(onnx_model.SerializeToString())"""


@dataclass(frozen=True)
class _Refused:
    """One format.

    Args:
        says: what it is, and what to do, without a full stop.
        recipe: lines of code; FILE stands for the file's name, FOLDER for that of the folder that it was packed from.
        suffixes: of files whose content does not tell.
        is_so: whether the first bytes, and the members of an archive, tell it.
    """

    says: str
    recipe: str
    suffixes: tuple[str, ...] = ()
    is_so: Callable[[bytes, Collection[str]], bool] = lambda head, members: False  # noqa: ARG005 - as the others


def _has(members: Collection[str], *ends: str) -> bool:
    return any(name.endswith(ends) for name in members)


_FORMATS = (
    _Refused(
        "This is a TensorFlow SavedModel, which can run code on load and is refused. Save the model as one file for Keras",
        SAVED_MODEL_RECIPE,
        (".pb",),
        lambda _, members: _has(members, "saved_model.pb"),
    ),
    _Refused(
        "This is a PyTorch file, which can run code on load and is refused. Export the model as .onnx",
        TORCH_RECIPE,
        (".pt", ".pth", ".ckpt", ".safetensors"),
        lambda _, members: _has(members, "data.pkl", "constants.pkl"),
    ),
    _Refused(
        "This is a MOJO file of H2O, which is not opened. Convert the model to .onnx",
        H2O_RECIPE,
        (".mojo",),
        lambda _, members: "model.ini" in members,
    ),
    _Refused(
        "This is a model of XGBoost, which is not opened as it is. Convert it to .onnx",
        XGBOOST_RECIPE,
        (".ubj", ".model", ".xgb", ".bst"),
        lambda head, _: (head.lstrip()[:1] == b"{" and b"learner" in head[:64]) or head.startswith(b"binf"),
    ),
    _Refused(
        "This is a model of LightGBM, which is not opened as it is. Convert it to .onnx",
        LIGHTGBM_RECIPE,
        (".lgb", ".lgbm"),
        lambda head, _: head.replace(b"\r", b"").startswith(b"tree\nversion="),
    ),
    _Refused(
        "This is a model of CatBoost, which is not opened as it is. Save it as .onnx",
        CATBOOST_RECIPE,
        (".cbm",),
        lambda head, _: head.startswith(b"CBM1"),
    ),
    _Refused(
        "This is a PMML file, which is not opened. Save the model that it was made of as .skops or .onnx",
        PMML_RECIPE,
        (".pmml",),
        lambda head, _: b"<PMML" in head,
    ),
    _Refused(
        "This is a TensorFlow Lite file, which is not opened. Save the network that it was made of as .keras",
        TFLITE_RECIPE,
        (".tflite", ".lite"),
        lambda head, _: head[4:8] == b"TFL3",
    ),
    _Refused(
        "This is code that makes a model, and code is never run here. Run it yourself, and save the trained model as .skops, .keras or .onnx",
        CODE_RECIPE,
        (".py", ".ipynb"),
        lambda head, _: head.lstrip().startswith(b"{") and b'"cells"' in head and b"cell_type" in head,
    ),
    _Refused(
        "This is a file of R, which only R can open. Groups need no model: write its decisions into a column of the data, and choose that "
        "instead of a model",
        R_RECIPE,
        (".rds", ".rda", ".rdata"),
        lambda head, _: head.startswith((b"RDX", b"RDA")),
    ),
)


def refusal(name: str, head: bytes, members: Collection[str]) -> ModelError | None:
    """The error for a file of a known format that is not opened; ``None`` for any other file.

    Args:
        name: as uploaded.
        head: its first bytes, some thousand.
        members: of an archive, else empty.
    """
    suffix = PurePath(name).suffix.lower()
    for known in (
        *(each for each in _FORMATS if each.is_so(head, members)),
        *(each for each in _FORMATS if suffix in each.suffixes),
    ):
        return ModelError(f"{known.says}.", recipe=filled(known.recipe, name))
    return None


def filled(recipe: str, name: str) -> str:
    """A recipe with the file's own name, as far as it can stand between quotes."""
    plain = "".join(character for character in name if character.isprintable() and character not in "\"'\\")[-120:]
    return recipe.replace("FILE", plain or "model").replace("FOLDER", PurePath(plain).stem or "model")


def recipe_for_type(name: str) -> str:
    """The recipe for an object inside a skops file that scikit-learn does not know, by its type; empty without one."""
    recipes = {"xgboost": XGBOOST_RECIPE, "lightgbm": LIGHTGBM_RECIPE, "catboost": CATBOOST_RECIPE}
    saves = {
        "xgboost": 'model.save_model("model.json")  # first, where the model was trained\n',
        "lightgbm": 'model.booster_.save_model("model.txt")  # first, where the model was trained\n',
        "catboost": 'model.save_model("model.cbm")  # first, where the model was trained\n',
    }
    files = {"xgboost": "model.json", "lightgbm": "model.txt", "catboost": "model.cbm"}
    library = name.split(".", maxsplit=1)[0]
    return saves[library] + filled(recipes[library], files[library]) if library in recipes else ""
