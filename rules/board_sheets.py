"""What data sheets and other publications state of boards: rates, and where they are from.

NVIDIA's sheets give tensor rates with sparsity from Ampere on. The dense rates are half of these.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A data sheet, or another publication that states properties of a board."""

    title: str
    url: str


def make_peaks(
    fp64: float | None,
    fp32: float | None,
    tf32: float | None,
    fp16: float,
    fp8: float | None,
    has_bf16: bool = True,
    bf16: float | None = None,
) -> Mapping[str, float]:
    """Peaks by precision. The rate of bf16 is that of fp16 on boards that have it and give no other
    one."""
    if bf16 is None and has_bf16:
        bf16 = fp16
    peaks = {"fp64": fp64, "fp32": fp32, "tf32": tf32, "bf16": bf16, "fp16": fp16, "fp8": fp8}
    return {precision: rate for precision, rate in peaks.items() if rate is not None}


HOPPER_PEAKS = make_peaks(66.9, 66.9, 494.7, 989.4, 1978.9)
HOPPER_NVL_PEAKS = make_peaks(60.0, 60.0, 417.5, 835.5, 1670.5)
H100_PCIE_PEAKS = make_peaks(51.2, 51.2, 378.0, 756.0, 1513.0)
# The H800 is an H100 with 1 TFLOP/s in FP64.
H800_PEAKS = make_peaks(1.0, 66.9, 494.7, 989.4, 1978.9)
H20_PEAKS = make_peaks(1.0, 44.0, 74.0, 148.0, 296.0)
AMPERE_PEAKS = make_peaks(19.5, 19.5, 156.0, 312.0, None)
A100_64GB_PEAKS = make_peaks(22.4, 22.4, 179.0, 358.0, None)
A40_PEAKS = make_peaks(None, 37.4, 74.8, 149.7, None)
A30_PEAKS = make_peaks(10.3, 10.3, 82.0, 165.0, None)
A10_PEAKS = make_peaks(None, 31.2, 62.5, 125.0, None)
RTX_A6000_PEAKS = make_peaks(None, 38.7, 77.4, 154.8, None)
# These boards add up products in FP16 at twice the rate of FP32, which bf16 and TF32 need. The
# peaks of fp16 and fp8 are those of the faster sums.
RTX_3090_PEAKS = make_peaks(None, 35.6, 35.6, 142.0, None, bf16=71.0)
RTX_4090_PEAKS = make_peaks(None, 82.6, 82.6, 330.3, 660.6, bf16=165.2)
RTX_5090_PEAKS = make_peaks(None, 104.8, 104.8, 419.0, 838.0, bf16=209.5)
L40_PEAKS = make_peaks(None, 90.5, 90.5, 362.1, 724.1, bf16=181.05)
L4_PEAKS = make_peaks(None, 30.3, 60.0, 121.0, 242.5)
RTX_6000_ADA_PEAKS = make_peaks(None, 91.1, 182.1, 364.2, 728.5)
RTX_PRO_SERVER_PEAKS = make_peaks(None, 120.0, 250.0, 500.0, 1000.0)
RTX_PRO_PEAKS = make_peaks(None, 125.0, 251.9, 503.8, 1007.6)
L40S_PEAKS = make_peaks(None, 91.6, 183.0, 362.05, 733.0)
V100_PEAKS = make_peaks(7.8, 15.7, None, 125.0, None, has_bf16=False)
V100_PCIE_PEAKS = make_peaks(7.0, 14.0, None, 112.0, None, has_bf16=False)
V100_DGXS_PEAKS = {"fp16": 125.0}
P100_PEAKS = make_peaks(5.3, 10.6, None, 21.2, None, has_bf16=False)
P100_PCIE_PEAKS = make_peaks(4.7, 9.3, None, 18.7, None, has_bf16=False)
T4_PEAKS = make_peaks(None, 8.1, None, 65.0, None, has_bf16=False)
RTX_6000_PEAKS = make_peaks(None, 16.3, None, 130.5, None, has_bf16=False)
B200_PEAKS = make_peaks(37.0, 75.0, 1100.0, 2250.0, 4500.0)
B300_PEAKS = make_peaks(1.25, 75.0, 1125.0, 2250.0, 4500.0)
GB200_PEAKS = make_peaks(40.0, 80.0, 1250.0, 2500.0, 5000.0)
GB300_PEAKS = make_peaks(None, None, None, 2500.0, 5000.0)
MI250X_PEAKS = make_peaks(95.7, 95.7, None, 383.0, None)
MI210_PEAKS = make_peaks(45.3, 45.3, None, 181.0, None)
MI100_PEAKS = make_peaks(11.5, 46.1, None, 184.6, None, bf16=92.3)
MI250X_DIE_PEAKS = make_peaks(47.9, 47.9, None, 191.5, None)
MI300A_PEAKS = make_peaks(122.6, 122.6, 490.3, 980.6, 1961.2)
MI300X_PEAKS = make_peaks(163.4, 163.4, 653.7, 1307.4, 2614.9)
MI355X_PEAKS = make_peaks(78.6, 157.3, None, 2516.6, 5033.2)

NVIDIA = "https://www.nvidia.com/en-us/data-center"
NVIDIA_PDF = "https://www.nvidia.com/content/dam/en-zz/Solutions"
AMD = "https://www.amd.com/en/products/accelerators/instinct"
H100 = Source("NVIDIA H100 Tensor Core GPU data sheet", f"{NVIDIA}/h100/")
H200 = Source("NVIDIA H200 Tensor Core GPU data sheet", f"{NVIDIA}/h200/")
A100 = Source(
    "NVIDIA A100 Tensor Core GPU data sheet",
    f"{NVIDIA_PDF}/Data-Center/a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf",
)
A100_64GB = Source(
    "LEONARDO: A Pan-European Pre-Exascale Supercomputer for HPC and AI Applications, Table 2",
    "https://arxiv.org/abs/2307.16885",
)
A40 = Source(
    "NVIDIA A40 data sheet",
    "https://images.nvidia.com/content/Solutions/data-center/a40/nvidia-a40-datasheet.pdf",
)
RTX_PRO_SERVER = Source(
    "NVIDIA RTX PRO 6000 Blackwell Server Edition, specifications",
    f"{NVIDIA}/rtx-pro-6000-blackwell-server-edition/",
)
RTX_PRO = Source(
    "NVIDIA RTX Blackwell PRO GPU architecture",
    f"{NVIDIA_PDF}/design-visualization/quadro-product-literature/"
    "NVIDIA-RTX-Blackwell-PRO-GPU-Architecture-v1.0.pdf",
)
NVIDIA_NAMES = Source(
    "Names of NVIDIA's GPUs, README of the open kernel modules",
    "https://github.com/NVIDIA/open-gpu-kernel-modules#compatible-gpus",
)
A100_BRIEF = Source(
    "NVIDIA A100 40GB PCIe product brief, PB-10137-001",
    "https://docslib.org/doc/3015592/a100-40gb-pcie-product-brief",
)
H100_BRIEF = Source(
    "NVIDIA H100 PCIe product brief, PB-11133-001",
    "https://manuals.plus/m/56b0c3ef7d0a1c470c0af8f05a0bd1f29a778007472ba941201fbbb185c9bccd",
)
HELMA = Source("Power capping on H100 and H200, 2026", "https://arxiv.org/abs/2604.11391")
RTX_6000 = Source(
    "NVIDIA Quadro RTX 6000 data sheet",
    f"{NVIDIA_PDF}/design-visualization/quadro-product-literature/"
    "quadro-rtx-6000-us-nvidia-704093-r4-web.pdf",
)
V100 = Source("NVIDIA V100 Tensor Core GPU data sheet", f"{NVIDIA}/v100/")
T4 = Source("NVIDIA T4 data sheet", f"{NVIDIA}/tesla-t4/")
H100_64GB = Source(
    "nvidia-smi on MareNostrum 5, 2024",
    "https://github.com/BioGeek/multi_gpu_training/tree/main/04_model_parallel_with_fsdp",
)
H100_SXM5 = Source(
    "NVIDIA H100 SXM5 64GB, user guide of the virtual GPU software",
    "https://docs.nvidia.com/vgpu/latest/grid-vgpu-user-guide/",
)
MARENOSTRUM = Source(
    "MareNostrum 5, overview of the system",
    "https://www.bsc.es/supportkc/docs/MareNostrum5/overview/",
)
H800 = Source("NVIDIA H800, AI Wiki", "https://aiwiki.ai/wiki/nvidia_h800")
H20 = Source("NVIDIA H20, specifications", "https://willitrunai.com/es/gpus/h20-96gb")
H20_RATES = Source("Rates of the NVIDIA H20", "https://zangshuxian.com/new/674733024499207168")
A800 = Source("NVIDIA A800, AI Wiki", "https://aiwiki.ai/wiki/nvidia_a800")
A800_ACTIVE = Source(
    "NVIDIA A800 40GB Active, specifications",
    "https://www.nvidia.com/en-us/products/workstations/a800/",
)
A30 = Source("NVIDIA A30 Tensor Core GPU data sheet", f"{NVIDIA}/products/a30-gpu/")
A10 = Source("NVIDIA A10 Tensor Core GPU data sheet", f"{NVIDIA}/products/a10-gpu/")
A10G = Source(
    "NVIDIA A10 and A10G compared",
    "https://www.baseten.co/blog/nvidia-a10-vs-a10g-for-ml-model-inference/",
)
GA102 = Source(
    "NVIDIA Ampere GA102 GPU architecture",
    "https://docslib.org/doc/759549/nvidia-ampere-ga102-gpu-architecture-whitepaper",
)
ADA = Source("NVIDIA Ada GPU architecture", "https://www.scribd.com/document/656196379/004")
RTX_BLACKWELL = Source(
    "NVIDIA RTX Blackwell GPU architecture",
    "https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/"
    "nvidia-rtx-blackwell-gpu-architecture.pdf",
)
RTX_A6000 = Source(
    "NVIDIA RTX A6000, specifications",
    "https://servethehome.com/nvidia-rtx-a6000-48gb-gpu-drops-quadro-designation",
)
L40 = Source("NVIDIA L40 data sheet", f"{NVIDIA}/l40/")
L40_SUMS = Source(
    "NVIDIA L40 and B200 compared", "https://hmc-tech.com/gpus/nvidia-l40-vs-nvidia-b200"
)
L4 = Source("NVIDIA L4 data sheet", f"{NVIDIA}/l4/")
P100 = Source("NVIDIA Tesla P100 data sheet", f"{NVIDIA}/tesla-p100/")
P100_BRIEF = Source(
    "Tesla P100 PCIe product brief, PB-08248-001",
    "https://manualmachine.com/pny/tcsp100m16gbpb/8129252-user-manual",
)
DGX_STATION = Source(
    "NVIDIA DGX Station data sheet",
    "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/dgx-station/"
    "dgx-station-print-explorer-datasheet-letter-final-web.pdf",
)
MI100 = Source("AMD Instinct MI100 data sheet", f"{AMD}/mi100.html")
L40S = Source("NVIDIA L40S data sheet", f"{NVIDIA}/l40s/")
GH200 = Source(
    "NVIDIA GH200 Grace Hopper Superchip data sheet", f"{NVIDIA}/grace-hopper-superchip/"
)
HGX = Source("NVIDIA HGX platform specifications", f"{NVIDIA}/hgx/")
GB200 = Source("NVIDIA GB200 NVL72 data sheet", f"{NVIDIA}/gb200-nvl72/")
GB300 = Source("NVIDIA GB300 NVL72 data sheet", f"{NVIDIA}/gb300-nvl72/")
B300 = Source("B300 and GB300 at a glance", "https://glennklockwood.com/garden/processors/B300")
L40S_CLOCKS = Source(
    "NVIDIA L40S at a dealer", "https://www.itcreations.com/nvidia-gpu/nvidia-l40s-gpu-accelerator"
)
V100_CLOCKS = Source(
    "T4 and V100 compared", "https://hmc-tech.com/gpu/nvidia-t4-vs-nvidia-v100-sxm"
)
MI210 = Source("AMD Instinct MI210 data sheet", f"{AMD}/mi200/mi210.html")
MI250X = Source("AMD Instinct MI250X data sheet", f"{AMD}/mi200/mi250x.html")
AMD_NAMES = Source(
    "Names of AMD GPUs, libdrm",
    "https://gitlab.freedesktop.org/mesa/drm/-/blob/main/data/amdgpu.ids",
)
MI300A = Source("AMD Instinct MI300A data sheet", f"{AMD}/mi300/mi300a.html")
MI300X = Source("AMD Instinct MI300X data sheet", f"{AMD}/mi300/mi300x.html")
MI325X = Source("AMD Instinct MI325X data sheet", f"{AMD}/mi300/mi325x.html")
MI355X = Source("AMD Instinct MI355X data sheet", f"{AMD}/mi350/mi355x.html")
