"""The UUID of a GPU in the form of the meters, read from torch."""

from harness.power.rocm_devices import uuid_of_torch


def read_gpu_uuid(index: int) -> str | None:
    """Return the UUID of torch's GPU number `index`. None if it has no UUID, as GPUs of virtual
    machines in ROCm."""
    # Only if it is needed, because the import takes seconds.
    import torch

    text = str(torch.cuda.get_device_properties(index).uuid)
    if torch.version.hip is not None:
        return uuid_of_torch(text)
    # NVML writes the prefix `GPU-`, torch leaves it out.
    return f"GPU-{text.removeprefix('GPU-')}"
