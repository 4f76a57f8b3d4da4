/* Reads rows by their keys on one thread while another one steps through the whole table; prints the 99th percentile
 * of the reads, in seconds.
 *
 * usage: point_reads STORE ROWS */
#include <pthread.h>
#include <stdatomic.h>
#include "peer.h"

enum { MOST_READS = 1 << 22 };
static const char *path;
static atomic_int is_scanning = 1;
static double durations[MOST_READS];

static const char *const columns = "SELECT _key, _version, firstName, lastName, age, address FROM Person ";

static long read_row(sqlite3_stmt *select) {
  long sum = 0;
  for (int column = 0; column < 6; column++) sum += sqlite3_column_bytes(select, column);
  return sum;
}

static void *scan(void *unused) {
  char sql[200];
  snprintf(sql, sizeof sql, "%sORDER BY _key", columns);
  sqlite3 *db = open_file(path);
  sqlite3_stmt *select = prepare(db, sql);
  long sum = 0;
  while (sqlite3_step(select) == SQLITE_ROW) sum += read_row(select);
  if (sum == 0) die(path, "is empty");
  sqlite3_finalize(select);
  sqlite3_close(db);
  is_scanning = 0;
  return unused;
}

static int ascending(const void *left, const void *right) {
  double difference = *(const double *)left - *(const double *)right;
  return difference < 0 ? -1 : difference > 0;
}

int main(int argc, char **argv) {
  if (argc != 3) die("usage", "point_reads STORE ROWS");
  path = argv[1];
  long rows = atol(argv[2]), reads = 0, key = 1;
  char sql[200];
  snprintf(sql, sizeof sql, "%sWHERE _key = ?1", columns);
  sqlite3 *db = open_file(path);
  sqlite3_stmt *select = prepare(db, sql);
  pthread_t thread;
  if (pthread_create(&thread, NULL, scan, NULL) != 0) die("pthread_create", "no thread");
  while (is_scanning && reads < MOST_READS) {
    key = (key * 48271) % rows + 1;
    double start = now();
    sqlite3_bind_int64(select, 1, key);
    if (sqlite3_step(select) != SQLITE_ROW || read_row(select) == 0) die(path, "lacks a row");
    sqlite3_reset(select);
    durations[reads++] = now() - start;
  }
  pthread_join(thread, NULL);
  qsort(durations, reads, sizeof *durations, ascending);
  printf("%.9f\n", reads > 0 ? durations[reads * 99 / 100] : 0.0);
  sqlite3_finalize(select);
  sqlite3_close(db);
  return 0;
}
