#!/usr/bin/env bash
# Runs bench-submit in an image, with the node's GPUs, and tells it the image's digest, which the bundle then records.
#
# Usage: containers/run.sh IMAGE.sif [ARGUMENT OF bench-submit]...
set -euo pipefail

refuse() {
    echo "run.sh: $1" >&2
    exit 2
}

[ $# -ge 1 ] || refuse "usage: containers/run.sh IMAGE.sif [ARGUMENT OF bench-submit]..."
image=$1
[ -f "$image" ] || refuse "$image: no such image; containers/README.md says how to build it"
runtime=$(command -v apptainer || command -v singularity) ||
    refuse "neither apptainer nor singularity is on the PATH; load the module of your site, or install Apptainer"

gpus=()
[ ! -e /dev/nvidiactl ] || gpus+=(--nv)
[ ! -e /dev/kfd ] || gpus+=(--rocm)

digest=$(sha256sum "$image" | cut -d' ' -f1)
exec "$runtime" run "${gpus[@]}" --env "WATTMARK_CONTAINER=sha256:$digest" "$image" "${@:2}"
