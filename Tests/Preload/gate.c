// Stands before the C library in a program under test, and lets its disk be slow: the first write to a file whose path has
// GATE_PATH in it makes the file GATE.reached, and waits until somebody opens the FIFO GATE for writing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic(int) is_open;

static int is_behind_gate(int file) {
  const char *part = getenv("GATE_PATH");
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (!part || length < 0) return 0;
  path[length] = 0;
  return strstr(path, part) != NULL;
}

ssize_t write(int file, const void *bytes, size_t count) {
  static ssize_t (*real_write)(int, const void *, size_t);
  if (!real_write) real_write = dlsym(RTLD_NEXT, "write");
  if (!atomic_load(&is_open) && is_behind_gate(file)) {
    const char *gate = getenv("GATE");
    char reached[4096];
    snprintf(reached, sizeof reached, "%s.reached", gate ? gate : "");
    int mark = creat(reached, 0600);
    if (mark < 0) _exit(99);
    close(mark);
    int fifo = gate ? open(gate, O_RDONLY | O_CLOEXEC) : -1;
    if (fifo < 0) _exit(99);
    close(fifo);
    atomic_store(&is_open, 1);
  }
  return real_write(file, bytes, count);
}
