// Starting a program with what posix_spawn can't give it: resource limits, umask, user, priority, and a signal at its
// parent's end. Between clone and execve only a few calls are allowed, none of which Swift's runtime could promise to
// keep to, so this part is in C.
#include "CLinux.h"
#include <errno.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

extern int clone(int (*body)(void *), void *stack, int flags, void *argument, ...);

// A hard limit above the parent's own is lowered to that, unless the parent may raise it.
static int linux_apply_limit(const struct linux_limit *limit) {
  struct rlimit present, value = limit->value;
  if (setrlimit((__rlimit_resource_t)limit->resource, &value) == 0) return 0;
  if (errno != EPERM || getrlimit((__rlimit_resource_t)limit->resource, &present) != 0) return -1;
  if (value.rlim_max > present.rlim_max) value.rlim_max = present.rlim_max;
  if (value.rlim_cur > value.rlim_max) value.rlim_cur = value.rlim_max;
  return setrlimit((__rlimit_resource_t)limit->resource, &value);
}

// A sandbox may refuse the new call.
static int linux_close_from(unsigned int first) {
  struct rlimit limit;
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return 0;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  for (rlim_t number = first; number < limit.rlim_cur; number++) close((int)number);
  return 0;
}

// Runs in the child, in the parent's memory and on a stack of its own, while the parent's thread waits.
static int linux_become(void *pointer) {
  struct linux_launch *launch = (struct linux_launch *)pointer;
  struct sigaction standard = {0};
  sigset_t none;
#define LINUX_STEP(name, call)        \
  do {                                \
    if ((call) < 0) {                 \
      launch->error = errno;          \
      launch->failed_call = name;     \
      _exit(127);                     \
    }                                 \
  } while (0)
  // First of all: a lock of the parent must not outlive it in this copy.
  for (int target = 0; target < launch->source_count; target++) {
    if (launch->sources[target] < 0)
      close(target);
    else
      LINUX_STEP("dup2", dup2(launch->sources[target], target));
  }
  LINUX_STEP("close_range", linux_close_from((unsigned int)launch->source_count));
  standard.sa_handler = SIG_DFL;
  // Fails for the few signals whose handling can't be changed.
  for (int number = 1; number < _NSIG; number++) sigaction(number, &standard, NULL);
  LINUX_STEP("setsid", setsid());
  if (launch->mode_mask >= 0) umask((mode_t)launch->mode_mask);
  // A sandbox may refuse the call, which is no reason not to do the work.
  if (launch->sets_niceness && setpriority(PRIO_PROCESS, 0, launch->niceness) < 0 && errno != EPERM)
    LINUX_STEP("setpriority", -1);
  for (int index = 0; index < launch->limit_count; index++)
    LINUX_STEP("setrlimit", linux_apply_limit(&launch->limits[index]));
  if (launch->sets_user) {
    // Not glibc's functions, which would signal the parent's threads to follow.
    LINUX_STEP("setgroups", syscall(SYS_setgroups, launch->group_count, launch->groups));
    LINUX_STEP("setresgid", syscall(SYS_setresgid, launch->group, launch->group, launch->group));
    LINUX_STEP("setresuid", syscall(SYS_setresuid, launch->user, launch->user, launch->user));
  }
  if (launch->directory) LINUX_STEP("chdir", chdir(launch->directory));
  if (launch->parent) {
    // After the change of user, which clears it; and no set-user-ID program may clear it later.
    LINUX_STEP("prctl", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    LINUX_STEP("prctl", prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
    if (getppid() != launch->parent) _exit(127);
  }
  sigemptyset(&none);
  LINUX_STEP("sigprocmask", sigprocmask(SIG_SETMASK, &none, NULL));
  LINUX_STEP("execve", execve(launch->executable, launch->arguments, launch->environment));
#undef LINUX_STEP
  return 127;
}

int linux_spawn(struct linux_launch *launch) {
  char stack[64 * 1024] __attribute__((aligned(16)));
  sigset_t all, before;
  int process;
  launch->failed_call = NULL;
  launch->error = 0;
  // The child shares this memory: no handler of ours may run in it.
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  process = clone(linux_become, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, launch);
  if (process < 0) {
    launch->failed_call = "clone";
    launch->error = errno;
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
  if (!launch->failed_call) return process;
  while (process > 0 && waitpid(process, NULL, 0) < 0 && errno == EINTR) continue;
  return -1;
}
