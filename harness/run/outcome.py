"""What `bench-submit run`, `burn`, `reproduce` and `sweep` have made, also as JSON."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rules.bundle_format.records import RESULT_FILE

FORMAT = "wattmark-runs/1"


@dataclass(frozen=True)
class Outcome:
    """The bundles of a command. It is true if all went well."""

    passes: bool
    """Whether no run failed and the pre-check of no bundle found an error; with a target, whether
    it is reached."""
    bundles: tuple[Path, ...] = ()
    failures: tuple[str, ...] = ()
    """Why runs of a sweep have no bundle."""

    def __bool__(self) -> bool:
        return self.passes


def render_json(outcome: Outcome) -> str:
    """One JSON object: for each bundle its path, run, standing and headline figures, as in
    result.json."""
    document = {
        "format": FORMAT,
        "passes": outcome.passes,
        "bundles": [_describe(bundle) for bundle in outcome.bundles],
        "failures": list(outcome.failures),
    }
    return json.dumps(document, ensure_ascii=False, indent=1)


def _describe(bundle: Path) -> dict[str, Any]:
    result = json.loads((bundle / RESULT_FILE).read_text("utf-8"))
    stated = {name: result[name] for name in ("run_id", "workload", "standing", "headline")}
    return {"path": str(bundle), **stated}
