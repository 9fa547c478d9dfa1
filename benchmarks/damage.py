"""Changes that know what they change: bytes, members of archives, fields of JSON and protobuf, arrays, tables, objects.

Each takes the content of an honest file and a generator of random numbers, and gives other content: one to three faults
of one kind. What reads such files is ``damaged_files.py``, and a sample of them is a test.
"""

from __future__ import annotations

import copy
import io
import json
import pickle
import re
import zipfile
from collections.abc import Callable
from typing import Any

import h5py
import joblib  # type: ignore[import-untyped]  # joblib ships no types
import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq

Rng = np.random.Generator
Change = Callable[[bytes, Rng], bytes]

_WHOLE = (-1, 0, 1, 2, 3, 7, 100, 65_536, 10**6, 2**31 - 1, -(2**31), 2**40, 2**63 - 1)
_REAL = (0.0, -1.0, 1e-300, 1e300, -1e300, float("nan"), float("inf"), float("-inf"))
_WORDS = (
    "",
    "a",
    "None",
    "nan",
    "\0",
    "../x",
    "/etc/passwd",
    "sklearn",
    "x" * 5_000,
    "é\u202e\u0000",
    "1_0",
    "１",
    "Lambda",
    "\udc86",
)
_TOKENS = (
    *(",", ";", '"', '""', "\n", "\r", "\t", "\0", "\ufeff", "-", "1e400", "nan", "inf", "1_0", "１２", "=1+1", "<b>"),
    *("9" * 400, "x" * 3_000, "'", "[", "]", "{", "}", ":", "null", "true", "\\", "\\ud800", "\u202e", "//", " "),
)
_DTYPES = ("<i1", "<i4", "<i8", "<u8", "<f4", "<f8", ">f8", "<f2", "?", "S3", "U2", "<c16", "M8[s]", "V4")


def pick(rng: Rng, values: Any) -> Any:
    """One of several, whatever they are."""
    return values[int(rng.integers(len(values)))]


def _times(change: Callable[[Any, Rng], Any], value: Any, rng: Rng) -> Any:
    for _ in range(int(rng.integers(1, 4))):
        value = change(value, rng)
    return value


# --- bytes and texts ----------------------------------------------------------------------


def flip(content: bytes, rng: Rng) -> bytes:
    """Some bytes become others."""
    changed = bytearray(content)
    for at in rng.integers(0, len(changed), int(rng.integers(1, 9))):
        changed[at] = rng.integers(0, 256)
    return bytes(changed)


def cut_short(content: bytes, rng: Rng) -> bytes:
    """The end is missing, or a piece in the middle, or a piece stands twice."""
    start, end = sorted(int(at) for at in rng.integers(0, len(content) + 1, 2))
    return bytes(pick(rng, (content[:start], content[:start] + content[end:], content[:end] + content[start:])))


def retype(content: bytes, rng: Rng) -> bytes:
    """Tokens of a text are exchanged for others, lines for other lines."""
    encoding = pick(rng, ("utf-8",) * 8 + ("utf-16", "utf-8-sig", "latin-1", "utf-32"))

    def change(text: str, rng: Rng) -> str:
        parts = re.split(r"([,;:\n\"{}\[\]])", text)
        lines = text.split("\n")
        at = int(rng.integers(len(parts)))
        line = int(rng.integers(len(lines)))
        how = rng.integers(6)
        if how == 0:
            parts[at] = pick(rng, _TOKENS)
        elif how == 1:
            parts[at] = pick(rng, parts)
        elif how == 2:
            parts.insert(at, pick(rng, _TOKENS))
        elif how == 3:
            parts[at] += pick(rng, _TOKENS)
        else:
            lines[line] = pick(rng, ("", pick(rng, lines), lines[line] * 2, pick(rng, _TOKENS)))
            return "\n".join(lines)
        return "".join(parts)

    text = _times(change, content.decode("utf-8", "replace"), rng)
    return str(text).encode(encoding, "replace")


# --- JSON ---------------------------------------------------------------------------------


def _odd(rng: Rng, old: Any) -> Any:
    """Another value in the place of one, oftener of its own type."""
    if isinstance(old, bool):
        own: tuple[Any, ...] = (not old, 2)
    elif isinstance(old, int):
        own = (*_WHOLE, old + 1, -old, float(old))
    elif isinstance(old, float):
        own = (*_REAL, -old, old * 2)
    elif isinstance(old, str):
        own = (*_WORDS, old[:-1], old + "x", old.upper())
    else:
        own = ()
    others: tuple[Any, ...] = (None, True, -1, 0, 1.5, "x", [], {}, [[]], [None], {"a": 1}, [1, 2, 3], 10**30)
    return pick(rng, own if own and rng.random() < 0.6 else others)


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """All places inside a value: who holds it, under which key."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found.append((value, key))
        _places(value[key], found)
    return found


def change_json(value: Any, rng: Rng) -> Any:
    """One field is lost, renamed, repeated, wrapped, or has another value, or that of another field."""
    places = _places(value, [])
    if not places:
        return _odd(rng, value)
    holder, key = pick(rng, places)
    other, other_key = pick(rng, places)
    how = rng.integers(8)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, dict):
        holder[pick(rng, (*_WORDS, str(key) + "x"))] = holder.pop(key)
    elif how == 2:
        holder[key] = copy.deepcopy(other[other_key])
    elif how == 3 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif how == 4:
        holder[key] = [holder[key]]
    else:
        holder[key] = _odd(rng, holder[key])
    return value


def of_json(content: bytes, rng: Rng) -> bytes:
    """A file of JSON."""
    return json.dumps(_times(change_json, json.loads(content), rng)).encode()


# --- arrays -------------------------------------------------------------------------------


def change_array(array: Any, rng: Rng) -> Any:
    """Other values, another shape, another type of numbers."""
    array = np.array(array)
    how = rng.integers(8)
    if how == 0:
        return array.ravel()[: int(rng.integers(0, array.size + 1))]
    if how == 1:
        return pick(rng, (array[None], array.T, array.ravel(), np.repeat(array.ravel(), 2), array[..., None]))
    if how == 2:
        try:
            with np.errstate(all="ignore"):
                return array.astype(pick(rng, _DTYPES))
        except (TypeError, ValueError):
            return array[:0] if array.ndim else array
    if how == 3 and array.ndim:
        return array[int(rng.integers(0, len(array) + 1)) :]
    if not array.size:
        return np.zeros(3)
    flat = array.ravel()
    for at in rng.integers(0, flat.size, int(rng.integers(1, 4))):
        if flat.dtype.names:
            name = pick(rng, flat.dtype.names)
            flat[name][at] = _number(flat.dtype[name], rng)
        elif flat.dtype.hasobject:
            flat[at] = pick(rng, (None, 1, "x", flat[int(rng.integers(flat.size))]))
        elif rng.random() < 0.4:
            flat[at] = flat[int(rng.integers(flat.size))]
        else:
            flat[at] = _number(flat.dtype, rng)
    return flat.reshape(array.shape)


def _number(dtype: Any, rng: Rng) -> Any:
    if dtype.kind in "iu":
        with np.errstate(all="ignore"):
            return np.array(pick(rng, _WHOLE)).astype(np.int64).astype(dtype)
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.array(pick(rng, (*_REAL, *map(float, _WHOLE)))).astype(dtype)
    return np.zeros((), dtype)[()]


def of_npy(content: bytes, rng: Rng) -> bytes:
    """A file of one array, or what its header says of it."""
    if rng.random() < 0.2:
        head = content[:128]
        head = re.sub(rb"\d+", str(pick(rng, _WHOLE)).encode(), head, count=int(rng.integers(1, 4)))
        return head[:128].ljust(128) + content[128:]
    stream = io.BytesIO()
    np.save(stream, change_array(np.load(io.BytesIO(content), allow_pickle=False), rng), allow_pickle=False)
    return stream.getvalue()


# --- archives -----------------------------------------------------------------------------


def members_of(content: bytes) -> dict[str, bytes]:
    """What an archive holds."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(members: list[tuple[str, bytes]]) -> bytes:
    """An archive of members, in order, compressed by turns."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for i, (name, content) in enumerate(members):
            archive.writestr(name, content, zipfile.ZIP_DEFLATED if i % 2 else zipfile.ZIP_STORED)
    return stream.getvalue()


def of_members(content: bytes, rng: Rng) -> bytes:
    """Members are lost, renamed, doubled, exchanged, added."""
    members = list(members_of(content).items())

    def change(held: list[tuple[str, bytes]], rng: Rng) -> list[tuple[str, bytes]]:
        at = int(rng.integers(len(held)))
        other = int(rng.integers(len(held)))
        name, inner = held[at]
        how = rng.integers(6)
        if how == 0 and len(held) > 1:
            del held[at]
        elif how == 1:
            held[at] = (
                pick(rng, ("../" + name, "/" + name, name + "x", "assets/" + name, name.upper(), "a\\b")),
                inner,
            )
        elif how == 2:
            held[at], held[other] = (name, held[other][1]), (held[other][0], inner)
        elif how == 3:
            held.append((pick(rng, ("x.npy", "schema.json", "config.json", "x.py", "assets/x.txt", "d/")), inner))
        elif how == 4:
            held[at] = (name, b"")
        else:
            held[at] = (name, flip(inner, rng) if inner else b"x")
        return held

    return archive_of(_times(change, members, rng))


def inside(changes: dict[str, Change]) -> Change:
    """A change of one member, by the end of its name."""

    def change(content: bytes, rng: Rng) -> bytes:
        members = members_of(content)
        ends = [end for end in changes if any(name.endswith(end) for name in members)]
        for _ in range(int(rng.integers(1, 4))):
            end = pick(rng, ends)
            name = pick(rng, [name for name in members if name.endswith(end)])
            members[name] = changes[end](members[name], rng)
        return archive_of(list(members.items()))

    return change


# --- protobuf -----------------------------------------------------------------------------


def _messages(message: Any, found: list[Any]) -> list[Any]:
    found.append(message)
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                _messages(inner, found)
    return found


def _change_message(model: Any, rng: Rng) -> Any:
    """A field of one message is lost, repeated, exchanged, or has another value."""
    message = pick(rng, [each for each in _messages(model, []) if each.ListFields()])
    field, value = pick(rng, message.ListFields())
    if field.is_repeated:
        at = int(rng.integers(len(value)))
        how = rng.integers(5)
        if how == 0:
            del value[at]
        elif how == 1:
            del value[at:]
        elif how == 2:
            held = copy.deepcopy(value[at])
            value.append(held)
        elif how == 3 or field.message_type is not None:
            other = copy.deepcopy(value[int(rng.integers(len(value)))])
            if field.message_type is None:
                value[at] = other
            else:
                value[at].CopyFrom(other)
        else:
            value[at] = _scalar(field, value[at], rng)
    elif field.message_type is not None or rng.random() < 0.3:
        message.ClearField(field.name)
    else:
        setattr(message, field.name, _scalar(field, value, rng))
    return model


def _scalar(field: Any, old: Any, rng: Rng) -> Any:
    if field.enum_type is not None:
        return pick(rng, [each.number for each in field.enum_type.values])
    if isinstance(old, bytes):
        return pick(rng, (b"", old[:-1], old * 2, flip(old, rng) if old else b"x", _tensor_bytes(old, rng)))
    if isinstance(old, str):
        return pick(rng, (*_WORDS[:2], old + "x", "Loop", "Scan", "Gather", "ai.onnx.ml", "RandomUniform"))
    if isinstance(old, float):
        return pick(rng, (*_REAL[:4], old * 2, -old))
    bits = 31 if "32" in _kind(field) else 63
    return pick(rng, [value for value in (*_WHOLE, old + 1, old - 1) if -(2**bits) <= value < 2**bits])


def _kind(field: Any) -> str:
    return "int32" if field.cpp_type in (1, 3) else "int64"


def _tensor_bytes(old: bytes, rng: Rng) -> bytes:
    """The raw numbers of a tensor, one of them another one."""
    if len(old) < 4 or len(old) % 4:
        return old + b"\0"
    numbers = np.frombuffer(old, pick(rng, ("<f4", "<i4"))).copy()
    return bytes(change_array(numbers, rng).tobytes())


def of_onnx(content: bytes, rng: Rng) -> bytes:
    """A model of ONNX."""
    return bytes(_times(_change_message, onnx.ModelProto.FromString(content), rng).SerializeToString())


# --- HDF5 ---------------------------------------------------------------------------------


def of_hdf5(content: bytes, rng: Rng) -> bytes:
    """Datasets and attributes of a file of HDF5; descriptions inside as JSON."""
    stream = io.BytesIO(content)
    with h5py.File(stream, "r+") as file:
        datasets: list[str] = []
        groups = ["/"]
        file.visititems(lambda name, item: (datasets if isinstance(item, h5py.Dataset) else groups).append(name))
        for _ in range(int(rng.integers(1, 3))):
            how = rng.integers(7)
            group = file[pick(rng, groups)]
            names = list(group.attrs)
            if how <= 2 and datasets:
                name = pick(rng, datasets)
                if name in file:
                    value = change_array(file[name][()], rng)
                    del file[name]
                    value = value.astype("S4") if value.dtype.kind in "UM" else value
                    file[name] = value
            elif how == 3 and datasets:
                name = pick(rng, datasets)
                if name in file:
                    file.move(name, pick(rng, (name + "x", "x", "layers/x/0")) + str(rng.integers(10**9)))
            elif how == 4 and datasets:
                del_name = pick(rng, [*datasets, *groups[1:]])
                if del_name in file:
                    del file[del_name]
            elif names:
                name = pick(rng, names)
                held = group.attrs[name]
                if isinstance(held, str) and held.startswith("{"):
                    group.attrs[name] = json.dumps(_times(change_json, json.loads(held), rng))
                elif how == 5:
                    del group.attrs[name]
                else:
                    group.attrs[name] = pick(rng, (0, "x", b"\xff", np.zeros(3), [b"a", b"b"]))
            else:
                group.create_dataset(f"new{rng.integers(10**9)}", shape=pick(rng, ((0,), (3, 3), (10**6,))), dtype="f4")
    return stream.getvalue()


# --- objects and tables -------------------------------------------------------------------


def _parts(value: Any, found: list[tuple[Any, str]], seen: set[int]) -> list[tuple[Any, str]]:
    """Attributes of an object and of what it is made of."""
    if id(value) in seen:
        return found
    seen.add(id(value))
    for inner in value if isinstance(value, list | tuple) else value.values() if isinstance(value, dict) else ():
        _parts(inner, found, seen)
    if isinstance(value, np.ndarray) and value.dtype.hasobject and value.dtype.names is None:
        for inner in value.ravel():
            _parts(inner, found, seen)
    for name, inner in getattr(value, "__dict__", {}).items() if hasattr(value, "get_params") else ():
        found.append((value, name))
        _parts(inner, found, seen)
    return found


def _change_object(held: Any, rng: Rng) -> Any:
    holder, name = pick(rng, _parts(held, [], set()))
    value = getattr(holder, name)
    if isinstance(value, np.ndarray):
        setattr(holder, name, change_array(value, rng))
    elif rng.random() < 0.2:
        delattr(holder, name)
    elif isinstance(value, list) and value and rng.random() < 0.7:
        at = int(rng.integers(len(value)))
        value[at] = change_array(value[at], rng) if isinstance(value[at], np.ndarray) else _odd(rng, value[at])
    else:
        setattr(holder, name, _odd(rng, value))
    return held


def of_objects(save: Callable[[Any, Any], Any]) -> Change:
    """The object in a pickle, with other parts, saved again."""

    def change(content: bytes, rng: Rng) -> bytes:
        stream = io.BytesIO()
        try:
            save(_times(_change_object, joblib.load(io.BytesIO(content)), rng), stream)
        except Exception:  # noqa: BLE001 - a part that cannot be saved is no file
            return cut_short(content, rng)
        return stream.getvalue()

    return change


def dump_pickle(held: Any, stream: Any) -> None:
    """As ``joblib.dump``, without joblib."""
    pickle.dump(held, stream)


def of_parquet(content: bytes, rng: Rng) -> bytes:
    """Columns are lost, renamed, of another type, of other lengths of text."""
    table = pq.read_table(io.BytesIO(content))
    at = int(rng.integers(table.num_columns))
    name = table.column_names[at]
    n = table.num_rows
    column = pick(
        rng,
        (
            pa.array(["x"] * n),
            pa.array([[1.0]] * n),
            pa.nulls(n),
            pa.array(change_array(np.zeros(n), rng)[:n].tolist() + [None] * n)[:n],
            pa.array([{"a": 1}] * n),
            pa.array([10**18] * n),
            pa.array(["a", None] * n)[:n].dictionary_encode(),
            pa.array([True] * n),
        ),
    )
    how = rng.integers(4)
    if how == 0:
        table = table.remove_column(at)
    elif how == 1:
        table = table.rename_columns(
            [pick(rng, (*_WORDS, name)) if i == at else old for i, old in enumerate(table.column_names)]
        )
    elif how == 2:
        table = table.append_column(name, column)
    else:
        table = table.set_column(at, name, column)
    stream = io.BytesIO()
    pq.write_table(table, stream, compression=pick(rng, ("zstd", "snappy", "none")))
    return stream.getvalue()
