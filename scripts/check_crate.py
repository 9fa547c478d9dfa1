"""Hold bundles against RO-Crate 1.3 and the profile Process Run Crate with the format's own validator, without network.

`.crate/bin/python scripts/check_crate.py BUNDLE ...` prints a line a rule that is broken, `required` or `recommended`;
the status is 1 when a required one is. The environment is that of requirements-crate.txt: the validator cannot be
beside the project's other tools. It would fetch the JSON-LD context; it is given the one of the package `rocrate`.

The validator knows the profile in version 0.5, whose rules of actions and programs are those of 0.6; 0.5 builds on
RO-Crate 1.1 and 0.6 on 1.3, so the rules of the profile and those of 1.3 are asked for apart.
"""

from __future__ import annotations

import io
import logging
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

CONTEXT = "https://w3id.org/ro/crate/1.3/context"
ACCEPTED = ("application/ld+json, application/json", "application/ld+json, application/json, */*;q=0.1")
"""What the validator says it takes, which is part of what it looks for in its cache."""


def fill_cache(path: str) -> None:
    """Put the context where the validator keeps what it has fetched."""
    import requests
    from requests_cache import CachedSession
    from urllib3 import HTTPResponse

    content = (resources.files("rocrate") / "data" / "ro-crate.jsonld").read_bytes()
    session = CachedSession(path, backend="sqlite", expire_after=-1)
    for accepted in ACCEPTED:
        answer: Any = requests.Response()
        answer.status_code = 200
        answer.url = CONTEXT
        answer.headers["Content-Type"] = "application/ld+json"
        answer._content = content
        answer.raw = HTTPResponse(body=io.BytesIO(content), headers=dict(answer.headers), preload_content=False)
        answer.request = session.prepare_request(requests.Request("GET", CONTEXT, headers={"Accept": accepted}))
        session.cache.save_response(answer)
    session.close()


def broken_rules(bundle: Path, cache: str) -> list[tuple[str, str, str]]:
    """Severity, rule and what is said of each rule that a bundle breaks."""
    from rocrate_validator import models, services

    found = []
    for profile in ("ro-crate-1.3", "process-run-crate-0.5"):
        settings = models.ValidationSettings(
            rocrate_uri=str(bundle),
            profile_identifier=profile,
            requirement_severity=models.Severity.RECOMMENDED,
            enable_profile_inheritance=not profile.startswith("process"),
            offline=True,
            cache_path=cache,
        )
        for issue in services.validate(settings).get_issues():
            found.append(
                (issue.severity.name.lower(), issue.check.identifier, f"{issue.violatingEntity}: {issue.message}")
            )
    return found


def main() -> int:
    """Check the bundles that are named."""
    logging.disable(logging.WARNING)  # it warns of each file that is not there on purpose
    with tempfile.TemporaryDirectory() as folder:
        cache = f"{folder}/http"
        fill_cache(cache)
        broken = [rule for name in sys.argv[1:] for rule in broken_rules(Path(name), cache)]
    for severity, rule, said in broken:
        print(severity, rule, said)
    return int(any(severity == "required" for severity, _, _ in broken))


if __name__ == "__main__":
    raise SystemExit(main())
