/* Does with PostgreSQL what a fleet does for small jobs, as plain C would: each client admits a batch of jobs, assigns
 * them, reads them, and records their ends, in three transactions, each with the fence of its session.
 *
 * usage: fleet_rows URL jobs JOBS BATCH CLIENTS   prints the seconds until the last commit is on disk
 *        fleet_rows URL commits COUNT             prints the median of so many commits of a row, in seconds
 *
 * The tables are copies of the fleet's own with all their indexes, in a schema of their own. It has no schedule, no spool,
 * no workers and no limits, and knows what it will assign. */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *url;
static long jobs, batch, clients;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void die(PGconn *db, const char *what) {
  fprintf(stderr, "%s: %s\n", what, PQerrorMessage(db));
  exit(1);
}

static void check(PGconn *db, PGresult *result, const char *what) {
  ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) die(db, what);
  PQclear(result);
}

static void run_sql(PGconn *db, const char *sql) { check(db, PQexec(db, sql), sql); }

static PGconn *connect_to(const char *schema) {
  char sql[64];
  PGconn *db = PQconnectdb(url);
  if (PQstatus(db) != CONNECTION_OK) die(db, "connect");
  snprintf(sql, sizeof sql, "SET search_path = %s", schema);
  run_sql(db, sql);
  return db;
}

/* Statements that are sent at once, with one wait for all answers. */
static const char *const statements[][2] = {
    {"begin", "BEGIN"},
    {"commit", "COMMIT"},
    {"fence", "UPDATE _session SET number = number + 1 WHERE host = $1 AND slot = 0"},
    {"admit", "INSERT INTO \"Job\" (_key, _version, \"priority\", \"attempt\", \"maxAttempts\", \"submitter\", \"id\", "
              "\"type\", \"queue\", \"state\", \"arguments\", \"file\", \"spool\", \"createdAt\", \"crashes\") "
              "SELECT n.key, 1, 0, 0, 3, 0, 'name-of-a-job-' || n.key, 'noop', 'default', 'available', '{}', "
              "'job-' || n.key || '.json', 'host:/var/spool', extract(epoch FROM now())::float8, 0 "
              "FROM unnest($1::bigint[]) AS n (key) ON CONFLICT (\"id\") DO NOTHING"},
    {"tell", "INSERT INTO _inbox (kind, host, keys) VALUES ('admitted', $1, $2::bigint[])"},
    {"news", "WITH news AS (DELETE FROM _inbox WHERE host = $1 RETURNING keys) SELECT j._key, j.\"id\", j.\"type\", "
             "j.\"queue\", j.\"priority\", j.\"state\" FROM news, unnest(news.keys) AS k (key) "
             "JOIN \"Job\" AS j ON j._key = k.key"},
    {"assign", "INSERT INTO _run (job, host, attempt) SELECT k, $1, 1 FROM unnest($2::bigint[]) AS k"},
    {"runs", "SELECT job, attempt FROM _run WHERE host = $1"},
    {"read", "SELECT * FROM \"Job\" WHERE _key = ANY($1::bigint[])"},
    {"end", "UPDATE \"Job\" SET _version = _version + 1, \"state\" = 'completed', \"attempt\" = 1, \"host\" = 'host', "
            "\"startedAt\" = 1, \"finishedAt\" = extract(epoch FROM now())::float8, \"result\" = '{}' "
            "WHERE _key = ANY($1::bigint[])"},
    {"gone", "DELETE FROM _run WHERE job = ANY($1::bigint[]) AND host = $2"},
};

static void prepare(PGconn *db) {
  for (size_t index = 0; index < sizeof statements / sizeof *statements; index++) {
    check(db, PQprepare(db, statements[index][0], statements[index][1], 0, NULL), statements[index][1]);
  }
}

static void send(PGconn *db, const char *name, const char *first, const char *second) {
  const char *values[2] = {first, second};
  int count = !first ? 0 : !second ? 1 : 2;
  if (!PQsendQueryPrepared(db, name, count, values, NULL, NULL, 1)) die(db, name);
}

static void wait_for_all(PGconn *db) {
  if (!PQpipelineSync(db)) die(db, "sync");
  for (;;) {
    PGresult *result = PQgetResult(db);
    if (!result) continue;
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_PIPELINE_SYNC) die(db, "pipeline");
    PQclear(result);
    if (status == PGRES_PIPELINE_SYNC) return;
  }
}

static void *work(void *argument) {
  long number = (long)argument;
  char host[24];
  snprintf(host, sizeof host, "%ld", number + 1);
  PGconn *db = connect_to("peer");
  prepare(db);
  if (!PQenterPipelineMode(db)) die(db, "pipeline");
  char *keys = malloc((size_t)batch * 24 + 3);
  long own = jobs / clients;
  for (long done = 0; done < own; done += batch) {
    char *end = keys;
    for (long job = done; job < own && job < done + batch; job++) {
      end += sprintf(end, "%c%ld", job == done ? '{' : ',', number * jobs + job + 1);
    }
    strcpy(end, "}");
    send(db, "begin", NULL, NULL);
    send(db, "fence", host, NULL);
    send(db, "admit", keys, NULL);
    send(db, "tell", host, keys);
    send(db, "commit", NULL, NULL);
    wait_for_all(db);
    send(db, "begin", NULL, NULL);
    send(db, "fence", host, NULL);
    send(db, "assign", host, keys);
    send(db, "news", host, NULL);
    send(db, "commit", NULL, NULL);
    wait_for_all(db);
    send(db, "runs", host, NULL);
    send(db, "read", keys, NULL);
    wait_for_all(db);
    send(db, "begin", NULL, NULL);
    send(db, "fence", host, NULL);
    send(db, "end", keys, NULL);
    send(db, "gone", keys, host);
    send(db, "tell", host, keys);
    send(db, "commit", NULL, NULL);
    wait_for_all(db);
  }
  PQfinish(db);
  return NULL;
}

static void run_jobs(void) {
  PGconn *db = connect_to("public");
  run_sql(db, "SET client_min_messages = warning; DROP SCHEMA IF EXISTS peer CASCADE; CREATE SCHEMA peer");
  const char *const tables[] = {"\"Job\"", "_run", "_inbox", "_session"};
  for (int table = 0; table < 4; table++) {
    char sql[256];
    snprintf(sql, sizeof sql, "CREATE TABLE peer.%s (LIKE bobbin.%s INCLUDING ALL)", tables[table], tables[table]);
    run_sql(db, sql);
  }
  run_sql(db, "INSERT INTO peer._session SELECT g, 0, 0 FROM generate_series(1, 64) AS g; CHECKPOINT");
  PQfinish(db);
  pthread_t threads[64];
  double start = now();
  for (long client = 0; client < clients; client++) pthread_create(&threads[client], NULL, work, (void *)client);
  for (long client = 0; client < clients; client++) pthread_join(threads[client], NULL);
  printf("%.6f\n", now() - start);
}

static int ascending(const void *left, const void *right) {
  double difference = *(const double *)left - *(const double *)right;
  return (difference > 0) - (difference < 0);
}

static void time_commits(long count) {
  PGconn *db = connect_to("public");
  run_sql(db, "SET client_min_messages = warning; CREATE TABLE IF NOT EXISTS commits (number bigint)");
  double *times = malloc((size_t)count * sizeof *times);
  for (long index = 0; index < count; index++) {
    double start = now();
    run_sql(db, "INSERT INTO commits VALUES (1)");
    times[index] = now() - start;
  }
  qsort(times, (size_t)count, sizeof *times, ascending);
  printf("%.6f\n", times[count / 2]);
  PQfinish(db);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: fleet_rows URL jobs JOBS BATCH CLIENTS | commits COUNT\n");
    return 1;
  }
  url = argv[1];
  if (!strcmp(argv[2], "jobs") && argc == 6) {
    jobs = strtol(argv[3], NULL, 10);
    batch = strtol(argv[4], NULL, 10);
    clients = strtol(argv[5], NULL, 10);
    run_jobs();
  } else if (!strcmp(argv[2], "commits") && argc == 4) {
    time_commits(strtol(argv[3], NULL, 10));
  } else {
    return 1;
  }
  return 0;
}
