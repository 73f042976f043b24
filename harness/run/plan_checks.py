"""The checks of a plan that do not prevent its run."""

import math
from collections.abc import Iterator
from operator import attrgetter

from harness.checks import Check, check_code, check_container, check_power_state, check_signing
from harness.run.plan import Plan
from rules.boards import find_board
from rules.metrics.node.figures import MIN_READINGS_RUN
from rules.protocol import CURRENT


def check_plan(plan: Plan) -> Iterator[Check]:
    """Yield the checks of a plan that do not prevent its run."""
    is_demo = plan.is_demo
    missing_keys = [key for key, value in plan.system.items() if not value]
    if missing_keys and not is_demo:
        found = f"the description of the system lacks {', '.join(missing_keys)}"
        yield Check("description", None, found, "name a TOML file with --system")
    code = check_code()
    # The check warns of uncommitted code, but not in a demo.
    if is_demo and not code.ok:
        code = Check("code", True, "changes that are not committed, which a demo may have")
    yield code
    if not is_demo:
        yield check_container()
    shared_boards = {device.uuid for device in plan.devices}.intersection(
        plan.reproduces.boards if plan.reproduces else ()
    )
    if shared_boards and not is_demo:
        boards = (
            f"{', '.join(sorted(shared_boards))}: the original ran on this accelerator, so the "
            "reproduction will not count (X120)"
        )
        yield Check("reproduction", None, boards, "choose another one with CUDA_VISIBLE_DEVICES")
    name = plan.devices[0].name
    known = find_board(name, plan.devices[0].memory_bytes)
    yield (
        Check(
            "board",
            None,
            f"{name}: the rule book has no data sheet of this board, so MFU and bounds are not "
            "computed",
        )
        if known is None or not known.peak_tflops
        else Check("board", True, f"{name}: the rule book has its data sheet")
    )
    yield from check_power_state(name, plan.state)
    yield from _check_readings(plan)
    yield check_signing()


def _check_readings(plan: Plan) -> Iterator[Check]:
    """Yield the node meters that are read too rarely for figures of nodes."""
    scored_epochs = plan.epochs - CURRENT.discarded_epochs
    for meter in filter(attrgetter("is_of_record"), plan.node_meters):
        interval_s = meter.interval_ms / 1e3
        count = int(scored_epochs * plan.configuration.epoch_s / interval_s)
        if count < MIN_READINGS_RUN:
            # One reading more than needed, because an epoch may end early.
            epoch_s = math.ceil((MIN_READINGS_RUN + 1) * interval_s / scored_epochs * 2) / 2
            yield Check(
                "readings of nodes",
                None,
                f"the scored epochs hold {count} readings of meter {meter.id}, and figures of "
                f"nodes need {MIN_READINGS_RUN} (N119)",
                f"give --epoch-seconds {epoch_s:g} or more",
            )
