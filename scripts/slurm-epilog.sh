#!/bin/sh
# A Slurm epilog (`Epilog=` in slurm.conf): restores the power caps, the performance levels of AMD and the SM clocks of NVIDIA that a
# job has left, however it ended. Slurm kills all processes in the cgroup of a job, also the watchdog of `bench-submit run --cap`.
#
# It acts if scripts/wattmark-cap has set a limit, or if a run has left its journal or registered boards. If it fails, Slurm drains the node, as it
# should: its GPUs do not have their usual settings.
set -uf

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
WATTMARK_CAP=/usr/local/sbin/wattmark-cap
CAP_TIMEOUT_S=60
LOCK_TIMEOUT_S=30
SYSFS=/sys
STAMP=/run/wattmark-cap
JOURNAL=/var/lib/wattmark/caps.json
# Each run registers its boards here: a link for each, to the journal, which can be in another directory (WATTMARK_STATE), and a copy of it.
BOARDS=/run/wattmark
# The limit of the GPUs of this site between jobs: `default` for the default of the boards, or watts.
SITE_CAP=default

log() {
    logger -t wattmark "job ${SLURM_JOB_ID-}: $1"
}

is_needed() {
    [ -e "$STAMP" ] || [ -e "$JOURNAL" ] || [ -n "$(registered_boards)" ]
}

registered_boards() {
    find "$BOARDS" -type l 2>/dev/null
}

# The journals of the node, as lines.
journals() {
    {
        echo "$JOURNAL"
        registered_boards | while read -r link; do readlink "$link"; done
    } | sort -u | while IFS= read -r file; do
        [ ! -e "$file" ] || echo "$file"
    done
}

# What the journals of the node say, as files: the copies, then journals without one. A journal can be lost, damaged or altered.
records() {
    registered_boards | while IFS= read -r link; do
        [ ! -e "$link.json" ] || echo "$link.json"
    done
    journals | while IFS= read -r file; do
        has_copy "$file" || echo "$file"
    done
}

has_copy() {
    registered_boards | while IFS= read -r link; do
        [ "$(readlink "$link")" = "$1" ] && [ -e "$link.json" ] && echo yes
    done | grep -q yes
}

# The boards of the journals whose performance level a run changed, as lines `NAME LEVEL`. A journal has a line per field.
changed_levels() {
    records | while IFS= read -r file; do
        awk -F '"' '$2 == "uuid" { name = $4 } $2 == "found_state" && NF > 3 { print name, $4 }' "$file"
    done
}

# The directory in sysfs of the board $1, which is named by its id or its PCI address.
find_device() {
    set +f
    for device in "$SYSFS"/class/drm/card*/device; do
        case $1 in
        GPU-*) [ "GPU-$(cat "$device/unique_id" 2>/dev/null)" = "$1" ] ;;
        *) grep -qsx "PCI_SLOT_NAME=${1#PCI-}" "$device/uevent" ;;
        esac && echo "$device" && return
    done
    return 1
}

# The kernel's name of the performance level $1 of AMD SMI.
kernel_level() {
    case $1 in
    stable_std) echo profile_standard ;;
    stable_*) echo "profile_${1#stable_}" ;;
    determinism) echo perf_determinism ;;
    *) echo "$1" ;;
    esac
}

restore_levels() {
    status=0
    while read -r name level; do
        [ -n "$name" ] || continue
        level=$(kernel_level "$level")
        if ! file=$(find_device "$name")/power_dpm_force_performance_level ||
            ! echo "$level" >"$file" || [ "$(cat "$file")" != "$level" ]; then
            log "$name: performance level not restored: $level"
            status=1
        fi
    done <<LEVELS
$(changed_levels)
LEVELS
    return "$status"
}

# The boards whose SM clock a run has locked, and those whose journal is lost without a copy, as lines.
locked_boards() {
    records | while IFS= read -r file; do
        awk -F '"' '$2 == "uuid" { name = $4 } $2 == "locked_mhz" && $3 !~ /null/ { print name }' "$file"
    done
    registered_boards | while IFS= read -r link; do
        [ -e "$link" ] || [ -e "$link.json" ] || echo "${link##*/}"
    done
}

# Only NVIDIA's boards can have a lock.
unlock_clocks() {
    command -v nvidia-smi >/dev/null || return 0
    status=0
    while read -r name; do
        [ -n "$name" ] || continue
        if ! timeout -k 5 "$CAP_TIMEOUT_S" nvidia-smi -i "$name" -rgc >/dev/null 9>&-; then
            log "$name: SM clock not unlocked"
            status=1
        fi
    done <<LOCKED
$(locked_boards)
LOCKED
    return "$status"
}

is_needed || exit 0
# The lock of the runs. A watchdog that outlived its run may be restoring the limits now.
if [ -d "${JOURNAL%/*}" ]; then
    umask 077
    # `command`, because the shell would end if the file cannot be opened.
    { command exec 9>>"${JOURNAL%/*}/caps.lock" && flock -w "$LOCK_TIMEOUT_S" 9; } 2>/dev/null ||
        log "no lock of $JOURNAL (another process held it, or it cannot be opened); restoring without it"
    is_needed || exit 0
fi
# Descriptor 9 is closed, so that a command that hangs does not keep the lock.
message=$(timeout -k 5 "$CAP_TIMEOUT_S" "$WATTMARK_CAP" "$SITE_CAP" 2>&1 9>&-) || {
    log "caps not restored: $message (status $?)"
    exit 1
}
failed=0
restore_levels || failed=1
unlock_clocks || failed=1
[ "$failed" = 0 ] || exit 1
journals | while IFS= read -r file; do rm -f "$file"; done
registered_boards | while read -r link; do rm -f "$link" "$link.json"; done
rm -f "$STAMP"
exit 0
