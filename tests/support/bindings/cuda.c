/* Stands in for libcuda.so.1 in tests: the boards that a cgroup allows, and of these the ones that
 * CUDA_VISIBLE_DEVICES names by number or UUID. Functions are those of the CUDA driver API. */
#include "boards.c"
#include <stdio.h>

static int devices[4], count;

static int is_named(const char *entry, size_t length, int number, const Board *board) {
    char text[8];
    int written = snprintf(text, sizeof text, "%d", number);
    return (length == (size_t)written && !strncmp(entry, text, length)) ||
           (length > 4 && !strncmp(entry, board->uuid, length));
}

int cuInit(unsigned flags) {
    (void)flags;
    if (!open_boards())
        return 100; /* no device */
    int allowed[4], allowed_count = 0;
    for (int i = 0; i < boards->count; i++)
        if (!find_error(&boards->board[i], "nvmlDeviceGetHandleByIndex_v2", "finding"))
            allowed[allowed_count++] = i;
    count = 0;
    const char *entry = getenv("CUDA_VISIBLE_DEVICES");
    if (!entry)
        for (; count < allowed_count; count++)
            devices[count] = allowed[count];
    while (entry && *entry) {
        size_t length = strcspn(entry, ",");
        for (int i = 0; i < allowed_count; i++)
            if (is_named(entry, length, i, &boards->board[allowed[i]]))
                devices[count++] = allowed[i];
        entry += length + (entry[length] == ',');
    }
    return 0;
}

int cuDeviceGetCount(int *number) {
    *number = count;
    return 0;
}

int cuDeviceGet(int *device, int number) {
    *device = devices[number];
    return number < count ? 0 : 101; /* invalid device */
}

int cuDeviceGetUuid(unsigned char *octets, int device) {
    const char *text = boards->board[device].uuid + 4;
    for (int i = 0; i < 16; i++, text += 2) {
        text += *text == '-';
        sscanf(text, "%2hhx", &octets[i]);
    }
    return 0;
}
