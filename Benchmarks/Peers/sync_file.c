/* Appends a page to a file and syncs it, again and again; prints the median of the seconds that it took.
 *
 * usage: sync_file FILE TIMES */
#include "peer.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

int main(int argc, char **argv) {
  if (argc != 3) die("usage", "sync_file FILE TIMES");
  int times = atoi(argv[2]), file = open(argv[1], O_CREAT | O_WRONLY | O_APPEND, 0600);
  if (file < 0) die(argv[1], strerror(errno));
  static char page[4096];
  double *took = calloc(times, sizeof *took);
  for (int i = 0; i < times; i++) {
    double start = now();
    if (write(file, page, sizeof page) != sizeof page || fdatasync(file) != 0) die(argv[1], strerror(errno));
    took[i] = now() - start;
  }
  qsort(took, times, sizeof *took, compare);
  printf("%.9f\n", took[times / 2]);
  return 0;
}
