"""The axes of a sweep: the settings that its runs vary, and how the command line gives their
values."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from harness.run.plan import PlanError, RunRequest
from harness.run.planning import find_workload
from rules.settings import OPTIONAL_SETTINGS

Value = float | int | str | None
"""A value of a setting. None leaves the setting as found."""
AS_FOUND = "as-found"
MAX_VALUES = 100
"""How many values an axis has at most."""
MAX_CAP_W = 100_000
MAX_COUNT = 1_000_000
MAX_GPUS = 9_999
MAX_CLOCK_MHZ = 99_999
MAX_DIGITS = 20


@dataclass(frozen=True)
class Axis:
    """A setting that the runs of a sweep vary."""

    name: str
    """In plan files, bundles and `--reference`."""
    option: str
    """The option of `bench-submit sweep` that gives its values."""
    field: str
    """The field of `harness.sweep.plan.Entry` that holds its value."""
    column: str
    """The head of its column in tables, with its unit."""
    parse: Callable[[str], tuple[Value, ...]]
    """Parses the values of the option. Raises PlanError."""
    label: Callable[[Value], str]
    """Returns a value as text, such as `300 W`."""
    apply: Callable[[RunRequest, Any], RunRequest]
    """Returns the request of a run with a value of this setting. Raises PlanError."""
    array: str
    """The name of the array of its values in a batch script."""
    values: tuple[Value, ...] = ()

    def take(self, *values: Value) -> "Axis":
        """Return this axis with these values."""
        return replace(self, values=values)

    def read(self, settings: Any) -> Value:
        """Return the value in an entry, or in a request if that has the field."""
        value: Value = getattr(settings, self.field)
        return value

    @property
    def varies(self) -> bool:
        """Whether the runs differ in this setting."""
        return len(self.values) > 1


def parse_caps(text: str) -> tuple[float | None, ...]:
    """Parse caps in W: `200:700:100`, `200:800:x2`, `200,300`, or `as-found`, which gives (None,).
    Raises PlanError."""
    if text == AS_FOUND:
        return (None,)
    values = _parse_numbers(
        f"--caps {text}", text, f"give caps in W as 200:700:100 or 200,300,400, or {AS_FOUND}"
    )
    if refused_caps := [cap for cap in values if not 0 < cap < MAX_CAP_W]:
        raise PlanError(
            f"--caps {text}: a cap must be above 0 and below {MAX_CAP_W} W, found "
            f"{refused_caps[0]} W"
        )
    return tuple(float(cap) for cap in values)


def _parse_counts(option: str, text: str, name: str, example: str, highest: int) -> tuple[int, ...]:
    """Parse whole numbers from 1 to `highest`. Raises PlanError."""
    place = f"{option} {text}"
    advice = f"give {name} as {example}"
    values = _parse_numbers(place, text, advice)
    if refused_values := [value for value in values if not 1 <= value <= highest or value % 1]:
        raise PlanError(
            f"{place}: found {refused_values[0]}; {advice}, whole numbers from 1 to {highest}"
        )
    return tuple(int(value) for value in values)


def parse_gpus(text: str) -> tuple[int, ...]:
    """Parse numbers of accelerators such as `1,2,4` or `1:8:x2`. Raises PlanError."""
    return _parse_counts("--gpus", text, "numbers of accelerators", "1,2,4 or 1:8:x2", MAX_GPUS)


def parse_batches(text: str) -> tuple[int, ...]:
    """Parse batch sizes such as `64:4096:x2`. Raises PlanError."""
    if text == "auto":
        raise PlanError(
            "--batch auto: find the batch size with bench-submit run, then give it as a number; "
            "the search would choose another one at every cap"
        )
    return _parse_counts("--batch", text, "batch sizes", "64:4096:x2 or 64,128,256", MAX_COUNT)


def parse_concurrencies(text: str) -> tuple[int, ...]:
    """Parse numbers of requests in flight such as `1:1024:x2`. Raises PlanError."""
    return _parse_counts(
        "--concurrency", text, "numbers of requests in flight", "1:1024:x2 or 64,256", MAX_COUNT
    )


def parse_sm_clocks(text: str) -> tuple[int | None, ...]:
    """Parse SM clocks in MHz such as `990:1980:90`, with `as-found,` before them for a run without
    a lock. Raises PlanError."""
    unlocked = (None,) if text.partition(",")[0] == AS_FOUND else ()
    clocks_text = text.partition(",")[2] if unlocked else text
    if unlocked and not clocks_text:
        return unlocked
    return unlocked + _parse_counts(
        "--sm-clock",
        clocks_text,
        "clocks in MHz",
        f"990:1980:90, or {AS_FOUND},990,1980",
        MAX_CLOCK_MHZ,
    )


def _parse_names(option: str, text: str, example: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if not all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) for name in names):
        raise PlanError(f"{option} {text}: give names separated by commas, as {example}")
    _refuse_repeats(f"{option} {text}", names)
    return names


def parse_variants(text: str) -> tuple[str, ...]:
    """Parse names of variants such as `baseline,tuned`. Raises PlanError."""
    return _parse_names("--variant", text, "baseline,tuned")


def parse_precisions(text: str) -> tuple[str, ...]:
    """Parse names of precisions such as `tf32,bf16`. Raises PlanError."""
    return _parse_names("--precision", text, "tf32,bf16")


def _parse_numbers(place: str, text: str, advice: str) -> tuple[Decimal, ...]:
    """Parse `A:B:STEP` or `A:B:xFACTOR`, both ends included, or a list of distinct numbers."""
    try:
        if ":" in text:
            first, last, step = text.split(":")
            # Decimal: with floats, a step such as 0.1 would not meet the end of the range.
            values = tuple(_list_range(place, _parse_number(first), _parse_number(last), step))
        else:
            values = tuple(map(_parse_number, text.split(",")))
    except (ArithmeticError, ValueError):
        raise PlanError(f"{place}: {advice}") from None
    _refuse_repeats(place, values)
    return values


def _list_range(place: str, first: Decimal, last: Decimal, step: str) -> Iterator[Decimal]:
    is_factor = step.startswith("x")
    change = _parse_number(step.removeprefix("x"))
    form, lowest = ("A:B:xFACTOR", 1) if is_factor else ("A:B:STEP", 0)
    name = form.rpartition(":")[2].removeprefix("x")
    if not (change > lowest and first <= last):
        raise PlanError(
            f"{place}: in {form}, B must not be below A, and {name} must be above {lowest}"
        )
    if is_factor and first <= 0:
        raise PlanError(f"{place}: in {form}, A must be above 0")
    value, previous, count = first, first, 0
    while value <= last:
        # A tiny step would fill the memory.
        if count == MAX_VALUES:
            raise PlanError(f"{place}: a sweep has at most {MAX_VALUES} values of a setting")
        yield value
        previous, count = value, count + 1
        value = value * change if is_factor else value + change
    if previous != last:
        raise PlanError(
            f"{place}: from {first}, the {'factor' if is_factor else 'step'} {change} does not "
            f"reach {last} exactly; end at {previous}"
        )


def _parse_number(text: str) -> Decimal:
    # Decimal reads digits of other scripts too, and "NaN" and "Infinity".
    value = Decimal(text)
    if not text.isascii() or not value.is_finite() or len(text) > MAX_DIGITS:
        raise ValueError(f"{text} is not a number")
    return value


def _refuse_repeats(place: str, values: tuple[Decimal, ...] | tuple[str, ...]) -> None:
    if len(set(values)) < len(values):
        raise PlanError(f"{place}: a value occurs twice; to repeat runs, use --repeat N")
    if len(values) > MAX_VALUES:
        raise PlanError(f"{place}: a sweep has at most {MAX_VALUES} values of a setting")


def select_variant(run_request: RunRequest, precision: str) -> str:
    """Return the variant of the requested workload that has this precision: the requested variant,
    or else one that differs from it in precision only, or else the first one listed. Raises
    PlanError."""
    workload = find_workload(run_request)
    requested = run_request.variant
    pairs = workload.precision_variants if requested in workload.precision_variants else ()
    for variant in (requested, *pairs, *workload.variants):
        if workload.variants[variant] == precision:
            return variant
    labels = ", ".join(f"{name} ({value})" for name, value in workload.variants.items())
    raise PlanError(
        f"--precision {precision}: {workload.id} has no variant of this precision; it has {labels}"
    )


CAP = Axis(
    "cap",
    "--caps",
    "cap_w",
    "cap, W",
    parse_caps,
    lambda cap_w: "cap as found" if cap_w is None else f"{cap_w:g} W",
    lambda request, cap_w: replace(request, cap_w=cap_w),
    "caps",
)


def _make_optional_axis(
    name: str,
    column: str,
    parse: Callable[[str], tuple[Value, ...]],
    label: Callable[[Value], str],
    array: str,
) -> Axis:
    """An axis of a setting of the catalogue that a request and its run have unchanged."""
    (field,) = (setting.key for setting in OPTIONAL_SETTINGS if name in setting.axes)

    def apply(request: RunRequest, value: Value) -> RunRequest:
        return replace(request, **{field: value})  # type: ignore[arg-type]

    return Axis(name, f"--{name}", field, column, parse, label, apply, array)


SM_CLOCK = _make_optional_axis(
    "sm-clock",
    "SM, MHz",
    parse_sm_clocks,
    lambda mhz: "SM clock as found" if mhz is None else f"SM clock {mhz} MHz",
    "clocks",
)
OPTIONAL_AXES = (SM_CLOCK,)
BATCH = Axis(
    "batch",
    "--batch",
    "batch",
    "batch",
    parse_batches,
    "batch {}".format,
    lambda request, batch: replace(request, batch=str(batch)),
    "batches",
)
CONCURRENCY = replace(
    BATCH,
    name="concurrency",
    option="--concurrency",
    column="concurrency",
    parse=parse_concurrencies,
    label="concurrency {}".format,
)
VARIANT = Axis(
    "variant",
    "--variant",
    "variant",
    "variant",
    parse_variants,
    str,
    lambda request, variant: replace(request, variant=variant),
    "variants",
)
PRECISION = Axis(
    "precision",
    "--precision",
    "precision",
    "precision",
    parse_precisions,
    str,
    lambda request, precision: replace(request, variant=select_variant(request, precision)),
    "variants",
)
GPUS = Axis(
    "gpus",
    "--gpus",
    "gpus",
    "GPUs",
    parse_gpus,
    lambda count: f"{count} GPU{'' if count == 1 else 's'}",
    lambda request, count: replace(request, gpus=count),
    "gpus",
)
AXES = {
    axis.name: axis for axis in (CAP, *OPTIONAL_AXES, BATCH, CONCURRENCY, VARIANT, PRECISION, GPUS)
}
"""All axes by name. A plan lists the settings of a run in this order."""
