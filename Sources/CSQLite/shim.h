#pragma once
#include <sqlite3.h>

// sqlite3_db_config is variadic.
static inline int sqlite_disable_triggers(sqlite3 *connection) {
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
}
