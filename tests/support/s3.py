"""A real S3 server for tests: SeaweedFS, on ports of its own on loopback."""

import json
import shutil
import socket
import subprocess
import sysconfig
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ACCESS_KEY, SECRET_KEY = "wonder-tests", "a-secret-of-the-tests"
_START_SECONDS = 20.0
_IDENTITIES = {
    "identities": [
        {
            "name": "tests",
            "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
    ]
}


class S3Server:
    """A server that runs until it is stopped; `url` names a bucket of it."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path, endpoint: str) -> None:
        self.process, self.folder, self.endpoint = process, folder, endpoint

    def url(self, prefix: str = "", *, bucket: str = "wonder", secret: str = SECRET_KEY) -> str:
        """The address of objects in a bucket of this server."""
        credentials = f"access_key_id={ACCESS_KEY}&secret_access_key={secret}"
        return f"s3://{bucket}/{prefix}?endpoint={self.endpoint}&region=us-east-1&{credentials}"

    def stop(self) -> None:
        """End the server, and remove what it has stored."""
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def start_s3() -> S3Server:
    """Start a server with the bucket `wonder`, and wait until it takes objects."""
    folder = Path(tempfile.mkdtemp(prefix="wonder-s3-"))
    (folder / "identities.json").write_text(json.dumps(_IDENTITIES))
    names = ["master", "volume", "filer", "s3"]
    ports = dict(zip([*names, *(f"{name} grpc" for name in names)], _free_ports(8), strict=True))
    program = Path(sysconfig.get_path("scripts")) / "weed"
    options = {
        "dir": folder,
        "ip": "127.0.0.1",
        "ip.bind": "127.0.0.1",
        "master.telemetry": "false",
        "master.volumeSizeLimitMB": "64",
        "volume.max": "20",
        "s3": "true",
        "s3.config": folder / "identities.json",
        "s3.port.iceberg": "0",
        "s3.port.lance": "0",
        **{f"{name}.port": ports[name] for name in names},
        **{f"{name}.port.grpc": ports[f"{name} grpc"] for name in names},
    }
    log = (folder / "log").open("wb")
    process = subprocess.Popen(
        [str(program), "server", *(f"-{name}={value}" for name, value in options.items())],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        cwd=folder,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
    )
    log.close()
    server = S3Server(process, folder, f"http://127.0.0.1:{ports['s3']}")
    try:
        _wait(server, f"http://127.0.0.1:{ports['filer']}")
    except BaseException:
        server.stop()
        raise
    return server


def _wait(server: S3Server, filer: str) -> None:
    """Wait until a bucket can be made and an object put into it."""
    import obstore
    from obstore.store import S3Store

    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            _make_bucket(filer)
            store = S3Store(
                "wonder",
                endpoint=server.endpoint,
                region="us-east-1",
                access_key_id=ACCESS_KEY,
                secret_access_key=SECRET_KEY,
                client_options={"allow_http": True},
                retry_config={"max_retries": 0},
            )
            obstore.put(store, "ready", b"yes")
        except Exception:
            if server.process.poll() is not None or time.monotonic() > end:
                told = (server.folder / "log").read_text(errors="replace")[-3_000:]
                raise RuntimeError(f"SeaweedFS did not start: {told}") from None
            time.sleep(0.1)
        else:
            return


def _make_bucket(filer: str) -> None:
    """Make the bucket in the filer, which has all buckets as folders."""
    try:
        request = urllib.request.Request(f"{filer}/buckets/wonder/", method="POST")
        with urllib.request.urlopen(request, timeout=2):
            pass
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != 409:  # it is there
            raise


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
