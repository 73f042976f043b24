#!/usr/bin/env bash
# The main job from nothing to a page, on any machine: run, sign, check, report. What comes out has the standing `demo`.
set -euo pipefail
cd "$(dirname "$0")/.."

demo=build/demo
submissions=$demo/submissions
rm -rf "$demo"
mkdir -p "$submissions/keyring"

step() { printf '\n== %s\n' "$*"; }

step "Make a key for this demo alone, and a keyring that knows it"
ssh-keygen -q -t ed25519 -N '' -C demo -f "$demo/key"
echo "demo@example.org namespaces=\"submission@wattmark\" $(cut -d' ' -f1,2 "$demo/key.pub")" >"$submissions/keyring/allowed_signers"

step "bench-submit run resnet50-train --smoke --simulate h200"
bench-submit run resnet50-train --smoke --simulate h200 --out "$submissions/demo/laptop"

step "bench-submit sign"
bundle=$(echo "$submissions"/demo/laptop/*/)
bench-submit sign "$bundle" --key "$demo/key" --principal demo@example.org

step "bench-check $submissions"
bench-check "$submissions"

step "bench-report $submissions submissions"
bench-report "$submissions" submissions --out "$demo/report.html"

printf '\nThe page is %s\n' "$PWD/$demo/report.html"
echo "The run's standing is demo: smoke size on simulated accelerators. It shows that everything works here and is never compared."
