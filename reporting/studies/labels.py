"""Names of setups and classes, and their marks in the plots."""

from typing import cast

from reporting.charts.encoding import Look, Provenance, name_board, name_family
from reporting.study_record import NOT_COMPARED, SIMULATED
from rules.studies.models import UNKNOWN_CLASS
from rules.studies.results import Setup

CLASS_NAMES = {
    "cnn": "CNN",
    "transformer": "transformer",
    "hybrid": "hybrid",
    "mlp": "MLP",
    UNKNOWN_CLASS: "unknown",
}


def label_setup(setup: Setup) -> str:
    """Such as `H200 · 700 W · cudagraph · bf16 · h200x2`."""
    source = setup.system or setup.source
    parts = (name_board(setup.board), _format_cap(setup), setup.engine, setup.precision, source)
    suffix = "" if setup.provenance == "measured" else f" ({setup.provenance})"
    return " · ".join(filter(None, parts)) + suffix


def _format_cap(setup: Setup) -> str | None:
    return None if setup.cap_w is None else f"{setup.cap_w:g} W"


def identify_setup(setup: Setup) -> str:
    """An id for addresses, which does not depend on the other setups of a page."""
    parts = (
        setup.source,
        name_board(setup.board),
        _format_cap(setup),
        setup.engine,
        setup.precision,
    )
    return "-".join(filter(None, parts)).replace(" ", "-")


def find_setup_look(setup: Setup) -> Look:
    """How the results of a setup are drawn: by its board, its engine and precision, and its
    provenance, as everywhere in a report."""
    provenance = cast(
        Provenance, SIMULATED if setup.provenance in NOT_COMPARED else setup.provenance
    )
    return Look(name_family(setup.board), f"{setup.engine} {setup.precision}", provenance)
