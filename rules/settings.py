"""The settings of a run that are compared: each one once, as data.

What rules, sweeps, repeats, reproductions and the report compare, copy or show follows from these
entries (docs/design.md, "Where a setting lives"). An entry has no code. What is not the value at
one place of result.json is computed in `rules.run_summary`, which has the reasons.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from rules.declarations.run import RunDeclaration


@dataclass(frozen=True)
class Display:
    """How the report shows a setting that only submitted runs have. What published figures state
    too is a field of `reporting.results_model.ResultRow`."""

    head: str
    """The head of its columns."""
    meaning: str
    """What the data dictionary says of it."""
    choice: str
    """Its name in the address of the page."""
    choice_head: str
    is_permanent: bool = False
    """Whether its columns are there even if no run has a value."""


@dataclass(frozen=True)
class Setting:
    """A setting. Unless said otherwise, runs that differ in it have different configurations."""

    name: str
    """In findings, and in the comparison of two rounds."""
    pointer: str = ""
    """Its place in result.json; empty if it is computed."""
    unit: str = ""
    type: Literal["text", "integer", "number", "truth"] = "text"
    absent: object = None
    """Its value in a run that does not state it."""
    is_configuration: bool = True
    is_work: bool = False
    """Whether runs of different centers are compared only if they agree in it."""
    is_planned: bool = False
    """Whether the plan of a run decides it, so that repeats and the finished runs of a sweep must
    agree with the plan in it."""
    is_repeated: bool = False
    """Whether a reproduction asks for the value of its original. The field `key` of a request has
    it unchanged."""
    is_optional: bool = False
    """Whether result.json states it only if the request did."""
    axes: tuple[str, ...] = ()
    """The axes of a sweep that vary it."""
    label: str = ""
    """Its name in the messages of bench-submit, if that is not `key`."""
    display: Display | None = None

    @property
    def key(self) -> str:
        """Its name in result.json, and in plans, tables and data sets that have it as it is."""
        return self.pointer.rpartition("/")[2]

    def read(self, run: RunDeclaration) -> object:
        """The value that a run states."""
        value: object = run
        for name in self.pointer[1:].split("/"):
            value = getattr(value, name, None)
        return self.absent if value is None else value


_BY_VARIANT = ("variant", "precision")
_OF_REQUESTS = "/settings/requests/"

SETTINGS = (
    Setting(
        "cap in W",
        "/power/cap_w",
        "W",
        "number",
        is_configuration=False,
        is_repeated=True,
        axes=("cap",),
    ),
    Setting("boards", is_work=True, axes=("gpus",)),
    Setting("protocol", is_work=True),
    # Some variants are for the open division only.
    Setting("standing", is_work=True, axes=_BY_VARIANT),
    Setting("workload", "/workload", is_work=True, is_planned=True),
    Setting("size", "/size", is_work=True, is_planned=True),
    Setting(
        "variant",
        "/implementation/variant",
        is_work=True,
        is_planned=True,
        is_repeated=True,
        axes=_BY_VARIANT,
    ),
    Setting("precision", "/implementation/precision", is_work=True, axes=_BY_VARIANT),
    Setting("implementation", "/implementation/name", is_planned=True, label="implementation"),
    Setting(
        "implementation sha256",
        "/implementation/sha256",
        is_planned=True,
        label="implementation's sha256",
    ),
    Setting("recipe", axes=_BY_VARIANT),
    Setting(
        "batch size",
        "/settings/batch_size",
        "samples",
        "integer",
        is_planned=True,
        axes=("batch", "concurrency"),
    ),
    Setting("nodes", "/settings/nodes", type="integer"),
    Setting("input", "/settings/input"),
    Setting("weights", "/settings/weights", is_planned=True),
    Setting("corpus sha256", "/settings/corpus_sha256", is_planned=True),
    Setting("options", "/settings/options", absent={}, is_planned=True),
    Setting("host load"),
    Setting(
        "SM clock in MHz",
        "/power/sm_clock_mhz",
        "MHz",
        "integer",
        is_planned=True,
        is_repeated=True,
        is_optional=True,
        axes=("sm-clock",),
        display=Display(
            "locked SM clock",
            "SM clock at which the run locked every accelerator; empty if it locked none",
            "clock",
            "SM clock",
            is_permanent=True,
        ),
    ),
    Setting(
        "prompt tokens",
        f"{_OF_REQUESTS}prompt_tokens",
        "tokens",
        "integer",
        is_planned=True,
        is_repeated=True,
    ),
    Setting(
        "output tokens",
        f"{_OF_REQUESTS}output_tokens",
        "tokens",
        "integer",
        is_planned=True,
        is_repeated=True,
    ),
    Setting(
        "request rate",
        f"{_OF_REQUESTS}rate_per_s",
        "1/s",
        "number",
        is_planned=True,
        is_repeated=True,
    ),
    Setting("uniform lengths", f"{_OF_REQUESTS}uniform", type="truth", is_planned=True),
    Setting("meter", "/sampling/meter", is_configuration=False, is_planned=True),
    Setting(
        "target length of an epoch",
        "/settings/epoch_target_s",
        "s",
        "number",
        is_configuration=False,
        is_planned=True,
    ),
)
"""All settings. Findings, columns and messages list them in this order."""

OPTIONAL_SETTINGS = tuple(setting for setting in SETTINGS if setting.is_optional)
SHOWN_SETTINGS = tuple((s, s.display) for s in SETTINGS if s.display is not None)
"""The settings with columns of their own, and how they are shown."""


class ConfigurationKey(dict[str, object]):
    """What ran, by the names of the settings, in their order. It never changes, so that it can
    group runs."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))

    def without(self, names: Iterable[str]) -> "ConfigurationKey":
        """The other settings."""
        left_out = set(names)
        return ConfigurationKey((k, v) for k, v in self.items() if k not in left_out)


def make_key(run: RunDeclaration, computed: Mapping[str, object]) -> ConfigurationKey:
    """The configuration of a run. `computed` has the settings without a place in result.json."""
    return ConfigurationKey(
        (setting.name, _freeze(setting.read(run)) if setting.pointer else computed[setting.name])
        for setting in SETTINGS
        if setting.is_configuration
    )


def _freeze(value: object) -> object:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value


def list_axis_settings(axes: Iterable[str], serves_default: bool) -> set[str]:
    """The names of the settings that differ between the runs of a sweep over these axes.
    `serves_default` says whether the runs are of a server with its default number of requests in
    flight, which is proportional to the accelerators."""
    varied = set(axes)
    names = {setting.name for setting in SETTINGS if varied & {*setting.axes}}
    return names | {"batch size"} if serves_default and "gpus" in varied else names
