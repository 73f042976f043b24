"""The catalogue of settings: its entries are of things that result.json has, and each once."""

import json
from typing import Any

import pytest

from rules.bundle_format.documents import read_schema
from rules.bundle_format.records import RESULT_FORMAT
from rules.settings import SETTINGS, ConfigurationKey, Setting, list_axis_settings

JSON_TYPES = {"text": "string", "integer": "integer", "number": "number", "truth": "boolean"}


def resolve(part: Any) -> Any:
    """A part of the schema with the definitions that it refers to."""
    if isinstance(part, list):
        return [resolve(item) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return resolve(read_schema(RESULT_FORMAT)["$defs"][part["$ref"].removeprefix("#/$defs/")])
    return {key: resolve(value) for key, value in part.items()}


@pytest.mark.parametrize("setting", [s for s in SETTINGS if s.pointer], ids=lambda s: s.pointer)
def test_setting_has_a_place_in_result_json_of_its_type(setting: Setting) -> None:
    place = resolve(read_schema(RESULT_FORMAT)["properties"])
    *parents, key = setting.pointer[1:].split("/")
    for parent in parents:
        place = next(p for p in [place[parent], *place[parent].get("anyOf", ())] if "required" in p)
        place = place["properties"]
    form = json.dumps(place[key])
    assert f'"{JSON_TYPES[setting.type]}"' in form or (setting.type == "text" and "enum" in form)


def test_names_and_keys_are_unique() -> None:
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
    planned = [setting.label or setting.key for setting in SETTINGS if setting.is_planned]
    assert len(set(planned)) == len(planned)


def test_key_groups_by_values() -> None:
    key = ConfigurationKey(variant="tuned", nodes=1)
    assert {key: 1}[ConfigurationKey(variant="tuned", nodes=1)] == 1
    assert key.without(["nodes"]) == ConfigurationKey(variant="tuned")
    assert key != ConfigurationKey(variant="tuned", nodes=2)


def test_axis_varies_its_settings() -> None:
    assert list_axis_settings(["cap", "sm-clock"], False) == {"cap in W", "SM clock in MHz"}
    assert list_axis_settings(["precision"], True) == {
        *("variant", "precision", "recipe", "standing")
    }
    assert list_axis_settings(["gpus"], False) == {"boards"}
    assert list_axis_settings(["gpus"], True) == {"boards", "batch size"}
