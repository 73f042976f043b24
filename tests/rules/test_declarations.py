"""Typed records of the documents of a bundle: pointers, optional values and nested records."""

from conftest import copy_evidence
from support.good_documents import UUIDS

from rules.contract import RequestSet
from rules.declarations.run import RunDeclaration
from rules.declarations.system import EnvironmentDeclaration, SystemDeclaration


def test_records_name_their_place_in_the_document() -> None:
    evidence = copy_evidence()
    run = RunDeclaration.from_document(evidence.result)
    assert [rank.pointer for rank in run.ranks] == [f"/ranks/{i}" for i in range(len(run.ranks))]
    assert run.settings.pointer == "/settings"
    system = SystemDeclaration.from_document(evidence.system)
    assert system.accelerators[1].pointer == "/nodes/0/accelerators/1"


def test_accelerators_have_the_name_of_their_node() -> None:
    document = copy_evidence().system
    system = SystemDeclaration.from_document(document)
    assert [accelerator.uuid for accelerator in system.accelerators] == list(UUIDS)
    assert {accelerator.node for accelerator in system.accelerators} == {system.nodes[0].name}
    # The document stays as it was.
    assert "node" not in document["nodes"][0]["accelerators"][0]


def test_optional_values_that_are_absent_are_none() -> None:
    result = copy_evidence().result
    for key in ("sweep", "clocks", "tally"):
        result.pop(key, None)
    result["settings"].pop("requests", None)
    run = RunDeclaration.from_document(result)
    assert (run.sweep, run.clocks, run.tally, run.settings.requests) == (None, None, None, None)
    environment = EnvironmentDeclaration.from_document({"packages": {}, "git": None})
    assert environment.git is None and environment.container is None


def test_extensions_of_the_format_are_left_out() -> None:
    result = copy_evidence().result
    requests = {"prompt_tokens": 16, "output_tokens": 8, "concurrency": 4, "rate_per_s": None}
    result["settings"]["requests"] = {**requests, "x-note": "of a center"}
    run = RunDeclaration.from_document({**result, "x-note": "of a center"})
    assert run.settings.requests == RequestSet(16, 8, 4, None)


def test_default_caps_are_those_of_all_readbacks() -> None:
    result = copy_evidence().result
    result["readbacks"][0]["default_mw"] = None
    result["readbacks"][1]["default_mw"] = 700_000
    result["readbacks"] = result["readbacks"][:2]
    assert RunDeclaration.from_document(result).default_caps_w == {None, 700.0}
