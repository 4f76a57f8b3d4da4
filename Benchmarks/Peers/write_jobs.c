#define _GNU_SOURCE
/* The least that accepts jobs, runs them and promises that neither is forgotten: each batch's rows are inserted as they
 * are accepted, updated as they are completed, and committed with synchronous=FULL.
 *
 * usage: write_jobs STORE JOBS JOBS_PER_COMMIT
 * Prints the seconds that it took. It reads no requests, keeps no file, starts nothing and answers nobody. */
#include "peer.h"
#include <fcntl.h>
#include <unistd.h>

static void begin_batch(char *prefix, size_t size) {
  unsigned char random[16];
  int source = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (source < 0 || read(source, random, sizeof random) != sizeof random) die("/dev/urandom", "can't be read");
  close(source);
  int length = snprintf(prefix, size, "submitted-0-");
  for (size_t index = 0; index < sizeof random; index++) {
    length += snprintf(prefix + length, size - length, "%02X", random[index]);
  }
}

int main(int argc, char **argv) {
  if (argc != 4) die("usage", "write_jobs STORE JOBS JOBS_PER_COMMIT");
  long jobs = atol(argv[2]), per_commit = atol(argv[3]);
  sqlite3 *db = open_store(argv[1], job_table);
  sqlite3_stmt *insert = prepare(
      db, "INSERT INTO Job (_key, _version, id, type, queue, priority, state, attempt, maxAttempts, arguments, file, "
          "submitter, createdAt, crashes) VALUES (?1, 1, ?2, 'noop', 'default', 0, 'available', 0, 3, '{}', ?3, 0, ?4, 0)");
  sqlite3_stmt *update = prepare(
      db, "UPDATE Job SET state = 'completed', attempt = 1, startedAt = ?2, finishedAt = ?2, result = '{}' "
          "WHERE _key = ?1");
  double start = now();
  for (long first = 0; first < jobs; first += per_commit) {
    char prefix[64], file[80];
    begin_batch(prefix, sizeof prefix);
    int file_length = snprintf(file, sizeof file, "%s.json", prefix);
    long end = first + per_commit < jobs ? first + per_commit : jobs;
    run_sql(db, "BEGIN IMMEDIATE");
    for (long job = first; job < end; job++) {
      char id[96];
      int length = snprintf(id, sizeof id, "%s-%ld", prefix, job - first + 1);
      sqlite3_bind_int64(insert, 1, job + 1);
      sqlite3_bind_text(insert, 2, id, length, SQLITE_STATIC);
      sqlite3_bind_text(insert, 3, file, file_length, SQLITE_STATIC);
      sqlite3_bind_double(insert, 4, seconds_of(CLOCK_REALTIME));
      step_write(db, insert);
    }
    for (long job = first; job < end; job++) {
      sqlite3_bind_int64(update, 1, job + 1);
      sqlite3_bind_double(update, 2, seconds_of(CLOCK_REALTIME));
      step_write(db, update);
    }
    run_sql(db, "COMMIT");
  }
  printf("%.6f\n", now() - start);
  sqlite3_finalize(insert);
  sqlite3_finalize(update);
  sqlite3_close(db);
  return 0;
}
