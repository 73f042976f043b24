#!/bin/sh
# A Slurm epilog (`Epilog=` in slurm.conf): puts the power caps back that a job has left, whatever ended it. Slurm kills all
# that is in a job's cgroup, the watchdog of `bench-submit run --cap` too.
#
# It acts where scripts/wattmark-cap has set a limit, or where a run has left its journal. Where it fails, Slurm drains the
# node, as it should be: its GPUs are not as they were.
set -uf

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
WATTMARK_CAP=/usr/local/sbin/wattmark-cap
STAMP=/run/wattmark-cap
JOURNAL=/var/lib/wattmark/caps.json
# What the GPUs of this site are held at between jobs: `default` for the boards' own limit, or watts.
SITE_CAP=default

if [ -e "$STAMP" ] || [ -e "$JOURNAL" ]; then
    said=$("$WATTMARK_CAP" "$SITE_CAP" 2>&1) || {
        logger -t wattmark "job ${SLURM_JOB_ID-}: caps not restored: $said"
        exit 1
    }
    rm -f "$STAMP" "$JOURNAL"
fi
exit 0
