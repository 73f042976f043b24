"""Reads the figures of a round that a new run is compared with, from the bundles of a system. It
needs Python alone.

    python round_references.py ROUND BUNDLE

prints the references of BUNDLE. ROUND is a directory with bundles, such as
submissions/CENTER/SYSTEM. Check it first with bench-check: this module takes the figures as the
bundles state them.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import fmean

FIGURES = ("items_per_s", "joules_per_item")


class NoReferenceError(Exception):
    """The round has no run like the new one. The message says why and what to do."""


def find_references(round_directory: Path, bundle: Path) -> dict[str, float]:
    """Return the mean of each figure over the runs of the round with the settings of `bundle`.
    Raises NoReferenceError."""
    new_settings, _ = _read_run(bundle)
    runs = [_read_run(path.parent) for path in sorted(round_directory.rglob("result.json"))]
    figures_of_matches = [
        figures for settings, figures in runs if settings == new_settings and figures
    ]
    if not figures_of_matches:
        settings = ", ".join(f"{name} {value}" for name, value in new_settings.items())
        raise NoReferenceError(
            f"{round_directory}: none of its {len(runs)} runs is like this one ({settings}); name "
            "the bundles of a system that ran it"
        )
    return {name: fmean(figures[name] for figures in figures_of_matches) for name in FIGURES}


def _read_run(bundle: Path) -> tuple[dict[str, object], dict[str, float] | None]:
    """What two runs must have in common to be compared, and the means of the figures; None if the
    run lacks one. Raises NoReferenceError if the bundle cannot be read."""
    try:
        result, system = (
            json.loads((bundle / name).read_text()) for name in ("result.json", "system.json")
        )
        estimates = [result["headline"][name] for name in FIGURES]
        figures = None
        if None not in estimates:
            figures = {name: e["mean"] for name, e in zip(FIGURES, estimates, strict=True)}
        return _select_settings(result, system), figures
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise NoReferenceError(
            f"{bundle}: is no bundle of a run that can be read ({error!r}); restore or remove it"
        ) from None


def _select_settings(result: dict, system: dict) -> dict[str, object]:
    settings, power = result["settings"], result["power"]
    used = {uuid for rank in result["ranks"] for uuid in rank["accelerators"]}
    boards = [board for node in system["nodes"] for board in node["accelerators"]]
    return {
        "workload": result["workload"],
        "variant": result["implementation"]["variant"],
        "size": result["size"],
        "standing": result["standing"],
        "board": ", ".join(sorted({b["name"] for b in boards if b["uuid"] in used})),
        "accelerators": settings["accelerators"],
        "nodes": settings["nodes"],
        "batch size": settings["batch_size"],
        "requests": settings.get("requests"),
        "cap": power["cap_w"],
        "SM clock": power.get("sm_clock_mhz"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the references of a bundle.")
    parser.add_argument("round", type=Path, help="directory with the bundles of a system")
    parser.add_argument("bundle", type=Path, help="the bundle of the new run")
    arguments = parser.parse_args()
    try:
        references = find_references(arguments.round, arguments.bundle)
    except NoReferenceError as error:
        sys.exit(f"Error: {error}")
    for name, value in references.items():
        print(f"{name} {value:.6g}")


if __name__ == "__main__":
    main()
