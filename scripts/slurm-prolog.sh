#!/bin/sh
# A Slurm prolog (`Prolog=` in slurm.conf, with `PrologFlags=Alloc`): sets the power cap that a job asks for by its comment,
#
#     sbatch --exclusive --comment=wattmark-cap=400 …
#
# on every GPU of the node, so it is for nodes that are given to one job at a time. scripts/slurm-epilog.sh takes it back.
# It always ends well: a prolog that fails drains the node, and no user's slip may do that. A run whose cap was not set
# finds out by itself, for `bench-submit run --cap 400` looks at what is in force.
set -uf

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
WATTMARK_CAP=/usr/local/sbin/wattmark-cap
# slurmd gives a prolog the comment as SLURM_JOB_COMMENT. Where an older one does not, `yes` asks scontrol, which Slurm
# advises against: every job on the cluster then asks the controller.
ASK_SCONTROL=no

comment=${SLURM_JOB_COMMENT-}
if [ -z "$comment" ] && [ "$ASK_SCONTROL" = yes ]; then
    comment=$(timeout 10 scontrol --oneliner show job "${SLURM_JOB_ID-}" | sed -n 's/.* Comment=\([^ ]*\).*/\1/p')
fi

for word in $(printf '%s' "$comment" | tr ',;' '  '); do
    case $word in
    wattmark-cap=*)
        said=$("$WATTMARK_CAP" "${word#wattmark-cap=}" 2>&1) || logger -t wattmark "job ${SLURM_JOB_ID-}: $said"
        ;;
    esac
done
exit 0
