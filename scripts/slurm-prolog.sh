#!/bin/sh
# A Slurm prolog (`Prolog=` in slurm.conf, with `PrologFlags=Alloc`): sets the power cap that a job requests by its comment,
#
#     sbatch --exclusive --comment=wattmark-cap=400 …
#
# on every GPU of the node. Use it only on nodes that run one job at a time. scripts/slurm-epilog.sh removes the cap.
# It always succeeds: a prolog that fails drains the node, and no mistake of a user may do that. A run whose cap was not set
# detects this, because `bench-submit run --cap 400` reads the cap in force.
set -uf

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
WATTMARK_CAP=/usr/local/sbin/wattmark-cap
CAP_TIMEOUT_S=60
# slurmd passes the comment to a prolog as SLURM_JOB_COMMENT, in Slurm 22.05. For versions that do not, `yes` asks scontrol, which Slurm
# advises against: every job on the cluster then asks the controller.
ASK_SCONTROL=no

log() {
    logger -t wattmark "job ${SLURM_JOB_ID-}: $1"
}

set_cap() {
    # The comment is any text of a user.
    case $1 in
    '' | *[!0-9]* | 0* | ?????*)
        log "wattmark-cap in the comment of the job: not whole watts of at most four digits"
        ;;
    *)
        message=$(timeout -k 5 "$CAP_TIMEOUT_S" "$WATTMARK_CAP" "$1" 2>&1) ||
            log "wattmark-cap $1: $message (status $?)"
        ;;
    esac
}

comment=${SLURM_JOB_COMMENT-}
if [ -z "$comment" ] && [ "$ASK_SCONTROL" = yes ]; then
    comment=$(timeout 10 scontrol show job "${SLURM_JOB_ID-}" | sed -n 's/^ *Comment=//p')
fi

for word in $(printf '%s' "$comment" | tr ',;' '  '); do
    case $word in
    wattmark-cap=*)
        set_cap "${word#wattmark-cap=}"
        # One cap per job. Further words would only cost time before the job starts.
        break
        ;;
    esac
done
exit 0
