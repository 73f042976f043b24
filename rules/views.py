"""The kinds of bundles as rules see them."""

from collections.abc import Sequence
from pathlib import Path

from rules.bundle import Bundle
from rules.bundle_format.evidence import ObservationEvidence
from rules.bundle_format.files import Files
from rules.bundle_format.load import read_evidence
from rules.bundle_format.observation_files import read_observation
from rules.bundle_format.records import OBSERVATION, STUDY, Json
from rules.bundle_format.study_load import read_study
from rules.finding import Problem
from rules.observations.bundle import ObservationBundle
from rules.studies.bundle import StudyBundle

FIRST_VERSION = "1.0"
AnyBundle = Bundle | StudyBundle | ObservationBundle


def open_view(
    path: Path, files: Files, problems: Sequence[Problem] = (), evidence: bool = True
) -> AnyBundle:
    """The bundle with these files, in the directory `path`. The problems of reading follow
    `problems`. Without `evidence`, only the kind of the bundle is established."""
    if files.kind is STUDY:
        study, own_problems = read_study(files) if evidence else (None, [])
        return StudyBundle(path, (*problems, *own_problems), study)
    if files.kind is OBSERVATION:
        observation, own_problems = read_observation(files) if evidence else (None, [])
        return ObservationBundle(path, (*problems, *own_problems), observation)
    run, own_problems = read_evidence(files) if evidence else (None, [])
    return Bundle(path, (*problems, *own_problems), run)


def get_main_document(view: AnyBundle) -> Json:
    """The document that states what was measured: result.json of a run, study.json of a study,
    observation.json of an observed job."""
    if isinstance(view, ObservationBundle):
        return view.observation
    return view.result if isinstance(view, Bundle) else view.study


def list_documents(view: AnyBundle) -> tuple[Json, ...]:
    """The JSON files of a bundle with evidence, in the order of its kind."""
    if isinstance(view.evidence, ObservationEvidence):
        return (view.evidence.observation,)
    assert view.evidence is not None
    return (get_main_document(view), view.evidence.system, view.evidence.environment)


def get_version(view: AnyBundle) -> str:
    """The version of the protocol that a run follows, or of the method that a study follows. An
    observed job follows none, so that all rules hold."""
    if isinstance(view, ObservationBundle):
        return FIRST_VERSION
    return view.protocol.version if isinstance(view, Bundle) else view.method.version
