#!/usr/bin/env bash
# timm: the data configuration of pretrained weights is not at the size that their accuracy belongs to.
#
# Guess: resolve_model_data_config gives the image size of the published accuracy, which the weights name.
# What happens: with timm 1.0.31 it gives the size of training. More than 250 of the pretrained weights name
# another size for tests, among them resnet50.a1_in1k with 224 and 288, which has 1.65 times the
# pixels and so the operations. `use_test_size=True` gives the other one.
# Source: timm 1.0.31 on PyPI, timm.data.resolve_model_data_config, pretrained_cfg.test_input_size.
# Why it matters: energy per image measured at one size and accuracy published at the other make a point
# that no model has.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 torchvision==0.28.0 numpy==2.4.0 timm==1.0.31 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" -W ignore - << 'END'
import torch

try:
    import torchvision  # noqa: F401
except RuntimeError:
    # Beside a build of torch without CUDA, torchvision lacks the schema of an operator.
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
import timm
from timm.data import resolve_model_data_config

print("timm", timm.__version__)
model = timm.create_model("resnet50.a1_in1k")
by_default = resolve_model_data_config(model)["input_size"]
for_tests = resolve_model_data_config(model, use_test_size=True)["input_size"]
print("resnet50.a1_in1k: by default", by_default, "for tests", for_tests)
assert by_default == (3, 224, 224) and for_tests == (3, 288, 288)
names = timm.list_pretrained()
configurations = [timm.get_pretrained_cfg(name) for name in names]
others = [c for c in configurations if c.test_input_size and c.test_input_size != c.input_size]
print(f"{len(others)} of {len(names)} weights name another size for tests")
assert 250 < len(others) < len(names)
END
echo "as described"
