/* Renames files from tmp/ to new/ of a spool, waits until that many have gone from cur/; prints the seconds.
 *
 * usage: drop_files SPOOL FILES
 * The files job-0.json ... lie in tmp/ already. The same program drives the daemon and the C peer. */
#include "peer.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 3) die("usage", "drop_files SPOOL FILES");
  long files = atol(argv[2]), gone = 0;
  if (chdir(argv[1]) != 0) die(argv[1], strerror(errno));
  int watch = inotify_init1(IN_CLOEXEC);
  if (watch < 0 || inotify_add_watch(watch, "cur", IN_DELETE | IN_ONLYDIR) < 0) die("inotify", strerror(errno));
  static char events[1 << 20] __attribute__((aligned(8)));
  char from[64], to[64];
  double start = now();
  for (long file = 0; file < files; file++) {
    snprintf(from, sizeof from, "tmp/job-%ld.json", file);
    snprintf(to, sizeof to, "new/job-%ld.json", file);
    if (rename(from, to) != 0) die(from, strerror(errno));
  }
  while (gone < files) {
    struct pollfd wait = {.fd = watch, .events = POLLIN};
    int ready = poll(&wait, 1, 120000);
    if (ready == 0) die("timeout", "the spool is not empty after two minutes");
    ssize_t count = read(watch, events, sizeof events);
    if (count <= 0) die("inotify", strerror(errno));
    for (char *place = events; place < events + count;) {
      struct inotify_event *event = (struct inotify_event *)place;
      if (event->mask & IN_Q_OVERFLOW) die("inotify", "too many events at once; drop fewer files");
      gone++;
      place += sizeof *event + event->len;
    }
  }
  printf("%.6f\n", now() - start);
  return 0;
}
