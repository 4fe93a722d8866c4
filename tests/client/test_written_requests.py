"""CMD-13: the request that the client writes for an operation is read by the server as the same input."""

from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import pytest

from wonder.api.inputs import input_of, read_query
from wonder.api.matching import Paths
from wonder.api.routes import LOCAL, Route, all_routes
from wonder.client.errors import NotOverServer
from wonder.client.writing import write_request
from wonder.language.values import parse_json
from wonder.operations.catalogue import all_operations
from wonder.operations.declaring import Declared

_OPERATIONS = all_operations()


def _paths() -> Paths[Route]:
    paths: Paths[Route] = Paths()
    for route in all_routes():
        paths.add(route.method, route.path, route)
    return paths


def _sample(type: Any, *, name: str) -> Any:
    """Give a value of a type that is unlike its default: a text with signs that mean something in addresses."""
    if get_origin(type) in (Union, UnionType):
        return _sample(get_args(type)[0], name=name)
    if get_origin(type) is Literal:
        return get_args(type)[-1]
    if get_origin(type) is list:
        return [_sample(get_args(type)[0], name=name)]
    if isinstance(type, __builtins__["type"]) and issubclass(type, msgspec.Struct):  # type: ignore[index]
        return _filled(type)
    samples: dict[Any, Any] = {str: "a/ü %&?#+ b", int: 7, bool: True, float: 1.5, Any: {"n": 2**70, "s": "x"}}
    return samples[type]


def _filled(form: type[Any]) -> Any:
    values = {one.name: _sample(one.type, name=one.name) for one in msgspec.structs.fields(form)}
    return form(**values)


def _given(operation: Declared[Any, Any], route: Route) -> Any:
    given = _filled(operation.input)
    unlike = dict(route.fixed)
    for one in msgspec.structs.fields(operation.input):
        if one.name in route.own:
            unlike[one.name] = None if one.default is None else []
    return msgspec.structs.replace(given, **unlike)


@pytest.mark.parametrize("name", sorted(set(_OPERATIONS) - set(LOCAL)))
@pytest.mark.parametrize("project", [None, "a project/2"])
def test_cmd_13_the_server_reads_what_the_client_writes(name: str, project: str | None) -> None:
    operation = _OPERATIONS[name]
    for route in (one for one in all_routes() if one.declared.name == name and one.form == "fields"):
        given = _given(operation, route)
        written = write_request(operation, given, project=project)
        path, _, query = written.path.partition("?")
        found, parameters = _paths().find(written.method, path.encode())
        if route.reach == "project":
            assert parameters.pop("project", None) == project
        body = None if written.body is None else parse_json(written.body)
        assert input_of(found, parameters, read_query(query), body) == given


@pytest.mark.parametrize("name", sorted(LOCAL))
def test_cmd_13_what_has_no_route_is_refused_with_its_reason(name: str) -> None:
    operation = _OPERATIONS[name]
    with pytest.raises(NotOverServer) as refused:
        write_request(operation, _filled(operation.input), project=None)
    assert refused.value.reason == LOCAL[name]
