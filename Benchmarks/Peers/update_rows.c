/* Reads keys, versions and ages of all people, then raises each age by 1 in one transaction that checks and raises the
 * versions; prints the seconds from the first update until the commit is on disk.
 *
 * usage: update_rows STORE ROWS */
#include "peer.h"

int main(int argc, char **argv) {
  if (argc != 3) die("usage", "update_rows STORE ROWS");
  long rows = atol(argv[2]), read = 0;
  sqlite3 *db = open_file(argv[1]);
  struct { sqlite3_int64 key, version, age; } *people = malloc(rows * sizeof *people);
  if (!people) die("malloc", "no memory");
  sqlite3_stmt *select = prepare(db, "SELECT _key, _version, age FROM Person ORDER BY _key");
  for (; read < rows && sqlite3_step(select) == SQLITE_ROW; read++) {
    people[read].key = sqlite3_column_int64(select, 0);
    people[read].version = sqlite3_column_int64(select, 1);
    people[read].age = sqlite3_column_int64(select, 2);
  }
  sqlite3_reset(select);
  if (read != rows) die(argv[1], "does not hold so many rows");
  sqlite3_stmt *update =
      prepare(db, "UPDATE Person SET _version = ?2 + 1, age = ?3 WHERE _key = ?1 AND _version = ?2");
  double start = now();
  run_sql(db, "BEGIN IMMEDIATE");
  for (long row = 0; row < rows; row++) {
    sqlite3_bind_int64(update, 1, people[row].key);
    sqlite3_bind_int64(update, 2, people[row].version);
    sqlite3_bind_int64(update, 3, people[row].age + 1);
    step_write(db, update);
    if (sqlite3_changes(db) != 1) die("UPDATE", "somebody else changed a row");
  }
  run_sql(db, "COMMIT");
  printf("%.6f\n", now() - start);
  sqlite3_finalize(select);
  sqlite3_finalize(update);
  sqlite3_close(db);
  return 0;
}
