from rules.workloads import Size, Target, Workload

WORKLOAD = Workload(
    id="xception-transfer",
    title="Xception transfer to 90 %",
    item="training",
    mode="training",
    model="legacy_xception",
    stack="timm",
    variants={"baseline": "tf32", "tuned": "bf16"},
    variants_in_words={"baseline": "TF32", "tuned": "channels last"},
    precisions=("fp32", "tf32", "bf16"),
    fixed={},
    full=Size(
        input_shape=(3, 299, 299),
        parameters=21_011_852,
        flops_per_item=50.13e9,
        batch_sizes={"baseline": 64, "tuned": 64},
        max_batch_size=512,
        target=Target(accuracy=0.9, held_out=1000, steps_between=10, max_steps=1000),
    ),
    smoke=Size(
        input_shape=(3, 16, 16),
        parameters=20_458,
        flops_per_item=1.86e6,
        batch_sizes={"baseline": 32, "tuned": 32},
        max_batch_size=128,
        target=Target(accuracy=0.9, held_out=100, steps_between=2, max_steps=500),
    ),
    # The steps depend on the seed, so throughput is not that of a closed workload.
    open_variants=("baseline", "tuned"),
    implementation="reference.xception_transfer:build",
)
