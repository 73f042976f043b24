"""The sweep that the command line asks for: its axes, their values, and the reference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.run.plan import PlanError, RunRequest
from harness.run.planning import find_workload, get_default_batch_size
from harness.sweep.axis import (
    AXES,
    BATCH,
    CAP,
    CONCURRENCY,
    GPUS,
    PRECISION,
    SM_CLOCK,
    VARIANT,
    Axis,
    Value,
)
from harness.sweep.plan import Entry, shuffle_runs
from rules.workloads import Workload, workloads

MAX_AXES = 2


@dataclass(frozen=True)
class SweepRequest:
    """The sweep that the command line asks for."""

    run_request: RunRequest
    """What all runs share."""
    axes: tuple[Axis, ...]
    """The cap, every other setting that varies, and the number of accelerators. The cap has no
    values yet if the boards decide which caps of the protocol are run."""
    repeats: int
    reference: Mapping[str, Value]
    """The value of each axis, by its name, that the others are compared with. A cap that is absent
    is the default cap of the board, and an SM clock that is absent is that without a lock."""

    @property
    def caps_w(self) -> tuple[float | None, ...]:
        """The caps in W; empty if the boards decide."""
        return self.axes[0].values  # type: ignore[return-value]

    @property
    def sm_clocks_mhz(self) -> set[int]:
        """The SM clocks at which runs lock the accelerators."""
        entries = shuffle_runs(self.axes[1:], 1, self.run_request.seed)
        clocks_mhz = (SM_CLOCK.read(entry.apply(self.run_request)) for entry in entries)
        return {mhz for mhz in clocks_mhz if isinstance(mhz, int)}

    @property
    def axis_names(self) -> tuple[str, ...]:
        """The names of the axes that vary; of the cap if none does."""
        return tuple(axis.name for axis in self.axes if axis.varies) or (CAP.name,)

    @property
    def largest_run(self) -> RunRequest:
        """The request of a run with the most accelerators, the largest batch and the highest locked
        clock, without a cap."""
        entries = shuffle_runs(self.axes[1:], self.repeats, self.run_request.seed)
        largest = max(
            entries, key=lambda entry: (entry.gpus, entry.batch or 0, SM_CLOCK.read(entry) or 0)
        )
        return largest.apply(self.run_request)

    def with_caps(self, caps_w: Sequence[float | None]) -> "SweepRequest":
        """Return the request with these caps. Raises PlanError if the reference is none of them."""
        cap = CAP.take(*caps_w)
        if CAP.name in self.reference:
            _require_value(cap, self.reference[CAP.name])
        return replace(self, axes=(cap, *self.axes[1:]))

    def shuffle(self) -> tuple[Entry, ...]:
        """Return the runs in their order. Raises PlanError."""
        return shuffle_runs(self.axes, self.repeats, self.run_request.seed)


def read_request(
    run_request: RunRequest,
    texts: Mapping[str, str | None],
    references: Sequence[str],
    repeats: int,
) -> SweepRequest:
    """Return the requested sweep. `texts` are the values of the axes as the command line gives
    them, by the name of the axis. `references` are values, or axes and values: `batch=64`.

    Raises PlanError for what cannot be swept.
    """
    axes = {
        name: axis.take(*axis.parse(text))
        for name, axis in AXES.items()
        if (text := texts.get(name)) is not None
    }
    run_request = _choose_variant(run_request, axes)
    workload = find_workload(run_request)
    _check_combination(workload, axes)
    if BATCH.name in axes and workload.mode == "inference":
        axes[CONCURRENCY.name] = CONCURRENCY.take(*axes.pop(BATCH.name).values)
    varied_axes = [axis for axis in axes.values() if axis.varies]
    # Other settings need no right to set caps, so a sweep over them leaves the cap as found.
    axes.setdefault(CAP.name, CAP.take(None) if varied_axes else CAP)
    axes.setdefault(GPUS.name, GPUS.take(1))
    for axis in axes.values():
        # A workload does not have every variant and every precision.
        for value in axis.values:
            find_workload(axis.apply(run_request, value))
        if not axis.varies and axis.name not in (CAP.name, GPUS.name):
            run_request = axis.apply(run_request, axis.values[0])
    kept_axes = tuple(
        axes[name]
        for name in AXES
        if name in (CAP.name, GPUS.name) or (name in axes and axes[name].varies)
    )
    if run_request.batch is None and BATCH.field not in {axis.field for axis in kept_axes}:
        run_request = _fix_batch(run_request, workload, kept_axes)
    reference = _read_references(kept_axes, references)
    return SweepRequest(run_request, kept_axes, repeats, reference)


def _choose_variant(run_request: RunRequest, axes: Mapping[str, Axis]) -> RunRequest:
    """Return the request with the first variant that the command line names. Without one, a sweep
    over precisions starts from the default variant, or from the first if there is none."""
    if VARIANT.name in axes:
        return replace(run_request, variant=str(axes[VARIANT.name].values[0]))
    workload = workloads().get(run_request.workload)
    if PRECISION.name in axes and workload and run_request.variant not in workload.variants:
        return replace(run_request, variant=next(iter(workload.variants)))
    return run_request


def _check_combination(workload: Workload, axes: Mapping[str, Axis]) -> None:
    """Raise PlanError for axes that cannot be varied together, or not with this workload."""
    if CONCURRENCY.name in axes and workload.mode != "inference":
        raise PlanError(f"--concurrency: {workload.id} serves no requests; vary --batch instead")
    if BATCH.name in axes and CONCURRENCY.name in axes:
        raise PlanError("--batch and --concurrency are one setting of a server; give one of them")
    if PRECISION.name in axes and VARIANT.name in axes and axes[VARIANT.name].varies:
        raise PlanError(
            "--precision and several values of --variant: a variant has one precision; vary one "
            "of them"
        )
    varied_axes = [axis for axis in axes.values() if axis.varies]
    if len(varied_axes) > MAX_AXES:
        options = ", ".join(axis.option for axis in varied_axes)
        raise PlanError(
            f"{options}: a sweep varies at most {MAX_AXES} settings; give one value of the others"
        )


def _fix_batch(run_request: RunRequest, workload: Workload, axes: Sequence[Axis]) -> RunRequest:
    """Return the request with the smallest default batch size of the variants that a sweep varies.
    Variants with batch sizes of their own would differ in two settings. Raises PlanError."""
    (*_, gpus) = axes
    for axis in axes:
        if axis.name in (VARIANT.name, PRECISION.name):
            # The default of a server is proportional to its accelerators.
            if workload.mode == "inference" and gpus.varies:
                raise PlanError(f"{axis.option} and --gpus: give --concurrency too")
            variants = [axis.apply(run_request, value).variant for value in axis.values]
            sizes = [
                get_default_batch_size(
                    workload, run_request.size, variant, int(gpus.values[0] or 1)
                )
                for variant in variants
            ]
            return replace(run_request, batch=str(min(sizes)))
    return run_request


def _read_references(axes: Sequence[Axis], texts: Sequence[str]) -> dict[str, Value]:
    """Return the value of each axis, by name, that the others are compared with: that of
    `--reference`, or the first. Raises PlanError."""
    # The cap varies too if its values are not known yet.
    varied_axes = {axis.name: axis for axis in axes if axis.varies or not axis.values}
    # An absent value is the default of the board: its default cap, or clocks without a lock.
    reference: dict[str, Value] = {
        name: axis.values[0]
        for name, axis in varied_axes.items()
        if name != CAP.name and axis.values[0] is not None
    }
    names = ", ".join(varied_axes)
    for text in texts:
        name, equals, value_text = text.rpartition("=")
        if not equals and len(varied_axes) == 1:
            (name,) = varied_axes
        if name not in varied_axes:
            advice = f"the sweep varies {names}; give AXIS=VALUE" if names else "nothing varies"
            raise PlanError(f"--reference {text}: {advice}")
        axis = varied_axes[name]
        values = axis.parse(value_text)
        if len(values) > 1 or values[0] is None:
            raise PlanError(f"--reference {text}: give one value of {axis.option}")
        _require_value(axis, values[0])
        reference[name] = values[0]
    return reference


def _require_value(axis: Axis, value: Value) -> None:
    """Raise PlanError if an axis has values and this is none of them."""
    if axis.values and value not in axis.values:
        labels = ", ".join(map(axis.label, axis.values))
        raise PlanError(
            f"--reference: {axis.label(value)} is not among the runs ({labels}); add it to "
            f"{axis.option}"
        )
