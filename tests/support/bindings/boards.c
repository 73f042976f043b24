/* What both libraries share: the boards in the file that WATTMARK_TEST_BOARDS names. */
#include "boards.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static Boards *boards;

/* Map the file. A process that does so again sees the file that the variable names now. */
static int open_boards(void) {
    const char *path = getenv("WATTMARK_TEST_BOARDS");
    int file = path ? open(path, O_RDWR) : -1;
    if (file < 0)
        return 0;
    void *memory = mmap(NULL, sizeof(Boards), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    boards = memory == MAP_FAILED ? NULL : memory;
    return boards != NULL;
}

/* The error that a test has chosen for this function, by its name or by its kind, else 0. */
static int find_error(const Board *board, const char *function, const char *kind) {
    if (!strcmp(board->failing, "*") || !strcmp(board->failing, function) ||
        !strcmp(board->failing, kind))
        return (int)board->error_code;
    return 0;
}

static int64_t min_of(int64_t first, int64_t second) { return first < second ? first : second; }

static int64_t enforced_mw(Board *board) {
    return min_of(__atomic_load_n(&board->requested_mw, __ATOMIC_SEQ_CST), board->ceiling_mw);
}

/* The limit changes in the middle of the call. */
static void request_limit(Board *board, int64_t limit_mw) {
    useconds_t half_us = (useconds_t)board->set_duration_ms * 500;
    usleep(half_us);
    __atomic_add_fetch(&board->sets, 1, __ATOMIC_SEQ_CST);
    if (!board->ignores_limits)
        __atomic_store_n(&board->requested_mw, limit_mw, __ATOMIC_SEQ_CST);
    usleep(half_us);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

/* The mean draw: what the board demands, or a little less than its limit. */
static int64_t mean_power_mw(Board *board) {
    return min_of(board->demand_mw, enforced_mw(board) * 98 / 100);
}

/* The draw in these 20 ms, up to 5 W off the mean. */
static int64_t power_now_mw(Board *board) {
    uint64_t hash = (uint64_t)(now_ns() / 20000000L + board->bus) * 2654435761UL >> 8;
    return mean_power_mw(board) + (int64_t)(hash % 10001) - 5000;
}

/* The energy since the first call for this board. */
static int64_t total_energy_uj(Board *board) {
    int64_t end_ns = now_ns();
    int64_t start_ns = __atomic_exchange_n(&board->energy_at_ns, end_ns, __ATOMIC_SEQ_CST);
    int64_t added_uj = start_ns ? mean_power_mw(board) * (end_ns - start_ns) / 1000000L : 0;
    return __atomic_add_fetch(&board->energy_uj, added_uj, __ATOMIC_SEQ_CST);
}
