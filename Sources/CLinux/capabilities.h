#pragma once
// Giving up root's rights while staying root, capabilities(7).
//
// The kernel's own headers say how; the C library has no function for it.
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// Takes every capability from the calling thread for good, also those that a program started by it could get. Threads
// that it starts afterwards have none either. -1 and errno on error.
static inline int linux_drop_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, has) != 0) return -1;
  // Who has none needs nothing that the service manager's filter may refuse.
  if ((has[0].permitted | has[0].inheritable | has[1].permitted | has[1].inheritable) == 0) return 0;
  for (unsigned long number = 0; number < 64 && prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; number++) {
    if (prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0 && errno != EPERM) return -1;
  }
  struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}, {0, 0, 0}};
  return (int)syscall(SYS_capset, &header, none);
}
