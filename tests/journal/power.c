/* Preloaded into a test process, this keeps in HOMELOOP_TEST_DURABLE what a power cut would leave of the directory
 * HOMELOOP_TEST_WATCH at worst: of each file the content at its last fsync, and of renames and removals those before the
 * last fsync of the directory. Everything later is as if it had never reached the disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Changes of the directory that are not yet on disk; an empty second name is a removal. */
static struct { char name[64], to[64]; } changes[16];
static int pending;

/* The name inside the watched directory, "" for the directory itself, or NULL. */
static const char *watched(const char *path) {
    const char *watch = getenv("HOMELOOP_TEST_WATCH");
    size_t length = watch ? strlen(watch) : 0;
    if (length == 0 || strncmp(path, watch, length) != 0) return NULL;
    if (path[length] == '\0') return "";
    return path[length] == '/' ? path + length + 1 : NULL;
}

static void durable(char *into, const char *name, const char *suffix) {
    snprintf(into, PATH_MAX, "%s/%s%s", getenv("HOMELOOP_TEST_DURABLE"), name, suffix);
}

static void keep(int fd) {
    char link[64], path[PATH_MAX], part[PATH_MAX], whole[PATH_MAX];
    static char buffer[1 << 16];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return;
    path[length] = '\0';
    const char *name = watched(path);
    if (name == NULL) return;
    if (*name == '\0') {
        for (int i = 0; i < pending; i++) {
            durable(part, changes[i].name, "");
            durable(whole, changes[i].to, "");
            if (*changes[i].to) rename(part, whole); else unlink(part);
        }
        pending = 0;
        return;
    }
    durable(part, name, ".part");
    durable(whole, name, "");
    int copy = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (copy < 0) abort();
    /* Read through the same descriptor: closing another one would drop SQLite's locks. */
    for (off_t at = 0; (length = pread(fd, buffer, sizeof buffer, at)) > 0; at += length)
        if (write(copy, buffer, (size_t)length) != length) abort();
    close(copy);
    rename(part, whole);
}

int fsync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    int result = real(fd);
    if (result == 0) keep(fd);
    return result;
}

int fdatasync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    int result = real(fd);
    if (result == 0) keep(fd);
    return result;
}

static void later(const char *name, const char *to) {
    if (name == NULL || to == NULL) return;
    if (pending == 16) abort();
    snprintf(changes[pending].name, 64, "%s", name);
    snprintf(changes[pending].to, 64, "%s", to);
    pending++;
}

int rename(const char *from, const char *to) {
    int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    int result = real(from, to);
    if (result == 0) later(watched(from), watched(to));
    return result;
}

int unlink(const char *path) {
    int (*real)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
    int result = real(path);
    if (result == 0) later(watched(path), "");
    return result;
}
