"""A ReFrame test that runs a workload with `bench-submit run`, and compares items/s and J/item with
the runs of a round. docs/regression.md describes it.
"""

import json
import shlex
import sys
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import (
    parameter,
    performance_function,
    run_after,
    run_before,
    sanity_function,
    variable,
)
from reframe.core.exceptions import PerformanceError, ReframeError

sys.path.insert(0, str(Path(__file__).parent))
from round_references import FIGURES, NoReferenceError, find_references

BUNDLES, CHECK = "bundles", "check.json"


@rfm.simple_test
class WattmarkRun(rfm.RunOnlyRegressionTest):
    descr = "throughput and energy of an AI workload under the wattmark protocol"
    workload = parameter(["resnet50-train", "vitl16-train", "llama3-8b-pretrain", "sd2-train"])
    variant = parameter(["tuned"])

    options = variable(str, value="")
    """More options of `bench-submit run`. Those of the partition come first (`extras`)."""
    round = variable(str, value="")
    """Directory with the bundles of a system. If it is empty, that of the partition (`extras`). A
    test without a round reports its figures and compares them with nothing."""
    tolerance = variable(float, value=0.05)
    """The share of a reference by which a figure may be worse. Boards of one model differ by
    several percent."""

    valid_systems = ["*"]
    valid_prog_environs = ["wattmark"]
    executable = "bench-submit"
    time_limit = "1h"
    keep_files = [BUNDLES, CHECK]
    tags = {"wattmark", "energy"}

    @run_after("setup")
    def set_command(self):
        extras = self.current_partition.extras
        self.round = self.round or extras.get("round", "")
        # Here, and not after the run, which takes minutes of a node.
        if self.round and not any(Path(self.round).rglob("result.json")):
            raise ReframeError(f"round {self.round}: no bundle there; correct the path")
        options = f"{extras.get('options', '')} {self.options}"
        self.executable_opts = ["run", self.workload, "--variant", self.variant, "--out", BUNDLES]
        self.executable_opts += map(shlex.quote, shlex.split(options))
        # The bundle is not signed yet.
        self.postrun_cmds = [f"bench-check --local --format json {BUNDLES} > {CHECK}"]

    @sanity_function
    def bundle_passes_the_check(self):
        bundles = list(Path(BUNDLES).glob("*/result.json"))
        sn.evaluate(sn.assert_true(bundles, f"no bundle: {self.find_error()}"))
        # ReFrame skips a figure that it cannot read, and would pass the test without it.
        for name in FIGURES:
            sn.evaluate(sn.assert_true(self.headline[name], f"the run has no {name}"))
        (verdict,) = json.loads(Path(CHECK).read_text())["bundles"]
        errors = [
            f"{finding['rule']} {finding['file']}: found {finding['found']}"
            for finding in verdict["findings"]
            if finding["severity"] == "error"
        ]
        return sn.assert_false(errors, f"bench-check finds errors: {'; '.join(errors)}")

    def find_error(self):
        """The first error that bench-submit printed."""
        path = Path(sn.evaluate(self.stderr))
        lines = path.read_text().splitlines()
        return next((line for line in lines if line.startswith("Error: ")), f"see {path}")

    @property
    def bundle(self):
        return next(Path(self.stagedir, BUNDLES).glob("*/result.json")).parent

    @property
    def headline(self):
        return json.loads((self.bundle / "result.json").read_text())["headline"]

    @performance_function("items/s")
    def items_per_s(self):
        return self.headline["items_per_s"]["mean"]

    @performance_function("J/item")
    def joules_per_item(self):
        return self.headline["joules_per_item"]["mean"]

    @run_before("performance")
    def set_reference(self):
        if not self.round:
            return
        try:
            references = find_references(Path(self.round), self.bundle)
        except NoReferenceError as error:
            raise PerformanceError(str(error)) from None
        self.reference = {
            self.current_partition.fullname: {
                # Only the worse side has a bound.
                "items_per_s": (references["items_per_s"], -self.tolerance, None, "items/s"),
                "joules_per_item": (references["joules_per_item"], None, self.tolerance, "J/item"),
            }
        }
