"""Sweeps and tables as Python values -> messages, led by the messages' descriptors as the YAML reader is (spec/schema/yaml_reader.h).

The values are those of the YAML file, or of the service's JSON: dicts, lists, texts, numbers. Also understood: keys with dots, the short form of
`exclude`, NumPy's numbers and arrays, and numbers that PyYAML reads as texts, such as 4e-3. None is null: not set. Paths are taken as they are.
The coordinator checks ranges and the axes.
"""
from __future__ import annotations

import difflib
import numbers
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from inlier.errors import InvalidError
from inlier.v1 import sweep_spec_pb2, trial_spec_pb2

M = TypeVar("M", bound=Message)
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_WHOLE = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
_REAL = {FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT}
_TRIAL = trial_spec_pb2.TrialSpec.DESCRIPTOR


def to_message(value: Mapping[str, Any], message: M) -> M:
    """Merges `value` into `message`. InvalidError with the path of the mistake."""
    return _parse(_group(message.DESCRIPTOR, value, ""), message)


def to_sweep(value: Mapping[str, Any]) -> sweep_spec_pb2.SweepSpec:
    sweep = to_message(value, sweep_spec_pb2.SweepSpec())
    sweep.ClearField("scales")  # Other sizes: read by `--scale`, and not part of a submission.
    return sweep


def apply_settings(sweep: sweep_spec_pb2.SweepSpec, settings: Mapping[str, Any]) -> None:
    """{"training.steps": 100}: changes fields of the base."""
    for path, value in settings.items():
        for axis in sweep.axes:
            if path == axis.field or path in axis.zip:
                raise InvalidError(f"set {path}: an axis of the sweep sets it at every point; change the axis")
        to_message({path: value}, sweep.base)


def setting_text(value: Any) -> str:
    """A value as `--set path=value` of the command line has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    return repr(float(value)) if isinstance(value, numbers.Real) else str(value)


def _parse(value: dict[str, Any], message: M) -> M:
    try:
        json_format.ParseDict(value, message)
    except json_format.ParseError as error:
        raise InvalidError(str(error)) from None
    return message


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _group(type_: Any, value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidError(f"{path or type_.name}: is {value!r} where a mapping is meant; write {{}} to take it as it is")
    result: dict[str, Any] = {}
    for key, inner in value.items():
        first, dot, rest = str(key).partition(".")
        field = _field(type_, first, path)
        place = _join(path, field.name)
        known = result.get(field.name)
        if dot and not _is_message(field):
            raise InvalidError(f"{_join(path, str(key))}: {field.name} has no fields")
        read = _value(field, {rest: inner} if dot else inner, place, value)
        if known is None:
            result[field.name] = read
        elif isinstance(known, dict) and isinstance(read, dict):
            _merge(known, read, place)
        else:
            raise InvalidError(f"{place}: is given twice; remove one")
    return result


def _merge(into: dict[str, Any], more: dict[str, Any], path: str) -> None:
    for key, value in more.items():
        if key not in into:
            into[key] = value
        elif isinstance(into[key], dict) and isinstance(value, dict):
            _merge(into[key], value, _join(path, key))
        else:
            raise InvalidError(f"{_join(path, key)}: is given twice; remove one")


def _is_message(field: Any) -> bool:
    return bool(field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE)


def _is_repeated(field: Any) -> bool:
    """`label` of protobuf's first Python API; newer versions have `is_repeated` alone."""
    repeated = getattr(field, "is_repeated", None)
    return bool(repeated) if repeated is not None else getattr(field, "label", None) == 3


def _field(type_: Any, name: str, path: str) -> Any:
    field = type_.fields_by_name.get(name) or type_.fields_by_camelcase_name.get(name)
    if field is None:
        near = difflib.get_close_matches(name, list(type_.fields_by_name), 1)
        hint = f"did you mean {near[0]}?" if near else "known are " + ", ".join(list(type_.fields_by_name)[:6])
        raise InvalidError(f"{_join(path, name)}: unknown field; {hint}")
    return field


def _value(field: Any, value: Any, path: str, parent: Mapping[str, Any]) -> Any:
    if value is None:
        if field.containing_type.GetOptions().map_entry:
            return "null"  # The label of a point that leaves a field unset.
        if _is_repeated(field):
            raise InvalidError(f"{path}: is None where a list or mapping is meant; leave it out")
        return None
    if _is_message(field) and field.message_type.GetOptions().map_entry:
        if not isinstance(value, Mapping):
            raise InvalidError(f"{path}: is not a mapping")
        inner = field.message_type.fields_by_name["value"]
        return {_text(key, path): _value(inner, item, _join(path, str(key)), {}) for key, item in value.items()}
    if _is_repeated(field):
        types = _axis_fields(parent) if field.full_name == "inlier.v1.Axis.values" else None
        return [_item(field, item, f"{path}[{number}]", types) for number, item in enumerate(_list(value, path))]
    return _one(field, value, path)


def _item(field: Any, item: Any, path: str, types: list[Any] | None) -> Any:
    if types is None and _is_message(field) and field.message_type.full_name == "google.protobuf.Struct" and isinstance(item, Mapping):
        return {_text(key, path): _generic(value, _join(path, str(key))) for key, value in item.items()}  # A point by axis names.
    if types is None:
        return _one(field, item, path)
    if len(types) == 1:
        return _axis_value(types[0], item, path)
    return [_axis_value(types[i] if i < len(types) else None, part, f"{path}[{i}]") for i, part in enumerate(_list(item, path))]


def _axis_value(field: Any, value: Any, path: str) -> Any:
    if value is None:
        return None  # A point that leaves the field unset.
    return _leaf(field, value, path) if field is not None else _generic(value, path)


def _one(field: Any, value: Any, path: str) -> Any:
    if not _is_message(field):
        return _leaf(field, value, path)
    kind = field.message_type.full_name
    if kind == "google.protobuf.Struct":
        partial = _group(_TRIAL, value, path)
        _parse(partial, trial_spec_pb2.TrialSpec())
        return partial
    if kind == "google.protobuf.Value":
        return _generic(value, path)
    if kind == "inlier.v1.Exclusion" and isinstance(value, Mapping) and not isinstance(value.get("match"), Mapping):
        value = {"match": value}
    return _group(field.message_type, value, path)


def _axis_fields(axis: Mapping[str, Any]) -> list[Any]:
    """The fields that the values of an axis become: one, or one for each path of `zip`."""
    paths = axis.get("zip") or [axis.get("field", "")]
    return [_leaf_at(str(path)) for path in paths]


def _leaf_at(path: str) -> Any:
    type_: Any | None = _TRIAL
    field: Any | None = None
    for word in path.split("."):
        field = type_.fields_by_name.get(word) if type_ is not None else None
        if field is None:
            return None  # The coordinator reports the path.
        type_ = field.message_type if _is_message(field) else None
    return field if field is not None and not _is_message(field) and not _is_repeated(field) else None


def _list(value: Any, path: str) -> list[Any]:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        raise InvalidError(f"{path}: is {value!r} where a list is meant")
    return list(value)


def _text(value: Any, path: str) -> str:
    if isinstance(value, bool):
        raise InvalidError(f"{path}: is {value} where a text is meant; put it in quotes (PyYAML reads yes, no, on and off as true and false)")
    if isinstance(value, numbers.Real):
        return _number_text(value)
    if not isinstance(value, str):
        raise InvalidError(f"{path}: is {value!r} where a text is meant")
    return value


def _number_text(value: numbers.Real) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _leaf(field: Any, value: Any, path: str) -> Any:
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return _text(value, path)
    if field.cpp_type in (FieldDescriptor.CPPTYPE_BOOL, FieldDescriptor.CPPTYPE_ENUM):
        if not isinstance(value, bool) and field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
            raise InvalidError(f"{path}: is {value!r} where true or false is meant")
        if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM and value not in field.enum_type.values_by_name:
            near = difflib.get_close_matches(str(value).upper(), list(field.enum_type.values_by_name), 1)
            hint = f"did you mean {near[0]}?" if near else "known are " + ", ".join(field.enum_type.values_by_name)
            raise InvalidError(f"{path}: {value!r} is not one of its values; {hint}")
        return value
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidError(f"{path}: is {value!r} where a number is meant")
    if field.cpp_type in _REAL:
        return float(value)
    if not isinstance(value, numbers.Integral) and not float(value).is_integer():
        raise InvalidError(f"{path}: is {value!r} where a whole number is meant")
    low, high = _WHOLE[field.cpp_type]
    whole = int(value) if isinstance(value, numbers.Integral) else int(float(value))
    if not low <= whole <= high:
        raise InvalidError(f"{path}: {whole} is out of range: give a whole number from {low} to {high}")
    return whole


def _generic(value: Any, path: str) -> Any:
    """A label or a value of a field that is not known."""
    if isinstance(value, Mapping):
        return {str(key): _generic(item, _join(path, str(key))) for key, item in value.items()}
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, numbers.Real):
        return float(value)
    if value is None:
        return "null"
    return [_generic(item, f"{path}[{number}]") for number, item in enumerate(_list(value, path))]
