/* What the plain C peers share: an SQLite file with the pragmas that the store sets, and a clock. */
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void die(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void run_sql(sqlite3 *db, const char *sql) {
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) die(sql, message);
}

static inline sqlite3 *open_file(const char *path) {
  sqlite3 *db;
  if (sqlite3_open(path, &db) != SQLITE_OK) die(path, sqlite3_errmsg(db));
  run_sql(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;");
  return db;
}

static inline sqlite3 *open_store(const char *path, const char *schema) {
  sqlite3 *db = open_file(path);
  run_sql(db, schema);
  return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) {
    die(sql, sqlite3_errmsg(db));
  }
  return statement;
}

static inline void step_write(sqlite3 *db, sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_DONE) die(sqlite3_sql(statement), sqlite3_errmsg(db));
  sqlite3_reset(statement);
}

/* The columns and indexes of the daemon's jobs, without its triggers. */
static const char *const job_table =
    "CREATE TABLE Job (_key INTEGER PRIMARY KEY, _version INTEGER NOT NULL, id TEXT, type TEXT, queue TEXT, "
    "priority INTEGER, state TEXT, attempt INTEGER, maxAttempts INTEGER, arguments TEXT, file TEXT, "
    "submitter INTEGER, createdAt REAL, startedAt REAL, finishedAt REAL, failure TEXT, result TEXT, cursor TEXT, "
    "dueAt REAL, batch TEXT, options TEXT, stopEvent TEXT, stopReason TEXT, crashes INTEGER);"
    "CREATE UNIQUE INDEX byID ON Job (id); CREATE INDEX byCreation ON Job (createdAt);"
    "CREATE INDEX byState ON Job (state, finishedAt); CREATE INDEX byBatch ON Job (batch)";

static inline double seconds_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static inline double now(void) { return seconds_of(CLOCK_MONOTONIC); }

/* The processor time of this thread, where nothing is waited for but the processor. */
static inline double worked(void) { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
