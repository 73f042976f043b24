"""The setups compared."""

from reporting.sections.section import Section

SECTION = Section(
    name="pairs",
    place=320,
    paper_keys=(
        *("setup", "other", "energy_ratio", "throughput_ratio", "n", "r", "r_log", "rho"),
        "energy_sd",
    ),
)
