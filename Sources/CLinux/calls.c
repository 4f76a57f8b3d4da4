// Macros and variadic calls as functions, and capabilities(7), for which the C library has no function.
#include "CLinux.h"
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

extern int __cxa_thread_atexit_impl(void (*body)(void *), void *argument, void *object);

struct cmsghdr *linux_cmsg_first(const struct msghdr *message) { return CMSG_FIRSTHDR(message); }

struct cmsghdr *linux_cmsg_next(struct msghdr *message, struct cmsghdr *header) {
  return CMSG_NXTHDR(message, header);
}

void *linux_cmsg_data(struct cmsghdr *header) { return CMSG_DATA(header); }

size_t linux_cmsg_space(size_t length) { return CMSG_SPACE(length); }

size_t linux_cmsg_length(size_t length) { return CMSG_LEN(length); }

int linux_set_parent_death_signal(int signal) { return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0); }

int linux_clear_ambient_capabilities(void) {
  return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

int linux_epoll_add_once(int epoll, int descriptor, unsigned int events, unsigned long long token) {
  struct epoll_event event = {.events = events | EPOLLONESHOT, .data = {.u64 = token}};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

int linux_epoll_remove(int epoll, int descriptor) {
  return epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, 0);
}

int linux_epoll_wait(int epoll, unsigned long long tokens[64]) {
  struct epoll_event events[64];
  int count = epoll_wait(epoll, events, 64, -1);
  for (int index = 0; index < count; index++) tokens[index] = events[index].data.u64;
  return count;
}

long long linux_birth_time(int descriptor) {
  struct statx status;
  if (statx(descriptor, "", 0x1000 /* AT_EMPTY_PATH */, STATX_BTIME, &status) != 0) return -1;
  if (!(status.stx_mask & STATX_BTIME)) return 0;
  return status.stx_btime.tv_sec * 1000000000LL + status.stx_btime.tv_nsec;
}

int linux_at_thread_exit(void (*body)(void *), void *argument) {
  extern void *__dso_handle __attribute__((visibility("hidden")));
  return __cxa_thread_atexit_impl(body, argument, &__dso_handle);
}

long long linux_file_system_type(int descriptor) {
  struct statfs status;
  if (fstatfs(descriptor, &status) != 0) return -1;
  return (long long)(unsigned int)status.f_type;
}

int linux_drop_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, has) != 0) return -1;
  // Who has none needs nothing that the service manager's filter may refuse. Those that programs could inherit, which the
  // manager leaves to the children of a service with ambient ones, are given by files only, and not to a helper.
  if ((has[0].permitted | has[1].permitted) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return 0;
  for (unsigned long number = 0; number < 64 && prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; number++) {
    if (prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0 && errno != EPERM) return -1;
  }
  struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}, {0, 0, 0}};
  return (int)syscall(SYS_capset, &header, none);
}

int linux_watch_clock(int timer) {
  if (timer < 0) timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (timer < 0) return -1;
  // A moment that never comes: only the change of the clock counts.
  struct itimerspec never = {.it_value = {.tv_sec = LONG_MAX}};
  return timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0 ? timer : -1;
}
