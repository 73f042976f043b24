/* Stands in for libamd_smi.so in tests, as it is with one MI300X per socket. Functions, codes and
 * units are those of AMD SMI, https://rocm.docs.amd.com/projects/amdsmi/en/docs-7.0.2/. Functions
 * that are not here are in amd_smi_stubs.h; they return NOT_SUPPORTED. */
#include "amd_smi_structures.h"
#include "boards.c"
#include <stdio.h>

enum { SUCCESS = 0, INVAL = 1, NOT_SUPPORTED = 2, NO_PERM = 10, NOT_INIT = 32, NOT_LOADED = 34 };

#include "amd_smi_stubs.h"

/* Leave the function with the error that a test has chosen for it or for its kind. */
#define CHECK_KIND(board, kind)                                                                    \
    do {                                                                                           \
        int code = is_open ? find_error(board, __func__, kind) : NOT_INIT;                         \
        if (code)                                                                                  \
            return code;                                                                           \
    } while (0)
#define CHECK_FINDING(board) CHECK_KIND(board, "finding")
#define CHECK(board) CHECK_KIND(board, "readings")

static int is_open;

int amdsmi_init(uint64_t flags) {
    (void)flags;
    is_open = open_boards();
    return is_open ? SUCCESS : NOT_LOADED;
}

int amdsmi_shut_down(void) {
    is_open = 0;
    return SUCCESS;
}

/* A call without an array asks for its size. */
int amdsmi_get_socket_handles(uint32_t *count, void **sockets) {
    for (int i = 0; sockets && i < boards->count; i++)
        sockets[i] = &boards->board[i];
    *count = (uint32_t)boards->count;
    return SUCCESS;
}

int amdsmi_get_processor_handles(Board *socket, uint32_t *count, void **processors) {
    if (processors)
        processors[0] = socket;
    *count = 1;
    return SUCCESS;
}

int amdsmi_get_gpu_driver_info(Board *board, struct_amdsmi_driver_info_t *info) {
    CHECK(board);
    strcpy(info->driver_version, "6.14.14");
    return SUCCESS;
}

/* In W. MI300 has no average: all ones in 16 bits. */
int amdsmi_get_power_info(Board *board, struct_amdsmi_power_info_t *info) {
    CHECK(board);
    info->current_socket_power = (uint32_t)(power_now_mw(board) / 1000);
    info->average_socket_power = 0xFFFF;
    return SUCCESS;
}

/* A count of 15.3 uJ each. */
int amdsmi_get_energy_count(Board *board, uint64_t *count, float *resolution_uj,
                            uint64_t *timestamp) {
    CHECK(board);
    *resolution_uj = 15.3F;
    *count = (uint64_t)((double)total_energy_uj(board) / *resolution_uj);
    *timestamp = (uint64_t)now_ns();
    return SUCCESS;
}

/* In uW. The lowest cap reads 0. */
int amdsmi_get_power_cap_info(Board *board, uint32_t sensor, struct_amdsmi_power_cap_info_t *info) {
    CHECK(board);
    if (sensor != 0)
        return INVAL;
    info->power_cap = (uint64_t)enforced_mw(board) * 1000;
    info->default_power_cap = (uint64_t)board->default_mw * 1000;
    info->max_power_cap = (uint64_t)board->max_mw * 1000;
    return SUCCESS;
}

/* The driver keeps whole watts. */
int amdsmi_set_power_cap(Board *board, uint32_t sensor, uint64_t cap_uw) {
    CHECK(board);
    if (geteuid() != 0)
        return NO_PERM;
    if (sensor != 0 || cap_uw > (uint64_t)board->max_mw * 1000)
        return INVAL;
    request_limit(board, (int64_t)(cap_uw / 1000000 * 1000));
    return SUCCESS;
}

int amdsmi_get_gpu_perf_level(Board *board, uint32_t *level) {
    CHECK(board);
    *level = (uint32_t)board->level;
    return SUCCESS;
}

int amdsmi_set_gpu_perf_level(Board *board, uint32_t level) {
    CHECK(board);
    if (geteuid() != 0)
        return NO_PERM;
    board->level = level;
    return SUCCESS;
}

/* All ones where the board has no value. */
int amdsmi_get_gpu_metrics_info(Board *board, struct_amdsmi_gpu_metrics_t *metrics) {
    CHECK(board);
    memset(metrics, 0xFF, sizeof *metrics);
    metrics->temperature_hotspot = 66;
    metrics->temperature_mem = 48;
    metrics->average_gfx_activity = 98;
    metrics->current_gfxclks[0] = 1300;
    metrics->current_gfxclks[1] = 1310;
    metrics->current_uclk = 1300;
    metrics->prochot_residency_acc = metrics->socket_thm_residency_acc = 0;
    metrics->vr_thm_residency_acc = metrics->hbm_thm_residency_acc = 0;
    metrics->ppt_residency_acc = (uint64_t)board->throttled_count;
    return SUCCESS;
}

int amdsmi_get_gpu_process_list(Board *board, uint32_t *count, struct_amdsmi_proc_info_t *processes) {
    CHECK(board);
    *count = board->pid != 0;
    if (*count)
        processes[0].pid = (uint32_t)board->pid;
    return SUCCESS;
}

int amdsmi_get_gpu_total_ecc_count(Board *board, struct_amdsmi_error_count_t *count) {
    CHECK(board);
    count->correctable_count = (uint64_t)board->ecc_corrected;
    count->uncorrectable_count = (uint64_t)board->ecc_uncorrected;
    return SUCCESS;
}

int amdsmi_get_gpu_asic_info(Board *board, struct_amdsmi_asic_info_t *info) {
    CHECK(board);
    strcpy(info->market_name, "AMD Instinct MI300X");
    strcpy(info->asic_serial, "0x00C63AC3C3C637F9");
    return SUCCESS;
}

int amdsmi_get_gpu_memory_total(Board *board, uint32_t kind, uint64_t *bytes) {
    CHECK(board);
    *bytes = kind == 0 ? 206141652992 : 0; /* 0: VRAM */
    return SUCCESS;
}

int amdsmi_get_gpu_vbios_info(Board *board, struct_amdsmi_vbios_info_t *info) {
    CHECK(board);
    strcpy(info->version, "022.040.003.041.000001");
    return SUCCESS;
}

int amdsmi_get_gpu_device_bdf(Board *board, union_amdsmi_bdf_t *bdf) {
    CHECK_FINDING(board);
    bdf->as_uint = 0;
    bdf->struct_amdsmi_bdf_t.bus_number = (uint64_t)board->bus;
    return SUCCESS;
}

int amdsmi_get_gpu_compute_partition(Board *board, char *mode, uint32_t length) {
    CHECK(board);
    snprintf(mode, length, "%s", board->is_partitioned ? "CPX" : "SPX");
    return SUCCESS;
}

int amdsmi_get_gpu_kfd_info(Board *board, struct_amdsmi_kfd_info_t *info) {
    CHECK_FINDING(board);
    info->node_id = (uint32_t)(board - boards->board) + 2; /* nodes 0 and 1 are CPUs */
    return SUCCESS;
}

int amdsmi_get_gpu_enumeration_info(Board *board, struct_amdsmi_enumeration_info_t *info) {
    CHECK_FINDING(board);
    info->hip_id = (uint32_t)(board - boards->board);
    return SUCCESS;
}
