"""Mutations that the rule `epochs-shared` must find."""

from rules.checks.across.epochs_shared import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import POWER, move_after, renew_noise, scale_readings, use_other_boards


def copy_with_other_noise(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    """Tables of the other run with other noise, losses, boards and date: the sums over the epochs
    remain."""
    uuids = {
        uuid: other_uuid
        for rank, other_rank in zip(run.result["ranks"], other_run.result["ranks"], strict=True)
        for other_uuid, uuid in zip(rank["accelerators"], other_rank["accelerators"], strict=True)
    }
    run.samples, run.batches = other_run.samples.copy(), other_run.batches.copy()
    run.samples["accelerator"] = run.samples["accelerator"].replace(uuids)
    run.result["sampling"] = dict(other_run.result["sampling"])
    run.result["settings"]["batches_per_epoch"] = other_run.result["settings"]["batches_per_epoch"]
    move_after(run, other_run)
    use_other_boards(run)
    renew_noise(run, 3, (*POWER, "sm_mhz", "mem_power_mw"))


@pairing(RULE, other_center=True)
def copy_with_other_noise_in_all_columns(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    copy_with_other_noise(run, other_run)


@pairing(RULE, other_center=True)
def copy_with_other_noise_and_two_percent_less_power(
    run: EvidenceFrames, other_run: EvidenceFrames
) -> None:
    copy_with_other_noise(run, other_run)
    scale_readings(run, 0.98)
