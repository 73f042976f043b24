"""The smoke size of the workload with a target: its trainings reach the target."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.lazy_module import LazyModule

from rules.contract import Job, Training
from rules.workloads import workloads

torch = LazyModule("torch")
xception_transfer = LazyModule("reference.xception_transfer")
WORKLOAD = workloads()["xception-transfer"]
TRAININGS = 4

pytestmark = pytest.mark.xdist_group("torch")


class ListRecorder:
    """Takes `TRAININGS` trainings."""

    def __init__(self) -> None:
        self.trainings: list[Training] = []
        self.losses: list[float] = []

    def more(self) -> bool:
        return len(self.trainings) < TRAININGS

    def start(self) -> None:
        pass

    def end(self, items: int, loss: Any = None, training: Training | None = None) -> None:
        assert items == 1 and training is not None
        self.trainings.append(training)
        self.losses.append(float(loss))


def make_job(seed: int = 1) -> Job:
    return Job(WORKLOAD.id, "baseline", "smoke", 32, seed, "cpu")


@pytest.fixture(scope="module", autouse=True)
def threads() -> Iterator[None]:
    """The implementation computes with one thread."""
    count = torch.get_num_threads()
    yield
    torch.set_num_threads(count)


def test_every_seed_reaches_the_target_and_takes_its_own_steps() -> None:
    assert WORKLOAD.smoke is not None
    target = WORKLOAD.smoke.target
    assert target is not None
    built = xception_transfer.build(make_job())
    assert built.parameters == WORKLOAD.smoke.parameters
    assert built.settings["target_accuracy"] == target.accuracy
    assert built.settings["pretraining_accuracy"] > 0.5
    recorder = ListRecorder()
    built.run(recorder)
    assert len({training.seed for training in recorder.trainings}) == TRAININGS
    assert len({training.steps for training in recorder.trainings}) > 1
    for training in recorder.trainings:
        assert training.accuracy >= target.accuracy
        assert training.steps % target.steps_between == 0
        assert training.accuracy * target.held_out == pytest.approx(
            round(training.accuracy * target.held_out)
        )
    # One seed gives one training, whatever ran before it.
    again = ListRecorder()
    built.run(again)
    assert again.trainings == recorder.trainings
    assert again.losses == pytest.approx(recorder.losses)


def test_a_training_that_misses_the_target_ends_the_run() -> None:
    job = make_job()
    size = WORKLOAD.size("smoke")
    random = torch.Generator().manual_seed(1)
    classes = xception_transfer.DIFFICULTIES["smoke"].target_classes
    task = xception_transfer.make_task(classes, size, job, random)
    network = xception_transfer.add_head(
        *xception_transfer.make_backbone(WORKLOAD.model, job),
        classes,
        job,
    )
    target = type(size.target)(accuracy=1.0, held_out=100, steps_between=2, max_steps=4)
    with pytest.raises(
        ValueError, match=r"seed 7 has an accuracy of 0\.\d{3} after 4 steps, below"
    ):
        xception_transfer.train_to_target(network, task, 7, target, job)


def test_seeds_of_trainings_are_different_in_all_ranks_and_runs() -> None:
    seeds = {
        Job(WORKLOAD.id, "tuned", "smoke", 32, seed, "cpu", rank, 8).make_training_seed(number)
        for seed in (0, 1, 2)
        for rank in range(8)
        for number in range(100)
    }
    assert len(seeds) == 3 * 8 * 100
