"""Addresses of object stores."""

from pathlib import Path

import pytest

from wonder.objects.errors import BadObjectsUrl
from wonder.objects.opening import objects_beside, open_objects
from wonder.objects.url import DirectoryAddress, S3Address, parse_objects_url


def test_a_folder_is_an_absolute_path_behind_file() -> None:
    assert parse_objects_url("file:///var/lib/my%20objects") == DirectoryAddress(Path("/var/lib/my objects"))


def test_a_bucket_has_a_prefix_and_options_and_shows_no_secret() -> None:
    url = "s3://bucket/a/b/?endpoint=http://127.0.0.1:9000/&region=eu&access_key_id=me&secret_access_key=hidden&virtual_hosted=true"
    address = parse_objects_url(url)
    assert isinstance(address, S3Address)
    assert (address.bucket, address.prefix, address.endpoint) == ("bucket", "a/b", "http://127.0.0.1:9000")
    assert address.options == {
        "region": "eu",
        "access_key_id": "me",
        "secret_access_key": "hidden",
        "virtual_hosted_style_request": True,
    }
    assert "hidden" not in address.shown + repr(address)
    assert open_objects(url).address == address.shown


def test_without_an_address_objects_are_beside_the_database() -> None:
    assert objects_beside(Path("/data/wonder.db")).address == "/data/objects"
    assert objects_beside(None).address == str(Path.cwd() / ".wonder" / "objects")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("objects", "has no scheme"),
        ("http://host/x", "unknown scheme 'http'"),
        ("file://host/x", "names a host"),
        ("file:///", "names no folder"),
        ("file:///x?a=b", "has options"),
        ("s3://", "names no bucket"),
        ("s3:///x", "names no bucket"),
        ("s3://key:hidden@bucket", "has a user"),
        ("s3://bucket/a/../b", "'..'"),
        ("s3://bucket?secret_access_key=hidden&colour=red", "'colour'"),
        ("s3://bucket?endpoint=localhost:9000", "endpoint"),
        ("s3://bucket?anonymous=maybe", "'anonymous'"),
        ("s3://bucket?secret_access_key=hidden&broken", "can't be read"),
        ("s3://bucket?secret_access_key=a&hidden", "can't be read"),
        ("s3://bucket?secret_acess_key=hidden", "'secret_acess_key'"),
        ("s3://bucket?endpoint=https://me:hidden@host&colour=red", "'colour'"),
        ("key:hidden@bucket", "has no scheme"),
        ("key:hidden@bucket://", "unknown scheme"),
        ("file://me:hidden@host/x", "names a host"),
        ("file:///x?key=hidden", "has options"),
        ("s3://bucket\n", "can't be shown"),
    ],
)
def test_a_bad_address_is_told_with_what_to_write_and_without_a_secret(url: str, reason: str) -> None:
    with pytest.raises(BadObjectsUrl, match="s3://bucket/prefix") as told:
        parse_objects_url(url)
    assert reason in str(told.value)
    assert "hidden" not in str(told.value)
