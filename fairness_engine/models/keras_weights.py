"""The weights of one layer, as the two layouts of Keras files keep them."""

from __future__ import annotations

from typing import Any, Protocol

from fairness_engine.errors import ModelError
from fairness_engine.events import FloatArray
from fairness_engine.models.hdf5 import read_floats
from fairness_engine.models.keras_config import LayerConfig


class Weights(Protocol):
    """Where the weights of layers are read from."""

    def read(self, layer: LayerConfig, names: tuple[str, ...]) -> list[FloatArray]:
        """The variables of a layer, in the order asked for."""
        ...


class ArchiveWeights:
    """Weights of a ``.keras`` archive: numbered variables in the group of a layer."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self, layer: LayerConfig, names: tuple[str, ...]) -> list[FloatArray]:
        older = layer.archive_path.replace("layers/", "_layer_checkpoint_dependencies/")
        for path in (layer.archive_path, older):
            if f"{path}/vars" in self._file:
                variables = self._file[f"{path}/vars"]
                if all(str(i) in variables for i in range(len(names))):
                    return [read_floats(variables[str(i)]) for i in range(len(names))]
        raise ModelError(f"The weights of layer '{layer.name}' are missing from the model file. Save the model again.")


class LegacyWeights:
    """Weights of a legacy ``.h5`` file: named variables, grouped by the outermost layer."""

    def __init__(self, group: Any) -> None:
        self._group = group

    def read(self, layer: LayerConfig, names: tuple[str, ...]) -> list[FloatArray]:
        if layer.group in self._group:
            group = self._group[layer.group]
            found = {}
            for raw in group.attrs.get("weight_names", ()):
                path = raw.decode("utf-8") if isinstance(raw, bytes) else str(raw)
                parts = path.split(":")[0].split("/")
                if layer.group == layer.name or layer.name in parts[:-1]:
                    found[parts[-1]] = path
            if all(name in found for name in names):
                return [read_floats(group[found[name]]) for name in names]
        raise ModelError(f"The weights of layer '{layer.name}' are missing from the model file. Save the model again.")
