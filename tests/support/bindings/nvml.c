/* Stands in for libnvidia-ml.so.1 in tests. Functions, codes and units are those of the NVML API
 * reference, https://docs.nvidia.com/deploy/nvml-api/. */
#include "boards.c"
#include "nvml_structures.h"
#include <stdio.h>

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NO_PERMISSION = 4,
    INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9,
};

/* Leave the function with the error that a test has chosen for it or for its kind. */
#define CHECK_KIND(board, kind)                                                                    \
    do {                                                                                           \
        int code = clients ? find_error(board, __func__, kind) : UNINITIALIZED;                    \
        if (code)                                                                                  \
            return code;                                                                           \
    } while (0)
#define CHECK_FINDING(board) CHECK_KIND(board, "finding")
#define CHECK(board) CHECK_KIND(board, "readings")

/* A function that gives one number of a board. */
#define GETTER(function, type, expression)                                                         \
    int function(Board *board, type *value) {                                                      \
        CHECK(board);                                                                              \
        *value = (type)(expression);                                                               \
        return SUCCESS;                                                                            \
    }

/* A function that gives one text of a board. */
#define TEXT(function, check, text)                                                                \
    int function(Board *board, char *value, unsigned length) {                                     \
        check(board);                                                                              \
        return (unsigned)snprintf(value, length, "%s", text) < length ? SUCCESS                    \
                                                                      : INSUFFICIENT_SIZE;         \
    }

static int clients;

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    if (!open_boards())
        return DRIVER_NOT_LOADED;
    clients++;
    return SUCCESS;
}

int nvmlShutdown(void) {
    if (!clients)
        return UNINITIALIZED;
    clients--;
    return SUCCESS;
}

const char *nvmlErrorString(int code) { return code == 27 ? "Insufficient Resources" : "?"; }

int nvmlSystemGetDriverVersion(char *value, unsigned length) {
    snprintf(value, length, "580.159.04");
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = (unsigned)boards->count;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Board **board) {
    if (index >= boards->count)
        return INVALID_ARGUMENT;
    CHECK_FINDING(&boards->board[index]);
    *board = &boards->board[index];
    return SUCCESS;
}

TEXT(nvmlDeviceGetUUID, CHECK_FINDING, board->uuid)
TEXT(nvmlDeviceGetName, CHECK, "NVIDIA H200")
TEXT(nvmlDeviceGetVbiosVersion, CHECK, "96.00.BC.00.01")
GETTER(nvmlDeviceGetPowerUsage, unsigned, mean_power_mw(board))
GETTER(nvmlDeviceGetTotalEnergyConsumption, uint64_t, total_energy_uj(board) / 1000)
GETTER(nvmlDeviceGetEnforcedPowerLimit, unsigned, enforced_mw(board))
GETTER(nvmlDeviceGetPerformanceState, int, 0)
/* 0x4: the limit of the power. */
GETTER(nvmlDeviceGetCurrentClocksEventReasons, uint64_t,
       enforced_mw(board) < board->demand_mw ? 0x4 : 0)
GETTER(nvmlDeviceGetCurrentClocksThrottleReasons, uint64_t,
       enforced_mw(board) < board->demand_mw ? 0x4 : 0)

int nvmlDeviceGetMemoryInfo(Board *board, c_nvmlMemory_t *memory) {
    CHECK(board);
    *memory = (c_nvmlMemory_t){.total = 150754820096};
    return SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(Board *board, nvmlPciInfo_t *pci) {
    CHECK(board);
    snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", (unsigned)board->bus);
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(Board *board, c_nvmlUtilization_t *rates) {
    CHECK(board);
    *rates = (c_nvmlUtilization_t){.gpu = 99, .memory = 40};
    return SUCCESS;
}

/* Clocks by kind: 0 graphics, 1 SM, 2 memory. */
int nvmlDeviceGetClockInfo(Board *board, int kind, unsigned *mhz) {
    CHECK(board);
    int64_t locked_mhz = __atomic_load_n(&board->locked_mhz, __ATOMIC_SEQ_CST);
    *mhz = kind == 2 ? 3201 : locked_mhz ? (unsigned)min_of(locked_mhz, 1755) : 1755;
    return SUCCESS;
}

/* Give `count` clocks from `first_mhz` down by `step_mhz`. The first call asks for their number. */
static int list_clocks(unsigned *length, unsigned *clocks, unsigned first_mhz, unsigned step_mhz,
                       unsigned count) {
    unsigned room = *length;
    *length = count;
    if (room < count)
        return INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < count; i++)
        clocks[i] = first_mhz - i * step_mhz;
    return SUCCESS;
}

int nvmlDeviceGetSupportedMemoryClocks(Board *board, unsigned *length, unsigned *clocks) {
    CHECK(board);
    return list_clocks(length, clocks, 3201, 1608, 2);
}

/* A low memory clock has one SM clock. */
int nvmlDeviceGetSupportedGraphicsClocks(Board *board, unsigned memory_mhz, unsigned *length,
                                         unsigned *clocks) {
    CHECK(board);
    if (memory_mhz == 1593)
        return list_clocks(length, clocks, 345, 0, 1);
    return memory_mhz == 3201 ? list_clocks(length, clocks, 1980, 15, 110) : INVALID_ARGUMENT;
}

int nvmlDeviceSetGpuLockedClocks(Board *board, unsigned min_mhz, unsigned max_mhz) {
    CHECK(board);
    if (geteuid() != 0)
        return NO_PERMISSION;
    if (min_mhz != max_mhz || min_mhz < 345 || max_mhz > 1980)
        return INVALID_ARGUMENT;
    __atomic_store_n(&board->locked_mhz, max_mhz, __ATOMIC_SEQ_CST);
    return SUCCESS;
}

int nvmlDeviceResetGpuLockedClocks(Board *board) {
    CHECK(board);
    if (geteuid() != 0)
        return NO_PERMISSION;
    __atomic_store_n(&board->locked_mhz, 0, __ATOMIC_SEQ_CST);
    return SUCCESS;
}

int nvmlDeviceGetApplicationsClock(Board *board, int kind, unsigned *mhz) {
    CHECK(board);
    *mhz = kind == 2 ? 3201 : (unsigned)board->sm_mhz;
    return SUCCESS;
}

int nvmlDeviceGetDefaultApplicationsClock(Board *board, int kind, unsigned *mhz) {
    CHECK(board);
    *mhz = kind == 2 ? 3201 : 1980;
    return SUCCESS;
}

int nvmlDeviceGetTemperature(Board *board, int sensor, unsigned *celsius) {
    CHECK(board);
    *celsius = 55;
    return sensor == 0 ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetMigMode(Board *board, unsigned *current, unsigned *pending) {
    CHECK(board);
    *current = *pending = (unsigned)board->is_partitioned;
    return SUCCESS;
}

/* Errors by kind: 0 corrected, 1 uncorrected. Counter 0 counts since the driver was loaded. */
int nvmlDeviceGetTotalEccErrors(Board *board, int kind, int counter, uint64_t *count) {
    CHECK(board);
    *count = (uint64_t)(kind ? board->ecc_uncorrected : board->ecc_corrected);
    return counter == 0 ? SUCCESS : NOT_SUPPORTED;
}

/* The first call, without an array, asks for its size. */
int nvmlDeviceGetComputeRunningProcesses_v3(Board *board, unsigned *count,
                                            c_nvmlProcessInfo_v2_t *processes) {
    CHECK(board);
    unsigned length = *count;
    *count = board->pid != 0;
    if (length < *count)
        return INSUFFICIENT_SIZE;
    if (*count)
        processes[0] = (c_nvmlProcessInfo_v2_t){.pid = (unsigned)board->pid};
    return SUCCESS;
}

/* Field 82 is the temperature of the memory. 185 to 192 are powers and limits, by scope: 0 the GPU,
 * 1 the module, which on some boards has more than the GPU on it, 2 the memory. */
static int read_field(Board *board, c_nvmlFieldValue_t *field) {
    char function[32];
    snprintf(function, sizeof function, "field %u", field->fieldId);
    int code = find_error(board, function, "readings");
    if (code)
        return code;
    if (field->fieldId == 82) {
        field->value.uiVal = 61;
        return SUCCESS;
    }
    if (field->scopeId == 2) {
        /* The memory has an average only. */
        field->value.uiVal = (uint32_t)board->memory_mw;
        return field->fieldId == 185 && board->memory_mw ? SUCCESS : NOT_SUPPORTED;
    }
    if (field->scopeId > 2 || (field->scopeId == 1 && board->module_mw < 0))
        return NOT_SUPPORTED;
    int64_t others_mw = field->scopeId == 1 ? board->module_mw : 0, value_mw;
    switch (field->fieldId) {
    case 185: value_mw = mean_power_mw(board); break;
    case 186: value_mw = power_now_mw(board); break;
    case 187: value_mw = board->min_mw; break;
    case 188: value_mw = board->max_mw; break;
    case 189: value_mw = board->default_mw; break;
    case 190: value_mw = enforced_mw(board); break;
    case 192: value_mw = board->requested_mw; break;
    default: return NOT_SUPPORTED;
    }
    field->value.uiVal = (uint32_t)(value_mw + others_mw);
    return SUCCESS;
}

/* Succeeds even if no field can be read: each one has its own return code. */
int nvmlDeviceGetFieldValues(Board *board, int count, c_nvmlFieldValue_t *fields) {
    CHECK(board);
    for (int i = 0; i < count; i++) {
        fields[i].valueType = 1; /* unsigned int */
        fields[i].nvmlReturn = (uint32_t)read_field(board, &fields[i]);
    }
    return SUCCESS;
}

/* The power of the last 119 intervals of 20 ms, as an H200 keeps it. `NULL` asks for the number. */
int nvmlDeviceGetSamples(Board *board, int kind, unsigned long long after_us, int *value_type,
                         unsigned *count, c_nvmlSample_t *samples) {
    CHECK(board);
    if (kind != 0) /* NVML_TOTAL_POWER_SAMPLES */
        return NOT_SUPPORTED;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    unsigned long long now_us = (unsigned long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    *value_type = 1; /* unsigned int */
    *count = 119;
    for (unsigned i = 0; samples && i < *count; i++) {
        samples[i].timeStamp = (now_us / 20000 - (*count - 1 - i)) * 20000;
        samples[i].sampleValue.uiVal = (unsigned)mean_power_mw(board);
    }
    return after_us > now_us ? 6 /* not found */ : SUCCESS;
}

int nvmlDeviceSetPowerManagementLimit(Board *board, unsigned limit_mw) {
    CHECK(board);
    if (geteuid() != 0)
        return NO_PERMISSION;
    if (limit_mw < board->min_mw || limit_mw > board->max_mw)
        return INVALID_ARGUMENT;
    request_limit(board, limit_mw);
    return SUCCESS;
}

int nvmlDeviceSetPowerManagementLimit_v2(Board *board, c_nvmlPowerValue_v2_t *value) {
    CHECK(board);
    return value->powerScope ? NOT_SUPPORTED
                             : nvmlDeviceSetPowerManagementLimit(board, value->powerValueMw);
}
