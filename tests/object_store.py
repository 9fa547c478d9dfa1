"""A server that speaks S3, and of MinIO's client ``mc`` what compose.yaml calls; both stand in for the images, and run
by the Python that ``EVENHAND_SERVERS_PYTHON`` names (requirements-servers.txt).

    python tests/object_store.py serve 9000
    python tests/object_store.py mc alias set here http://127.0.0.1:9000 USER PASSWORD
    python tests/object_store.py mc mb --ignore-existing here/bucket
    python tests/object_store.py mc ready local
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import urllib.request
from pathlib import Path

LOCAL = {"local": {"url": "http://127.0.0.1:9000"}}
"""The server that ``mc`` knows by itself."""


def serve(port: str) -> None:
    """Answer until the process is ended."""
    sys.argv = ["moto_server", "-H", "127.0.0.1", "-p", port]
    runpy.run_module("moto.server", run_name="__main__")


def client(*told: str) -> None:
    """One command of ``mc``; as there, ``MC_CONFIG_DIR`` keeps the aliases and ``MC_HOST_local`` is another address."""
    kept = Path(os.environ["MC_CONFIG_DIR"]) / "config.json"
    aliases = LOCAL | (json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {})
    match told:
        case ["alias", "set", name, url, user, password]:
            aliases[name] = {"url": url, "user": user, "password": password}
            kept.parent.mkdir(exist_ok=True)
            kept.write_text(json.dumps(aliases), encoding="utf-8")
        case ["mb", "--ignore-existing", target]:
            _make_bucket(aliases, *target.split("/"))
        case ["ready", name]:
            address = os.environ.get(f"MC_HOST_{name}") or aliases[name]["url"]
            urllib.request.urlopen(address, timeout=5).close()
        case _:
            raise SystemExit(f"mc stands in for a few commands, and '{' '.join(told)}' is none of them.")


def _make_bucket(aliases: dict[str, dict[str, str]], name: str, bucket: str) -> None:
    import boto3

    alias = aliases[name]
    keys = {"aws_access_key_id": alias["user"], "aws_secret_access_key": alias["password"]}
    store = boto3.client("s3", endpoint_url=alias["url"], region_name="us-east-1", **keys)
    if bucket not in {each["Name"] for each in store.list_buckets()["Buckets"]}:
        store.create_bucket(Bucket=bucket)


if __name__ == "__main__":
    {"serve": serve, "mc": client}[sys.argv[1]](*sys.argv[2:])
