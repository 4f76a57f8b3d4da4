#pragma once
// fstat(3) for a process that may not look at files by their names.
//
// The C library makes newfstatat(2) of it, with an empty name. A filter of system calls sees where the name is but not
// what it says, so the call can only be refused as a whole. The kernel is asked to signal it instead, and the handler
// does with fstat(2) what was meant. It is written in C because nothing but C may run in a handler.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <unistd.h>

static inline void linux_fstat_instead(int signal, siginfo_t *information, void *context) {
  (void)signal;
  mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
  // Numbered by <sys/ucontext.h> as RDI, RSI, RDX, R10 and RAX.
  long long first = machine->gregs[8], second = machine->gregs[9], third = machine->gregs[12];
  long long fourth = machine->gregs[2], *result = (long long *)&machine->gregs[13];
#else
  unsigned long long first = machine->regs[0], second = machine->regs[1], third = machine->regs[2];
  unsigned long long fourth = machine->regs[3], *result = (unsigned long long *)&machine->regs[0];
#endif
  int before = errno;
  const char *name = (const char *)second;
  // Linux's own AT_EMPTY_PATH, which <fcntl.h> names for _GNU_SOURCE only.
  if (information->si_syscall != SYS_newfstatat || (fourth & 0x1000) == 0 || name == NULL || name[0] != 0) {
    *result = -EPERM;
  } else {
    *result = syscall(SYS_fstat, (int)first, (void *)third) == 0 ? 0 : -errno;
  }
  errno = before;
}

// Answers what the filter signals. -1 and errno on error.
static inline int linux_answer_fstat(void) {
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
  action.sa_sigaction = linux_fstat_instead;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGSYS, &action, NULL);
}
