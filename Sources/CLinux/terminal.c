// Gives a terminal back when the process crashes: what a handler of signals may do is too little for Swift.
#include "CLinux.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t is_taken;
static int input;
static int output;
static struct termios settings;
static char leave[128];
static size_t leave_length;

static void give_back(int number) {
  if (is_taken) {
    is_taken = 0;
    if (write(output, leave, leave_length) < 0) { /* There is no way to tell. */ }
    tcsetattr(input, TCSANOW, &settings);
  }
  // The action is the default one again.
  raise(number);
}

void linux_give_back_terminal(int in, const struct termios *saved, int out, const char *text) {
  is_taken = 0;
  input = in;
  output = out;
  settings = *saved;
  leave_length = strnlen(text, sizeof leave);
  memcpy(leave, text, leave_length);
  struct sigaction action = {.sa_handler = give_back, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER | SA_ONSTACK)};
  static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGSYS};
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) sigaction(crashes[i], &action, NULL);
  is_taken = 1;
}

void linux_keep_terminal(void) { is_taken = 0; }
