#pragma once
#include <postgresql/libpq-fe.h>
// Not in the module of the C library.
#include <sys/eventfd.h>

// The characters by which parts of an error are asked for are macros of postgres_ext.h that Swift imports as signed
// characters, where the function wants an int.
static inline const char *postgres_error_state(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}
static inline const char *postgres_error_text(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}
static inline const char *postgres_error_constraint(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
}
