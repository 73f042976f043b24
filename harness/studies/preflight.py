"""Checks a study and the machine before it starts."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from harness.checks import (
    Check,
    check_code,
    check_container,
    check_packages,
    check_power_state,
    check_signing,
    check_target,
)
from harness.errors import PlanError
from harness.run import preflight
from harness.studies.earlier import EarlierStudy
from harness.studies.plan import SIMULATED_MODELS, StudyEntry, StudyPlan, StudySettings
from harness.studies.planning import (
    StudyRequest,
    choose_models,
    describe_models,
    list_entries,
    make_plan,
    make_settings,
    read_table,
)
from rules.boards import find_board
from rules.finding import format_count
from rules.studies.accuracy import AccuracyTable
from rules.studies.order import order_work

NamedCheck = tuple[str, tuple[str, ...], Callable[[], Check | None]]


class StudyPreflight(preflight.Preflight):
    """The checks before a session of a study, and the plan that follows from them. `earlier` is the
    study to continue."""

    def __init__(self, request: StudyRequest, out: Path, earlier: EarlierStudy | None) -> None:
        super().__init__(request.run, out)
        self.study_plan: StudyPlan | None = None
        """None before the checks, and if one fails without which there is no plan."""
        self.accuracies: AccuracyTable | None = None
        self._request, self._earlier = request, earlier
        self._settings: StudySettings | None = None
        self._entries: tuple[StudyEntry, ...] = ()
        self._selected: tuple[StudyEntry, ...] = ()

    def examine(self) -> Iterator[Check]:
        """Make the checks in order, as `harness.run.preflight.Preflight.examine`."""
        yield from super().examine()
        if self.study_plan is not None and self.machine is not None:
            yield check_code()
            yield check_container()
            device = self.machine.devices[0]
            name, known = device.name, find_board(device.name, device.memory_bytes)
            if known is None or not known.peak_tflops:
                found = (
                    f"{name}: the rule book has no data sheet of this board, so its peak is unknown"
                )
                yield Check("board", None, found)
            yield from check_power_state(name, self.machine.state)
            yield check_signing()

    def _list_checks(self) -> Iterator[NamedCheck]:
        yield "accuracy", (), self._check_accuracy
        yield "models", ("accuracy",), self._check_models
        yield "stack", (), self._check_study_stack
        yield "target", (), lambda: check_target(self.out)
        yield "system.toml", (), self._check_description
        yield "meter", (), self.check_machine
        yield "right to set caps", ("meter",), self.check_right
        yield "plan", ("models", "system.toml", "meter"), self._make_study_plan

    def _check_accuracy(self) -> Check:
        earlier, path = self._earlier, self._request.accuracy
        if earlier is not None and path is None and earlier.plan.accuracy is not None:
            path = Path(earlier.plan.accuracy)
        table = read_table(path)
        if earlier is not None and table.sha256 != earlier.plan.accuracy_sha256:
            raise PlanError(
                f"{earlier.path}: the study refers to a table of accuracy with SHA-256 "
                f"{earlier.plan.accuracy_sha256}, and this one has {table.sha256}; name that table "
                "with --accuracy"
            )
        self.accuracies = table
        return Check("accuracy", True, f"{path or 'shipped table'}, published, not measured")

    def _check_models(self) -> Check:
        assert self.accuracies is not None
        request, earlier = self._request, self._earlier
        earlier_work: tuple[StudyEntry, ...] = ()
        if earlier is None:
            settings, seed = make_settings(request), request.run.seed
        else:
            earlier.refuse_other_settings(request)
            settings, seed, earlier_work = (
                earlier.plan.settings,
                earlier.plan.seed,
                earlier.plan.work,
            )
        entries, selected = earlier_work, earlier.plan.selected if earlier else ()
        if earlier is None or request.models is not None:
            models = choose_models(request)
            selected = list_entries(models, settings, self.accuracies, seed)
            # All in the order of the seed, so that a session measures old and new ones in it.
            entries = tuple(order_work({*earlier_work, *selected}, seed))
            if len(entries) > len(earlier_work) > 0:
                settings = replace(settings, models=f"{settings.models},{describe_models(models)}")
        remaining = () if earlier is None else earlier.state.list_remaining(selected or entries)
        if earlier is not None and earlier.is_bundle and not remaining:
            raise PlanError(
                f"{earlier.path}: nothing is left to measure in this study; name more models with "
                "--models"
            )
        self._settings, self._entries = settings, entries
        self._selected = () if earlier is None else selected
        description = f"{format_count(len(entries), 'model')}: {settings.models}"
        if added := len(entries) - len(earlier_work) if earlier_work else 0:
            description += f"; {added} new"
        if self._selected:
            description += f"; {len(remaining)} selected"
        return Check("models", True, description)

    def _check_study_stack(self) -> Check:
        if self._simulates_models:
            return Check("stack", True, "none needed: the models are simulated")
        return check_packages("stack", ("torch", "timm"))

    @property
    def _simulates_models(self) -> bool:
        if self._earlier is not None:
            return self._earlier.plan.implementation == SIMULATED_MODELS
        return self.run_request.simulates_work

    def check_machine(self) -> Check:
        check = super().check_machine()
        if self._earlier is not None and self.machine is not None:
            self._earlier.refuse_other_boards(self.machine)
        return check

    def _make_study_plan(self) -> None:
        assert self.machine and self.accuracies and self._settings
        assert self._description is not None
        if self._earlier is None:
            self.study_plan = make_plan(
                self._request,
                self._settings,
                self._entries,
                self.accuracies,
                self.machine,
                self._description,
            )
        else:
            self.study_plan = replace(
                self._earlier.plan,
                settings=self._settings,
                work=self._entries,
                selected=self._selected,
            )
