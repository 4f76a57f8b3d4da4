/* Steps through all people of a store and reads every column, or the keys only; prints the seconds of
 * processor time that it took.
 *
 * usage: fetch_rows STORE rows|ids EXPECTED_ROWS */
#include "peer.h"

int main(int argc, char **argv) {
  if (argc != 4) die("usage", "fetch_rows STORE rows|ids EXPECTED_ROWS");
  int reads_values = strcmp(argv[2], "rows") == 0;
  sqlite3 *db = open_file(argv[1]);
  sqlite3_stmt *select = prepare(
      db, reads_values ? "SELECT _key, _version, firstName, lastName, age, address FROM Person ORDER BY _key"
                       : "SELECT _key FROM Person ORDER BY _key");
  double start = worked();
  long rows = 0;
  long long sum = 0;
  while (sqlite3_step(select) == SQLITE_ROW) {
    rows++;
    sum += sqlite3_column_int64(select, 0);
    if (!reads_values) continue;
    sum += sqlite3_column_int64(select, 1) + sqlite3_column_int64(select, 4);
    for (int column = 2; column <= 5; column++) {
      if (column == 4) continue;
      const unsigned char *text = sqlite3_column_text(select, column);
      sum += text[0] + sqlite3_column_bytes(select, column);
    }
  }
  double seconds = worked() - start;
  if (rows != atol(argv[3]) || sum == 0) die(argv[1], "does not hold the expected rows");
  printf("%.6f\n", seconds);
  sqlite3_finalize(select);
  sqlite3_close(db);
  return 0;
}
