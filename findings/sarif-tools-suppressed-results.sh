#!/usr/bin/env bash
# sarif-tools: `--check error` fails on results that the SARIF log marks as suppressed.
#
# Guess: a result with an accepted suppression (SARIF 2.1.0, section 3.27.23) is no reason to fail,
# as viewers of code scanning hide it.
# What happens: sarif-tools 3.0.4 counts it like any other result, and `--check error` exits with 1.
# Source: sarif-tools 3.0.4 on PyPI; SARIF 2.1.0 (OASIS), sections 3.27.23 and 3.35.
# Why it matters: a checker that writes waived findings as suppressed results passes by its own exit
# status and fails in a CI job that gates on sarif-tools. Gate on the checker's exit status.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check sarif-tools==3.0.4 2> "$place/log" || cat "$place/log"
cat > "$place/waived.sarif" << 'END'
{"version": "2.1.0", "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "runs": [{
  "tool": {"driver": {"name": "checker", "rules": [{"id": "E1"}]}},
  "results": [{
    "ruleId": "E1", "level": "error", "message": {"text": "power is above the cap"},
    "suppressions": [{"kind": "external", "status": "accepted", "justification": "known sensor"}],
    "locations": [{"physicalLocation": {"artifactLocation": {"uri": "result.json"}}}]}]}]}
END
"$place/env/bin/sarif" --version
status=0
"$place/env/bin/sarif" --check error summary "$place/waived.sarif" | tee "$place/out" || status=$?
echo "exit status of --check error with one suppressed result: $status"
grep -q "^error: 1" "$place/out"
[[ $status == 1 ]]
echo "as described"
