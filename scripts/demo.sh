#!/usr/bin/env bash
# From nothing to a page, on any machine: run, sign, check, report. What comes out has the standing `demo`.
set -euo pipefail
cd "$(dirname "$0")/.."

demo=build/demo
submissions=$demo/submissions
rm -rf "$demo"
mkdir -p "$submissions/keyring"

echo "== A key for this demo alone, and the keyring that knows it"
ssh-keygen -q -t ed25519 -N '' -C demo -f "$demo/key"
echo "demo namespaces=\"submission@wattmark\" $(cut -d' ' -f1,2 "$demo/key.pub")" >"$submissions/keyring/allowed_signers"
touch "$submissions/keyring/revoked_signers"

echo "== Run"
bench-submit run resnet50-train --smoke --out "$submissions/demo/laptop"

echo "== Sign"
for bundle in "$submissions"/demo/laptop/*/; do
    bench-submit sign "$bundle" --key "$demo/key" --principal demo
done

echo "== Check"
bench-check "$submissions"

echo "== Report"
bench-report "$submissions" --out "$demo/report.html"
echo "Open $demo/report.html"
