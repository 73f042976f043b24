"""The two kinds of bundles as rules see them."""

from collections.abc import Sequence
from pathlib import Path

from rules.bundle import Bundle
from rules.bundle_format.files import Files
from rules.bundle_format.load import read_evidence
from rules.bundle_format.records import STUDY, Json
from rules.bundle_format.study_load import read_study
from rules.finding import Problem
from rules.studies.bundle import StudyBundle

AnyBundle = Bundle | StudyBundle


def open_view(
    path: Path, files: Files, problems: Sequence[Problem] = (), evidence: bool = True
) -> AnyBundle:
    """The bundle with these files, in the directory `path`. The problems of reading follow
    `problems`. Without `evidence`, only the kind of the bundle is established."""
    if files.kind is STUDY:
        study, own_problems = read_study(files) if evidence else (None, [])
        return StudyBundle(path, (*problems, *own_problems), study)
    run, own_problems = read_evidence(files) if evidence else (None, [])
    return Bundle(path, (*problems, *own_problems), run)


def get_main_document(view: AnyBundle) -> Json:
    """The document that states what was measured: result.json of a run, study.json of a study."""
    return view.result if isinstance(view, Bundle) else view.study


def get_version(view: AnyBundle) -> str:
    """The version of the protocol that a run follows, or of the method that a study follows."""
    return view.protocol.version if isinstance(view, Bundle) else view.method.version
