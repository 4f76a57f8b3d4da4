// The width of characters on a terminal.
#define _GNU_SOURCE
#include "CLinux.h"
#include <locale.h>
#include <pthread.h>
#include <wchar.h>

// The C library knows no characters but ASCII until it is told of a locale; this one is part of it.
static locale_t utf8;

static void make_utf8(void) { utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0); }

int linux_columns(unsigned int scalar) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_utf8);
  if (utf8 == (locale_t)0) return 1;
  locale_t own = uselocale(utf8);
  int columns = wcwidth((wchar_t)scalar);
  uselocale(own);
  return columns < 0 ? 0 : columns;
}
