"""Whatever is done to a definition, checking it ends with faults that have a place, never with an error of Python."""

from random import Random

import jsonschema_rs
import pytest

from support.definitions import BEYOND_SCHEMAS, GREET_EVERYONE, NOTHING, SAMPLES, VALID
from support.mutations import damaged
from wonder.definitions.faults import DefinitionRefused, Fault, has_errors
from wonder.definitions.file_form.json_schema import file_form_schema
from wonder.definitions.loading import load_text
from wonder.definitions.source import read_source
from wonder.language.values import JsonValue, encode_json

TEXTS = [GREET_EVERYONE, *VALID.values(), *SAMPLES.values()]
SEEDS = range(24)
DEFINITIONS_PER_SEED = 25


def faults_of(document: JsonValue) -> list[Fault]:
    text = encode_json(document)
    try:
        return load_text(text, "damaged.json").check(NOTHING)
    except DefinitionRefused as refusal:
        return list(refusal.faults)


def shape_faults(document: JsonValue) -> list[Fault]:
    try:
        return load_text(encode_json(document), "damaged.json").reading.faults
    except DefinitionRefused:
        return []  # nested too deep to be looked at


def damaged_definitions(seed: int) -> list[JsonValue]:
    random = Random(seed)
    sources = [read_source(random.choice(TEXTS), "source.yaml").value for _ in range(DEFINITIONS_PER_SEED)]
    return [damaged(source, random, random.choice([1, 1, 2, 4, 10])) for source in sources]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_damage_is_told_as_faults_with_code_message_hint_and_place(seed: int) -> None:
    found = 0
    for document in damaged_definitions(seed):
        for fault in faults_of(document):
            found += 1
            assert fault.code, document
            assert fault.code == fault.code.lower()
            assert fault.message, fault
            assert fault.hint, fault
            assert fault.place is not None, fault
            assert fault.place.line >= 1
            assert str(fault)
            assert fault.as_json()["type"] == fault.code
    assert found > 10  # the damage was seen


@pytest.mark.parametrize("seed", SEEDS)
def test_fil_7_the_schema_takes_whatever_the_program_takes(seed: int) -> None:
    editor = jsonschema_rs.Draft202012Validator(file_form_schema())
    for document in damaged_definitions(seed):
        if not has_errors(faults_of(document)):
            errors = [f"{error.instance_path}: {error.message}" for error in editor.iter_errors(document)]
            assert errors == [], encode_json(document)


@pytest.mark.parametrize("seed", SEEDS)
def test_fil_7_the_schema_refuses_whatever_is_wrong_in_shape(seed: int) -> None:
    editor = jsonschema_rs.Draft202012Validator(file_form_schema())
    for document in damaged_definitions(seed):
        wrong = [fault for fault in shape_faults(document) if fault.code not in BEYOND_SCHEMAS]
        if wrong:
            assert not editor.is_valid(document), (str(wrong[0]), encode_json(document))
