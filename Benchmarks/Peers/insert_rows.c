/* Inserts rows with one prepared statement and a commit every so many; prints the seconds that it took.
 *
 * usage: insert_rows STORE ROWS ROWS_PER_COMMIT
 * The rows are those of the suite's insert figure (PersonValues.swift). */
#include "peer.h"

enum { VALUES = 1000 };

int main(int argc, char **argv) {
  if (argc != 4) die("usage", "insert_rows STORE ROWS ROWS_PER_COMMIT");
  long rows = atol(argv[2]), per_commit = atol(argv[3]);
  sqlite3 *db = open_store(
      argv[1],
      "CREATE TABLE Person (_key INTEGER PRIMARY KEY, _version INTEGER NOT NULL, firstName TEXT, lastName TEXT, "
      "age INTEGER, address TEXT)");
  char first[VALUES][32], last[VALUES][32], address[VALUES][48];
  for (int i = 0; i < VALUES; i++) {
    snprintf(first[i], sizeof first[i], "First%d", i);
    snprintf(last[i], sizeof last[i], "Lastname%d", i);
    snprintf(address[i], sizeof address[i], "%d Long Street, Townsville", i);
  }
  sqlite3_stmt *insert = prepare(
      db, "INSERT INTO Person (_key, _version, firstName, lastName, age, address) VALUES (?1, 1, ?2, ?3, ?4, ?5)");
  double start = now();
  for (long row = 0; row < rows; row++) {
    if (row % per_commit == 0) run_sql(db, "BEGIN IMMEDIATE");
    int value = row % VALUES;
    sqlite3_bind_int64(insert, 1, row + 1);
    sqlite3_bind_text(insert, 2, first[value], strlen(first[value]), SQLITE_STATIC);
    sqlite3_bind_text(insert, 3, last[value], strlen(last[value]), SQLITE_STATIC);
    sqlite3_bind_int64(insert, 4, row % 100);
    sqlite3_bind_text(insert, 5, address[value], strlen(address[value]), SQLITE_STATIC);
    step_write(db, insert);
    if ((row + 1) % per_commit == 0 || row + 1 == rows) run_sql(db, "COMMIT");
  }
  printf("%.6f\n", now() - start);
  sqlite3_finalize(insert);
  sqlite3_close(db);
  return 0;
}
