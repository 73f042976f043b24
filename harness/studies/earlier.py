"""The study that `--resume` names: an unfinished one, or the bundle of a finished one."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from checker.engine import judge
from harness.errors import MachineError, PlanError
from harness.run.plan import Machine, RunRequest
from harness.run.run_directory import hold_directory
from harness.studies.plan import (
    REFERENCE_MODELS,
    RUNNING_SUFFIX,
    SIMULATED_MODELS,
    StudyPlan,
    StudySettings,
)
from harness.studies.planning import SMOKE_ANCHOR, StudyRequest, split_names
from harness.studies.state import StudyState, load_base, load_state, parse_work
from harness.studies.study_directory import BASE_DIRECTORY
from harness.system import DESCRIPTION, hash_source
from rules.bundle_format.evidence import StudyEvidence
from rules.bundle_format.records import Json
from rules.bundle_format.study_records import STUDY_FILE
from rules.finding import Severity
from rules.json_record import from_json
from rules.registry import is_form_finding
from rules.studies.order import order_work

SIMULATED_METER = "simulated:"


@dataclass(frozen=True)
class EarlierStudy:
    """The study to continue."""

    path: Path
    """Its directory: unfinished, or a bundle."""
    plan: StudyPlan
    """Of a bundle: the plan of the study that continues it, without a new name."""
    state: StudyState
    is_bundle: bool

    @property
    def meter(self) -> str | None:
        """The meter of the last session, None if there was no session."""
        if self.state.sessions:
            return self.state.sessions[-1].record.plan.meter
        return self._last_session["sampling"]["meter"] if self._last_session else None

    @property
    def _last_session(self) -> Json | None:
        return self.state.base.study["sessions"][-1] if self.state.base else None

    def complete_request(self, run: RunRequest) -> RunRequest:
        """Return the request with the meter of the last session, unless it names one."""
        run = replace(run, smoke=self.plan.settings.anchor == SMOKE_ANCHOR)
        if self.meter is None or run.meter is not None or run.simulate is not None:
            return run
        if self.meter.startswith(SIMULATED_METER):
            return replace(run, simulate=self.meter.removeprefix(SIMULATED_METER))
        return replace(run, meter=self.meter)

    def refuse_other_settings(self, request: StudyRequest) -> None:
        """Raise PlanError if the command line asks for other settings than the study has."""
        settings = self.plan.settings
        pairs: tuple[tuple[str, Any, Any], ...] = (
            ("--engine", _join_names(request.engines), ",".join(settings.engines)),
            ("--precision", _join_names(request.precisions), ",".join(settings.precisions)),
            ("--like", request.like, settings.like),
            ("--full", request.full or None, settings.full),
            ("--long-seconds", request.long_s, settings.long_s),
            ("--seed", request.seed, self.plan.seed),
        )
        for option, given, actual in pairs:
            if given is not None and given != actual:
                raise PlanError(
                    f"{option}: the study {self.path} has {actual}, and all its sessions must have "
                    f"the same settings; leave out {option}, or start a new study"
                )

    def refuse_other_boards(self, machine: Machine) -> None:
        """Raise MachineError if the boards are not of the kind of the study, or have another
        cap."""
        if self.state.sessions:
            session = self.state.sessions[-1].record.plan
            names, cap_w = {device.name for device in session.devices}, session.cap_w
        elif self.state.base is not None and self._last_session is not None:
            nodes = self.state.base.system["nodes"]
            names = {board["name"] for node in nodes for board in node["accelerators"]}
            cap_w = self._last_session["power"]["cap_w"]
        else:
            return
        if (present := {device.name for device in machine.devices}) != names:
            raise MachineError(
                f"{self.path}: the study measured on {', '.join(sorted(names))}, and the boards "
                f"here are {', '.join(sorted(present))}; continue it on boards of the same kind"
            )
        if machine.cap_w != cap_w:
            raise MachineError(
                f"{self.path}: the study measured at a cap of {_format_cap(cap_w)}, and here it is "
                f"{_format_cap(machine.cap_w)}; set the same cap, with --cap or by an administrator"
            )


def _join_names(text: str | None) -> str | None:
    """Return the names of an option in the form in which a message shows those of the study."""
    return None if text is None else ",".join(split_names(text))


def _format_cap(cap_w: float | None) -> str:
    return "none" if cap_w is None else f"{cap_w:g} W"


def find_earlier(path: Path) -> EarlierStudy:
    """Return the study that `--resume` names. Raises PlanError."""
    path = path.resolve()
    if path.name.endswith(RUNNING_SUFFIX):
        return _find_unfinished(path)
    advice = (
        f"name the directory .STUDY_ID{RUNNING_SUFFIX} of an unfinished study, or the bundle of a "
        "finished one"
    )
    if not path.is_dir():
        raise PlanError(f"--resume {path}: there is no such directory; {advice}")
    if not (path / STUDY_FILE).is_file():
        raise PlanError(f"--resume {path}: no bundle of a study: {STUDY_FILE} is missing; {advice}")
    errors = [
        finding
        for finding in judge(path, signed=False).findings
        if finding.severity == Severity.ERROR and is_form_finding(finding)
    ]
    if errors:
        raise PlanError(
            f"--resume {path}: the bundle is not intact: {errors[0].rule} {errors[0].file} "
            f"{errors[0].pointer}: {errors[0].found}; restore it from the machine of the study"
        )
    evidence = load_base(path)
    plan = _check_implementation(path, _plan_continuation(path, evidence))
    return EarlierStudy(path, plan, StudyState(evidence, ()), is_bundle=True)


def _find_unfinished(path: Path) -> EarlierStudy:
    plan = StudyPlan.load(path)
    if (target := path.parent / plan.study_id).exists():
        raise PlanError(
            f"{path}: the study is finished; its bundle is {target}; continue it with --resume "
            f"{target}"
        )
    # Another process may measure it. Only the lock shows that.
    with hold_directory(path):
        state = load_state(path)
    return EarlierStudy(path, _check_implementation(path, plan), state, is_bundle=False)


def _plan_continuation(path: Path, evidence: StudyEvidence) -> StudyPlan:
    study, system = evidence.study, evidence.system
    names = (*DESCRIPTION, "meters")
    return StudyPlan(
        study_id=study["study_id"],
        seed=study["seed"],
        settings=from_json(StudySettings, study["settings"], is_validated=True),
        # A bundle lists the entries by session. The next session measures all in the order of the
        # seed.
        work=tuple(order_work(map(parse_work, study["work"]), study["seed"])),
        implementation=study["implementation"]["name"],
        implementation_sha256=study["implementation"]["sha256"],
        accuracy_sha256=study["accuracy"]["sha256"],
        system={name: system[name] for name in names if name in system},
        source_sha256=hash_source(),
        base=study["study_id"],
    )


def _check_implementation(path: Path, plan: StudyPlan) -> StudyPlan:
    """Return the plan with the hash of the present code. Raises PlanError if this version of
    wattmark does not have the program that runs the models."""
    if plan.implementation not in (REFERENCE_MODELS, SIMULATED_MODELS):
        raise PlanError(
            f"--resume {path}: this version of wattmark does not have {plan.implementation}, which "
            "runs the models of the study; start a new study"
        )
    return replace(plan, source_sha256=hash_source())


def copy_base(bundle: Path, directory: Path) -> None:
    """Copy the files of a bundle into the directory of the study that continues it. Raises
    OSError."""
    target = directory / BASE_DIRECTORY
    shutil.copytree(bundle, target, ignore=shutil.ignore_patterns("signatures"))
