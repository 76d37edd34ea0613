/* Preloaded into a test process, this makes the HOMELOOP_TEST_FAIL_AT-th write to or sync of a file in
 * HOMELOOP_TEST_WATCH fail, and the two after it: as HOMELOOP_TEST_FAIL_HOW says, for want of space ("full"), with an
 * error of the disk ("write"), or when data is made durable ("sync"). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fails(int fd, int syncs) {
    static long seen;
    const char *watch = getenv("HOMELOOP_TEST_WATCH"), *how = getenv("HOMELOOP_TEST_FAIL_HOW");
    const char *at = getenv("HOMELOOP_TEST_FAIL_AT");
    char link[64], path[PATH_MAX];
    if (!watch || !how || !at || syncs != (strcmp(how, "sync") == 0)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = '\0';
    if (strncmp(path, watch, strlen(watch)) != 0) return 0;
    long number = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST), first = atol(at);
    if (number < first || number > first + 2) return 0;
    errno = strcmp(how, "full") == 0 ? ENOSPC : EIO;
    return 1;
}

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

int fsync(int fd) { return fails(fd, 1) ? -1 : REAL("fsync", int (*)(int))(fd); }

int fdatasync(int fd) { return fails(fd, 1) ? -1 : REAL("fdatasync", int (*)(int))(fd); }

ssize_t write(int fd, const void *from, size_t size) {
    return fails(fd, 0) ? -1 : REAL("write", ssize_t(*)(int, const void *, size_t))(fd, from, size);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t at) {
    return fails(fd, 0) ? -1 : REAL("pwrite", ssize_t(*)(int, const void *, size_t, off_t))(fd, from, size, at);
}

ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at) {
    return fails(fd, 0) ? -1 : REAL("pwrite64", ssize_t(*)(int, const void *, size_t, off64_t))(fd, from, size, at);
}
