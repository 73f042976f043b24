"""ReFrame's settings of a generic site: a machine without a scheduler, and a cluster with Slurm.
Adapt names, hosts, options and directories to your site.
"""

site_configuration = {
    "systems": [
        {
            "name": "cluster",
            "descr": "GPU nodes under Slurm",
            "hostnames": ["login.*"],
            "partitions": [
                {
                    "name": "gpu",
                    "scheduler": "slurm",
                    "launcher": "srun",
                    "access": ["--partition=gpu", "--gpus-per-node=1", "--exclusive"],
                    "environs": ["wattmark"],
                    "prepare_cmds": ["source /path/to/wattmark/.venv/bin/activate"],
                    "extras": {
                        "options": "--system /path/to/system.toml",
                        "round": "/path/to/submissions/CENTER/SYSTEM",
                    },
                }
            ],
        },
        {
            "name": "workstation",
            "descr": "this machine, with bench-submit on the PATH",
            "hostnames": [".*"],
            "partitions": [
                {
                    "name": "local",
                    "scheduler": "local",
                    "launcher": "local",
                    "environs": ["wattmark"],
                }
            ],
        },
    ],
    "environments": [{"name": "wattmark"}],
}
