"""Make the golden bundles of the present rule book, which later ones have to judge alike.

    python scripts/golden_bundles.py

Run it before VERSION in rules/__init__.py moves. It writes tests/checker/golden/VERSION: a
simulated run, good and spoilt in four ways, each signed, and the verdicts of this rule book on
them. The key is made for them and thrown away.
"""

import copy
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from checker.engine import judge_all  # noqa: E402
from rules import VERSION  # noqa: E402
from rules.bundle_format import write  # noqa: E402
from rules.bundle_format.files import read_files  # noqa: E402
from rules.testing.frames import EvidenceFrames, read_frames  # noqa: E402

GOLDEN = ROOT / "tests" / "checker" / "golden"
PRINCIPAL = "golden@wattmark"
JUMP_MJ = 500_000_000
LOAD_MW = 250_000


def leave_as_it_is(evidence: EvidenceFrames) -> None:
    """A good run."""


def raise_headline(evidence: EvidenceFrames) -> None:
    evidence.result["headline"]["items_per_s"]["mean"] *= 1.1


def let_counter_jump(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[4:, "energy_mj"] += JUMP_MJ


def set_power_to_zero(evidence: EvidenceFrames) -> None:
    samples = evidence.samples
    under_load = samples.index[samples["power_mw"] > LOAD_MW]
    samples.loc[under_load[:40], "power_mw"] = 0


SPOILERS: dict[str, Callable[[EvidenceFrames], None]] = {
    "good": leave_as_it_is,
    "altered-after-signing": leave_as_it_is,
    "counter-jumps": let_counter_jump,
    "headline-raised": raise_headline,
    "power-zero": set_power_to_zero,
}


def make_run(scratch: Path) -> EvidenceFrames:
    """The evidence of a short simulated run."""
    out = scratch / "runs"
    command = ["bench-submit", "run", "resnet50-train", "--simulate", "h200", "--gpus", "1"]
    command += ["--smoke", "--epoch-seconds", "0.4", "--out", str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (path,) = (file.parent for file in out.rglob("result.json"))
    evidence, problems = read_frames(read_files(path))
    assert evidence is not None, problems
    return evidence


def main() -> None:
    target = GOLDEN / VERSION
    if target.exists():
        sys.exit(f"{target} exists: the golden bundles of a rule book never change")
    submissions = target / "submissions"
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        key = scratch / "key"
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key)]
        subprocess.run(command, check=True)
        keyring = submissions / "keyring" / "allowed_signers"
        keyring.parent.mkdir(parents=True)
        public_key = key.with_suffix(".pub").read_text().strip()
        keyring.write_text(f'{PRINCIPAL} namespaces="submission@wattmark" {public_key}\n')
        good = make_run(scratch)
        for kind, spoil in SPOILERS.items():
            evidence = copy.deepcopy(good)
            spoil(evidence)
            bundle = submissions / "golden" / "h200" / f"{VERSION}-{kind}"
            write.write(evidence.evidence(), bundle)
            command = ["bench-submit", "sign", str(bundle), "--key", str(key)]
            subprocess.run([*command, "--principal", PRINCIPAL], check=True)
            if kind == "altered-after-signing":
                result = bundle / "result.json"
                result.write_bytes(result.read_bytes() + b"\n")
    verdicts = {
        verdict.path.name.removeprefix(f"{VERSION}-"): {
            "status": verdict.status,
            "standing": verdict.standing,
            "signer": verdict.signer,
            "findings": [
                {
                    "rule": finding.rule,
                    "severity": finding.severity,
                    "file": finding.file,
                    "pointer": finding.pointer,
                    "found": finding.found,
                }
                for finding in verdict.findings
            ],
        }
        for bundle in sorted(submissions.glob("golden/h200/*"))
        # Each alone: together they are copies of each other.
        for verdict in judge_all([bundle]).verdicts
    }
    text = json.dumps(verdicts, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    (target / "verdicts.json").write_text(text, encoding="utf-8")
    for path, verdict in verdicts.items():
        print(path, verdict["status"], *(f["rule"] for f in verdict["findings"]))


if __name__ == "__main__":
    main()
