#define _GNU_SOURCE
/* The least that gives a dropped file the daemon's promise: claim it by rename, insert its row, commit in groups with
 * synchronous=FULL, unlink after the commit.
 *
 * usage: run_spool STORE SPOOL FILES FILES_PER_COMMIT
 * Prints "ready", and ends when that many files are done. It parses nothing, looks for no repeated job, keeps no
 * state, serves no status, and runs on one thread. */
#include "peer.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static sqlite3 *db;
static sqlite3_stmt *insert;
static int new_folder, current_folder;
static char (*group)[NAME_MAX + 1];
static long group_limit, group_count, done;

static void commit(void) {
  if (group_count == 0) return;
  run_sql(db, "COMMIT");
  for (long file = 0; file < group_count; file++) {
    if (unlinkat(current_folder, group[file], 0) != 0) die(group[file], strerror(errno));
  }
  done += group_count;
  group_count = 0;
}

static void claim(const char *name) {
  static char text[1 << 20];
  int file = openat(new_folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return;
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1) die(name, "no regular file");
  ssize_t count = read(file, text, sizeof text);
  close(file);
  if (count < 0 || renameat2(new_folder, name, current_folder, name, RENAME_NOREPLACE) != 0) die(name, strerror(errno));
  if (group_count == 0) run_sql(db, "BEGIN IMMEDIATE");
  double time = now();
  sqlite3_bind_text(insert, 1, name, -1, SQLITE_STATIC);
  sqlite3_bind_text(insert, 2, text, count, SQLITE_STATIC);
  sqlite3_bind_int64(insert, 3, status.st_uid);
  sqlite3_bind_double(insert, 4, time);
  step_write(db, insert);
  strcpy(group[group_count++], name);
  if (group_count == group_limit) commit();
}

int main(int argc, char **argv) {
  if (argc != 5) die("usage", "run_spool STORE SPOOL FILES FILES_PER_COMMIT");
  long files = atol(argv[3]);
  group_limit = atol(argv[4]);
  group = malloc(group_limit * sizeof *group);
  db = open_store(argv[1], job_table);
  insert = prepare(
      db, "INSERT INTO Job (_version, id, type, queue, priority, state, attempt, maxAttempts, arguments, file, "
          "submitter, createdAt, startedAt, finishedAt, result, crashes) "
          "VALUES (1, ?1, 'noop', 'default', 0, 'completed', 1, 3, ?2, ?1, ?3, ?4, ?4, ?4, '{}', 0)");
  if (chdir(argv[2]) != 0) die(argv[2], strerror(errno));
  new_folder = open("new", O_RDONLY | O_DIRECTORY);
  current_folder = open("cur", O_RDONLY | O_DIRECTORY);
  int watch = inotify_init1(IN_CLOEXEC);
  if (watch < 0 || inotify_add_watch(watch, "new", IN_MOVED_TO | IN_ONLYDIR) < 0) die("inotify", strerror(errno));
  puts("ready");
  fflush(stdout);
  static char events[1 << 16] __attribute__((aligned(8)));
  while (done < files) {
    ssize_t count = read(watch, events, sizeof events);
    if (count <= 0) die("inotify", strerror(errno));
    for (char *place = events; place < events + count;) {
      struct inotify_event *event = (struct inotify_event *)place;
      if (event->mask & IN_Q_OVERFLOW) die("inotify", "too many events at once; drop fewer files");
      claim(event->name);
      place += sizeof *event + event->len;
    }
    /* A group that is not full is committed once all files are there. */
    if (done + group_count >= files) commit();
  }
  sqlite3_finalize(insert);
  sqlite3_close(db);
  return 0;
}
