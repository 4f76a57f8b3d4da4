/* Clients of the status interface: follow_events SOCKET COUNT read|slow. Says "ready" when each is connected, and stays
 * until it is killed. Those that read take all that comes; of the slow ones a third follow events and read nothing, a
 * third never end their request, and a third never end the input that they send with a job. One that is cut off comes
 * back. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void die(const char *what) {
  perror(what);
  exit(1);
}

static int open_client(const char *path, int index, int slow) {
  static const char whole[] = "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
  static const char half[] = "GET /v1/events HTTP/1.1\r\nHo";
  static const char upload[] =
      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
      "Content-Length: 1000000\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"table\"\r\n\r\nnumber,note\n";
  static const struct {
    const char *text;
    size_t length;
  } requests[] = {{whole, sizeof whole - 1}, {half, sizeof half - 1}, {upload, sizeof upload - 1}};
  int kind = slow ? index % 3 : 0;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  int client = socket(AF_UNIX, SOCK_STREAM, 0);
  if (client < 0) die("socket");
  if (connect(client, (struct sockaddr *)&address, sizeof address) != 0) die("connect");
  /* One that is refused at once is cut off already. */
  if (send(client, requests[kind].text, requests[kind].length, MSG_NOSIGNAL) < 0 && errno != EPIPE) die("send");
  return client;
}

int main(int argc, char **argv) {
  if (argc != 4) return 64;
  int count = atoi(argv[2]), slow = strcmp(argv[3], "slow") == 0;
  struct pollfd *clients = calloc(count, sizeof *clients);
  static char buffer[1 << 16];
  for (int i = 0; i < count; i++) {
    clients[i].fd = open_client(argv[1], i, slow);
    clients[i].events = slow ? 0 : POLLIN;
  }
  puts("ready");
  fflush(stdout);
  for (;;) {
    if (poll(clients, count, -1) < 0) die("poll");
    for (int i = 0; i < count; i++) {
      if (!clients[i].revents) continue;
      if (clients[i].revents & POLLIN && recv(clients[i].fd, buffer, sizeof buffer, MSG_DONTWAIT) > 0) continue;
      close(clients[i].fd);
      clients[i].fd = open_client(argv[1], i, slow);
    }
    /* Who comes back at once is refused at once; fifty times a second is enough of that. */
    if (slow) usleep(20000);
  }
}
