"""A backup whose contents are in S3 lists them, and looks whether they are there."""

from pathlib import Path

from support.s3 import S3Server
from support.systems import bundle
from wonder.app.backup import make_backup
from wonder.app.opening import open_wonder
from wonder.app.restoring import restore_backup


async def test_contents_in_s3_are_listed_and_stay_there(s3_server: S3Server, tmp_path: Path) -> None:
    implementation = {"artifact_type_id": "blob", "content_mapping": {"content": "$.text"}}
    action = {"kind": "write_artifact", "implementation": implementation}
    keep = {"action": action, "input_mapping": {"text": "$.input.text"}}
    url, objects = f"sqlite:///{tmp_path / 'wonder.db'}", s3_server.url("backup")
    async with open_wonder(url, objects=objects) as wonder:
        await wonder.deploy(bundle("keeps", {"keep": keep}))
        assert (await (await wonder.start("keeps", {"text": "in S3"})).wait()).status == "completed"
    manifest = await make_backup(url, objects, tmp_path / "backup", lambda what, done, of: None)
    assert (manifest.objects.copied, manifest.objects.missing) == (False, {})
    assert list(manifest.objects.keys.values()) == [5]
    assert not (tmp_path / "backup" / "objects").exists()
    elsewhere = s3_server.url("elsewhere")
    missing = (await make_backup(url, elsewhere, tmp_path / "other", lambda what, done, of: None)).objects.missing
    assert list(missing.values()) == ["OBJECT_MISSING"]
    await restore_backup(tmp_path / "backup", f"sqlite:///{tmp_path / 'new.db'}", objects, lambda what, done, of: None)
    assert (tmp_path / "new.db").exists()
