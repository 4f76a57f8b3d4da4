/* Puts, reserves and deletes that many small jobs in a beanstalkd that syncs each write; prints the seconds.
 *
 * usage: beanstalk BEANSTALKD FOLDER JOBS
 * The protocol: https://github.com/beanstalkd/beanstalkd/blob/master/doc/protocol.txt
 * Requests are sent a hundred at a time before their answers are read, so that no round trip is waited for. */
#include "peer.h"
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { window = 100 };

static FILE *server;
static long identifiers[window];

static void expect(const char *beginning, char *line, int size) {
  if (!fgets(line, size, server)) die("beanstalkd", "it closed the connection");
  if (strncmp(line, beginning, strlen(beginning)) != 0) die("beanstalkd", line);
}

static int attach(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int number = socket(AF_UNIX, SOCK_STREAM, 0);
  if (number < 0) die("socket", strerror(errno));
  return connect(number, (struct sockaddr *)&address, sizeof address) == 0 ? number : (close(number), -1);
}

static void put(long count) {
  char line[256];
  for (long i = 0; i < count; i++) fputs("put 0 0 60 15\r\n{\"type\":\"noop\"}\r\n", server);
  fflush(server);
  for (long i = 0; i < count; i++) expect("INSERTED", line, sizeof line);
}

static void reserve(long count) {
  char line[256];
  for (long i = 0; i < count; i++) fputs("reserve\r\n", server);
  fflush(server);
  for (long i = 0; i < count; i++) {
    expect("RESERVED", line, sizeof line);
    if (sscanf(line, "RESERVED %ld", &identifiers[i]) != 1) die("beanstalkd", line);
    expect("{", line, sizeof line);
  }
  for (long i = 0; i < count; i++) fprintf(server, "delete %ld\r\n", identifiers[i]);
  fflush(server);
  for (long i = 0; i < count; i++) expect("DELETED", line, sizeof line);
}

int main(int argc, char **argv) {
  if (argc != 4) die("usage", "beanstalk BEANSTALKD FOLDER JOBS");
  long jobs = atol(argv[3]);
  char path[108], listen_at[120];
  snprintf(path, sizeof path, "%s/s", argv[2]);
  snprintf(listen_at, sizeof listen_at, "unix:%s", path);
  pid_t child = fork();
  if (child == 0) {
    execl(argv[1], argv[1], "-f", "0", "-b", argv[2], "-l", listen_at, (char *)NULL);
    _exit(127);
  }
  int number = -1;
  for (int look = 0; number < 0 && look < 500; look++) {
    usleep(10000);
    number = attach(path);
  }
  if (number < 0) die("beanstalkd", "it does not listen");
  server = fdopen(number, "r+");
  double start = now();
  for (long done = 0; done < jobs; done += window) put(jobs - done < window ? jobs - done : window);
  for (long done = 0; done < jobs; done += window) reserve(jobs - done < window ? jobs - done : window);
  double end = now();
  kill(child, SIGTERM);
  waitpid(child, NULL, 0);
  printf("%.6f\n", end - start);
  return 0;
}
