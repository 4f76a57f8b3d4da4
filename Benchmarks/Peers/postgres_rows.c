/* Writes people into a PostgreSQL database as plain C would; prints the seconds until the last commit is on disk.
 *
 * usage: postgres_rows URL copy ROWS ROWS_PER_COMMIT    inserts by COPY in binary form
 *        postgres_rows URL insert ROWS ROWS_PER_COMMIT  inserts by a prepared statement in a pipeline
 *        postgres_rows URL upsert ROWS ROWS_PER_COMMIT  COPY to a temporary table, then UPDATE and INSERT from it
 *
 * Each makes its table if it is missing; "upsert" changes the rows that "fill" has made:
 *        postgres_rows URL fill ROWS ROWS_PER_COMMIT */
#include <endian.h>
#include <libpq-fe.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static PGconn *db;

static void die(const char *what) {
  fprintf(stderr, "%s: %s\n", what, PQerrorMessage(db));
  exit(1);
}

static void run_sql(const char *sql) {
  PGresult *result = PQexec(db, sql);
  ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) die(sql);
  PQclear(result);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

/* The values of Benchmarks/Suite/PersonValues.swift, as far as their lengths matter. */
static int text_of(char *buffer, int kind, long row) {
  switch (kind) {
  case 0: return sprintf(buffer, "First%ld", row % 1000);
  case 1: return sprintf(buffer, "Lastname%ld", row % 1000);
  default: return sprintf(buffer, "%ld Long Street, Townsville", row % 1000);
  }
}

static char piece[1 << 17];
static size_t used;

static void put(const void *bytes, size_t count) {
  memcpy(piece + used, bytes, count);
  used += count;
}
static void put_count(uint32_t count) { uint32_t big = htobe32(count); put(&big, 4); }
static void put_integer(int64_t number) { put_count(8); uint64_t big = htobe64((uint64_t)number); put(&big, 8); }
static void put_text(int kind, long row) {
  char text[64];
  int length = text_of(text, kind, row);
  put_count((uint32_t)length);
  put(text, (size_t)length);
}
static void flush_piece(void) {
  if (PQputCopyData(db, piece, (int)used) != 1) die("COPY");
  used = 0;
}

static void begin_copy(const char *sql) {
  PGresult *result = PQexec(db, sql);
  if (PQresultStatus(result) != PGRES_COPY_IN) die(sql);
  PQclear(result);
  used = 0;
  put("PGCOPY\n\377\r\n\0", 11);
  put_count(0);
  put_count(0);
}

static void end_copy(void) {
  uint16_t end = 0xffff;
  put(&end, 2);
  flush_piece();
  if (PQputCopyEnd(db, NULL) != 1) die("COPY");
  PGresult *result;
  while ((result = PQgetResult(db))) {
    if (PQresultStatus(result) != PGRES_COMMAND_OK) die("COPY");
    PQclear(result);
  }
}

static void put_head(int fields) { uint16_t big = htobe16((uint16_t)fields); put(&big, 2); }

/* Rows with a key, a version and four values. */
static void copy_rows(const char *table, long first, long count) {
  char sql[256];
  sprintf(sql, "COPY %s (_key, _version, \"firstName\", \"lastName\", age, address) FROM STDIN (FORMAT binary)", table);
  begin_copy(sql);
  for (long row = first; row < first + count; row++) {
    put_head(6);
    put_integer(row + 1);
    put_integer(1);
    put_text(0, row);
    put_text(1, row);
    put_integer(row % 100);
    put_text(2, row);
    if (used > 60000) flush_piece();
  }
  end_copy();
}

static void insert_rows(long first, long count) {
  if (!PQenterPipelineMode(db)) die("pipeline");
  for (long row = first; row < first + count; row++) {
    char texts[3][64];
    int64_t key = (int64_t)htobe64((uint64_t)(row + 1)), age = (int64_t)htobe64((uint64_t)(row % 100));
    const char *values[5] = {(char *)&key, texts[0], texts[1], (char *)&age, texts[2]};
    int lengths[5] = {8, text_of(texts[0], 0, row), text_of(texts[1], 1, row), 8, text_of(texts[2], 2, row)};
    int formats[5] = {1, 1, 1, 1, 1};
    if (!PQsendQueryPrepared(db, "insert", 5, values, lengths, formats, 1)) die("insert");
  }
  if (!PQpipelineSync(db)) die("sync");
  for (long row = 0; row < count; row++) {
    PGresult *result = PQgetResult(db);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) die("insert");
    PQclear(result);
    PQgetResult(db);
  }
  PQclear(PQgetResult(db));
  PQexitPipelineMode(db);
}

static void upsert_rows(long first, long count) {
  run_sql("CREATE TEMPORARY TABLE staged (number bigint, name text, age bigint, address text) ON COMMIT DROP");
  begin_copy("COPY staged FROM STDIN (FORMAT binary)");
  for (long row = first; row < first + count; row++) {
    put_head(4);
    put_integer(row);
    put_text(1, row + 7);
    put_integer((row + 7) % 100);
    put_text(2, row + 7);
    if (used > 60000) flush_piece();
  }
  end_copy();
  run_sql("UPDATE \"Member\" AS m SET _version = m._version + 1, name = s.name, age = s.age, address = s.address "
          "FROM staged AS s WHERE m.number = s.number");
}

static void fill_rows(long first, long count) {
  begin_copy("COPY \"Member\" FROM STDIN (FORMAT binary)");
  for (long row = first; row < first + count; row++) {
    put_head(6);
    put_integer(row + 1);
    put_integer(1);
    put_integer(row);
    put_text(1, row);
    put_integer(row % 100);
    put_text(2, row);
    if (used > 60000) flush_piece();
  }
  end_copy();
}

int main(int argc, char **argv) {
  if (argc != 5) { fprintf(stderr, "usage: postgres_rows URL copy|insert|upsert|fill ROWS ROWS_PER_COMMIT\n"); return 1; }
  const char *kind = argv[2];
  long rows = strtol(argv[3], NULL, 10), chunk = strtol(argv[4], NULL, 10);
  db = PQconnectdb(argv[1]);
  if (PQstatus(db) != CONNECTION_OK) die("connect");
  int is_members = !strcmp(kind, "upsert") || !strcmp(kind, "fill");
  run_sql("SET client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS peer; SET search_path = peer");
  if (is_members) {
    run_sql("CREATE TABLE IF NOT EXISTS \"Member\" (_key bigint PRIMARY KEY, _version bigint NOT NULL, number bigint, "
            "name text COLLATE \"C\", age bigint, address text COLLATE \"C\"); "
            "CREATE UNIQUE INDEX IF NOT EXISTS member_number ON \"Member\" (number)");
  } else {
    run_sql("DROP TABLE IF EXISTS \"Person\"; CREATE TABLE \"Person\" (_key bigint PRIMARY KEY, _version bigint NOT NULL, "
            "\"firstName\" text COLLATE \"C\", \"lastName\" text COLLATE \"C\", age bigint, address text COLLATE \"C\")");
    PQclear(PQprepare(db, "insert", "INSERT INTO \"Person\" (_key, _version, \"firstName\", \"lastName\", age, address) "
                      "VALUES ($1, 1, $2, $3, $4, $5)", 5, (Oid[]){20, 25, 25, 20, 25}));
  }
  double start = now();
  for (long first = 0; first < rows; first += chunk) {
    long count = rows - first < chunk ? rows - first : chunk;
    run_sql("BEGIN");
    if (!strcmp(kind, "copy")) copy_rows("\"Person\"", first, count);
    else if (!strcmp(kind, "insert")) insert_rows(first, count);
    else if (!strcmp(kind, "upsert")) upsert_rows(first, count);
    else fill_rows(first, count);
    run_sql("COMMIT");
  }
  printf("%.6f\n", now() - start);
  PQfinish(db);
  return 0;
}
