/* Reads a CSV file of members (number, name, age, address; the address may be quoted) and inserts each, or updates the
 * one with its number, by one prepared statement in one transaction; prints the seconds until the commit is on disk.
 *
 * usage: upsert_rows STORE FILE */
#include "peer.h"

enum { FIELDS = 4 };

/* Splits a line in place; returns the number of fields. */
static int split(char *line, char **fields) {
  int count = 0;
  for (char *at = line; count < FIELDS; at++) {
    if (*at == '"') {
      char *write = ++at;
      fields[count++] = write;
      while (*at && (*at != '"' || at[1] == '"')) {
        if (*at == '"') at++;
        *write++ = *at++;
      }
      if (*at) at++;
      int end = *at == 0;
      *write = 0;
      if (end) return count;
    } else {
      fields[count++] = at;
      while (*at && *at != ',') at++;
      if (*at == 0) return count;
      *at = 0;
    }
  }
  return count;
}

int main(int argc, char **argv) {
  if (argc != 3) die("usage", "upsert_rows STORE FILE");
  sqlite3 *db = open_store(argv[1],
      "CREATE TABLE IF NOT EXISTS Member (_key INTEGER PRIMARY KEY, _version INTEGER NOT NULL, number INTEGER, "
      "name TEXT, age INTEGER, address TEXT); CREATE UNIQUE INDEX IF NOT EXISTS member_number ON Member (number)");
  FILE *file = fopen(argv[2], "r");
  if (!file) die(argv[2], "can't be read");
  double start = now();
  sqlite3_stmt *upsert = prepare(db,
      "INSERT INTO Member (_version, number, name, age, address) VALUES (1, ?1, ?2, ?3, ?4) "
      "ON CONFLICT (number) DO UPDATE SET _version = _version + 1, name = excluded.name, age = excluded.age, "
      "address = excluded.address");
  run_sql(db, "BEGIN IMMEDIATE");
  char *line = NULL;
  size_t size = 0;
  ssize_t length = getline(&line, &size, file);
  while ((length = getline(&line, &size, file)) > 0) {
    if (line[length - 1] == '\n') line[--length] = 0;
    char *fields[FIELDS];
    if (split(line, fields) != FIELDS) die(line, "has another number of fields");
    sqlite3_bind_int64(upsert, 1, strtoll(fields[0], NULL, 10));
    sqlite3_bind_text(upsert, 2, fields[1], -1, SQLITE_STATIC);
    sqlite3_bind_int64(upsert, 3, strtoll(fields[2], NULL, 10));
    sqlite3_bind_text(upsert, 4, fields[3], -1, SQLITE_STATIC);
    step_write(db, upsert);
  }
  run_sql(db, "COMMIT");
  printf("%.6f\n", now() - start);
  free(line);
  fclose(file);
  sqlite3_finalize(upsert);
  sqlite3_close(db);
  return 0;
}
