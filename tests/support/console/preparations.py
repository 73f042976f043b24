"""What the blocks of a page presuppose: for each page, a bash script that its test runs first, in a
clone of the project."""

SYSTEM = "cp submissions/reference/system.toml system.toml\n"

SIGNERS = "submissions/keyring/allowed_signers"


def allow_key(principal: str, key: str, namespace: str = "submission@wattmark") -> str:
    """Add a key of a principal to the keyring."""
    entry = f"""'{principal} namespaces="{namespace}"'"""
    return f"echo {entry} $(cut -d' ' -f1,2 {key}.pub) >> {SIGNERS}\n"


CENTER = allow_key("CENTER@example.org", "~/.ssh/id_ed25519")


PREPARATIONS = {
    # "docs/trust.md sets the variables": tests/site/test_console_blocks.py executes this block too.
    "README.md": SYSTEM + CENTER,
    # The stand-in of Apptainer copies the definition in place of a build, and runs bench-submit in
    # place of the image. That of srun runs the step here.
    "containers/README.md": SYSTEM
    + """
mkdir ~/bin
export PATH=~/bin:$PATH
cat > ~/bin/apptainer <<'SCRIPT'
#!/bin/bash
if [[ $1 == build ]]; then
    definition=${@: -1}
    [[ $2 != --build-arg ]] || grep -q "^ *${3%%=*}=" "$definition" || exit 1
    exec cp "$definition" "${@: -2:1}"
fi
until [[ $1 == *.sif ]]; do shift; done
exec bench-submit "${@:2}"
SCRIPT
printf '%s\\n' '#!/bin/bash' 'while [[ $1 == --* ]]; do shift; done' 'exec "$@"' > ~/bin/srun
chmod +x ~/bin/*
""",
    "docs/reading-a-report.md": """
mv submissions all
mkdir -p submissions/reference/h200
cp -r all/keyring submissions/
cp -r all/reference/h200/20261120T173553Z-* submissions/reference/h200/
git add -A submissions
git commit -qm "An earlier round"
git tag round-2026-06
cp -r submissions ../round-2026-06
cp -r all/reference/h200/20261121T173410Z-* submissions/reference/h200/
""",
    "docs/image-inference.md": SYSTEM + CENTER,
    "docs/install.md": """
mkdir -p ~/.config/wattmark
cp submissions/reference/system.toml ${WATTMARK_SITE_CONFIG%/*}/h200.toml
printf 'system = "h200.toml"\nprincipal = "center@example.org"\n' > $WATTMARK_SITE_CONFIG
echo 'key = "~/.ssh/id_ed25519"' > ~/.config/wattmark/config.toml
""",
    "docs/node-power.md": """
gunzip < tests/harness/power_logs/data/ptd_8xb200.txt.gz > spl.txt
cat > example_power.yaml << END
Example:
- Rack 1:
  - Server 1:
    - Min PSUs Needed: 3
      PSUs:
      - PowerCapacityWatts: 3300
      - PowerCapacityWatts: 3300
      - PowerCapacityWatts: 3300
      - PowerCapacityWatts: 3300
  - Switch 1:
    - Min PSUs needed: 1
      PSUs:
      - PowerCapacityWatts: 1200
      - PowerCapacityWatts: 1200
END
cat > system.toml << END
[[meter]]
id = "node-meter"
kind = "simulated"
scope = "node"
location = "psu-input"
current = "ac"
interval_ms = 200
clock = "node"
accuracy_percent = 1.0
feeds = [{ feed = "psu-1", node = "node0" }]
END
install -m 600 /dev/null meters.toml
export WATTMARK_SIMULATOR=$(mktemp -d)/socket
python -m harness.simulation.server h200 $WATTMARK_SIMULATOR &
until [ -S $WATTMARK_SIMULATOR ]; do sleep 0.1; done
""",
    "docs/reproduce.md": SYSTEM
    + CENTER
    + "ssh-keygen -q -t ed25519 -N '' -f ../nhr\n"
    + allow_key("nhr@example.org", "../nhr")
    + "ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_chair\n"
    + allow_key("chair@round.example", "~/.ssh/id_chair", "review@wattmark")
    + """
bench-submit run resnet50-train --simulate h200 --epoch-seconds 0.3 --out submissions/nhr/h200
BUNDLE=$(echo submissions/nhr/h200/*/)
bench-submit sign $BUNDLE --key ../nhr --principal nhr@example.org
""",
    "docs/run.md": SYSTEM,
    "docs/run-a-round.md": """
export WATTMARK=$PWD
mkdir ../round
cd ../round
""",
    "docs/several-nodes.md": SYSTEM,
    "docs/sweep.md": SYSTEM,
    "docs/tutorial.md": SYSTEM,
    "docs/write-a-meter.md": """
mkdir my-meters
awk '/^```python$/ {inside = 1; next} /^```$/ && inside {exit} inside' docs/write-a-meter.md \\
    > my-meters/wattfile.py
echo 300 > watts
""",
    "docs/write-a-workload.md": SYSTEM,
}
