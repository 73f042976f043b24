"""Your own implementation of `vitl16-train`: a pruned network that stays pruned.

Of the weights of the linear layers in the blocks a random share is kept, and the others are zero.
Their products are computed in full, with dense kernels. So the work is that of the reference
implementation, but fewer bits change and the board draws less power. Option `kept` is the share;
0 makes all these weights zero. Option `compiled` switches torch.compile.
"""
# Run it: PYTHONPATH=examples bench-submit run vitl16-train --implementation pruned_vitl16:build

from functools import partial

import torch
from torch import nn

from reference.training import count_parameters, hash_first_samples, train_classifier, wrap_network
from reference.vitl16_train import make_inputs, make_network, make_optimiser
from rules.contract import Built, Job
from rules.workloads import workloads

SWITCHES = {"yes": True, "no": False}


def build(job: Job) -> Built:
    """Build the model and its inputs. Raises ValueError for options that it does not know."""
    options = {"kept": "0.1", "compiled": "yes", **job.options}
    if unknown := options.keys() - {"kept", "compiled"}:
        raise ValueError(f"--option {min(unknown)}: pruned_vitl16 knows kept and compiled")
    if options["compiled"] not in SWITCHES:
        raise ValueError(f"--option compiled={options['compiled']}: give yes or no")
    kept = float(options["kept"])
    if not 0 <= kept <= 1:
        raise ValueError(f"--option kept={options['kept']}: give a share from 0 to 1")
    if job.variant != "tuned":
        raise ValueError(f"variant {job.variant}: pruned_vitl16 computes in bf16; use tuned")

    workload = workloads()[job.workload]
    input_shape = workload.size(job.size).input_shape
    torch.manual_seed(job.seed)  # the same weights and masks on every rank
    network = make_network(workload.model, job, input_shape)
    optimiser = make_optimiser(network, job)
    weights = [m.weight for m in network.blocks.modules() if isinstance(m, nn.Linear)]
    masks = [(torch.rand_like(weight) < kept).to(weight.dtype) for weight in weights]

    @torch.no_grad()
    def prune(*_: object) -> None:
        torch._foreach_mul_(weights, masks)

    prune()
    optimiser.register_step_post_hook(prune)
    compiled = SWITCHES[options["compiled"]] and job.device.startswith("cuda")
    images, labels = make_inputs(job, input_shape)
    return Built(
        run=partial(
            train_classifier,
            job=job,
            model=wrap_network(network, job, compiled=compiled),
            optimiser=optimiser,
            images=images,
            labels=labels,
            autocast=torch.bfloat16,
        ),
        precision="bf16",
        parameters=count_parameters(network),
        input_shape=input_shape,
        settings={"optimizer": "AdamW", "kept": kept, "compiled": compiled},
        inputs_sha256=hash_first_samples(images),
    )
