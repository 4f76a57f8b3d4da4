/* A client of the status interface: ask_status SOCKET COUNT PATH... asks for the paths in turn, COUNT times, over one
 * connection. Prints the requests a second, and the milliseconds that 99 of 100 did not exceed. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what) {
  perror(what);
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Reads one reply, which must be a 200 with its length told. */
static void read_reply(int client) {
  static char buffer[1 << 22];
  size_t have = 0, whole = 0;
  while (!whole || have < whole) {
    if (have == sizeof buffer - 1) {
      fprintf(stderr, "the reply is too long\n");
      exit(1);
    }
    ssize_t count = recv(client, buffer + have, sizeof buffer - 1 - have, 0);
    if (count <= 0) die("recv");
    have += count;
    buffer[have] = 0;
    char *end = whole ? NULL : strstr(buffer, "\r\n\r\n");
    if (!end) continue;
    char *length = strcasestr(buffer, "\r\ncontent-length:");
    if (strncmp(buffer, "HTTP/1.1 200", 12) != 0 || !length) {
      fprintf(stderr, "%s\n", buffer);
      exit(1);
    }
    whole = end + 4 - buffer + strtoul(length + 17, NULL, 10);
  }
}

int main(int argc, char **argv) {
  if (argc < 4) return 64;
  int count = atoi(argv[2]), paths = argc - 3;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
  int client = socket(AF_UNIX, SOCK_STREAM, 0);
  if (client < 0) die("socket");
  if (connect(client, (struct sockaddr *)&address, sizeof address) != 0) die("connect");
  double *times = calloc(count, sizeof *times), start = now();
  for (int i = 0; i < count; i++) {
    char request[4096];
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", argv[3 + i % paths]);
    double asked = now();
    if (send(client, request, length, MSG_NOSIGNAL) != length) die("send");
    read_reply(client);
    times[i] = now() - asked;
  }
  double seconds = now() - start;
  qsort(times, count, sizeof *times, compare);
  printf("%.1f %.3f\n", count / seconds, times[count * 99 / 100] * 1000);
}
