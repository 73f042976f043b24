#!/usr/bin/env bash
# Installs wattmark into an image that has PyTorch, and leaves that PyTorch as it is: what NVIDIA and AMD build into
# their images is not on any package index. The definitions beside this file call it.
#
# Usage: install.sh [STACK REQUIREMENT...]    STACK is an extra of pyproject.toml; without one the image brings the stack
set -euo pipefail

source=$(cd "$(dirname "$0")/.." && pwd)
vendor=$(python3 -c 'import torch; print("amd" if torch.version.hip else "nvidia")') || {
    echo "install.sh: python3 cannot import torch; the base image must bring PyTorch for its accelerator" >&2
    exit 1
}

held=$(mktemp)
python3 -m pip list --format=freeze | grep -E '^(torch|torchvision|torchaudio|[a-z-]*triton[a-z-]*|numpy)==' > "$held"
echo "held as the image has them:" && cat "$held"

# NGC images name a constraints file of everything in them (psutil, for one, which LitGPT pins to another version).
unset PIP_CONSTRAINT
export PIP_BREAK_SYSTEM_PACKAGES=1 # Ubuntu marks its Python as externally managed; in an image nothing else manages it

if [ -d /opt/rocm/share/amd_smi ]; then
    python3 -m pip install /opt/rocm/share/amd_smi # the binding that belongs to this ROCm
fi
python3 -m pip install --no-cache-dir --constraint "$held" "${source}[${1:+$1,}$vendor]" "${@:2}"
