#pragma once
// Linux-only calls that the toolchain's Glibc module lacks, because it is built without _GNU_SOURCE, and a static
// inline function for each macro and variadic call that Swift can't import.
//
// _GNU_SOURCE must stay undefined: it changes the fields of glibc's structures, and the compiler then refuses a program
// that sees both shapes. So the calls are declared here as glibc 2.36 has them.
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <linux/stat.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

struct rusage;

extern const char *strerrorname_np(int error_code);
extern const char *strerrordesc_np(int error_code);
extern const char *sigabbrev_np(int signal);
extern int memfd_create(const char *name, unsigned int flags);
extern int pidfd_open(pid_t process, unsigned int flags);
extern int pidfd_send_signal(int descriptor, int signal, siginfo_t *information, unsigned int flags);
extern int pipe2(int ends[2], int flags);
extern int renameat2(int old_directory, const char *old_name, int new_directory, const char *new_name,
                     unsigned int flags);
extern int statx(int directory, const char *path, int flags, unsigned int mask, struct statx *status);
extern void *memmem(const void *bytes, size_t count, const void *wanted, size_t wanted_count);
extern int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags);

// <linux/memfd.h> and <linux/fs.h>
static const unsigned int linux_memfd_close_on_exec = 1;
static const unsigned int linux_rename_no_replace = 1;

// Shown by <fcntl.h> to GNU sources only.
static const int linux_open_unnamed = __O_TMPFILE | O_DIRECTORY;
// O_PATH, which <fcntl.h> names for _GNU_SOURCE only.
static const int linux_open_path = __O_PATH;

// Commands of fcntl, which <fcntl.h> names for _GNU_SOURCE only.
static const int linux_set_signal = 10;
static const int linux_set_lease = 1024;

// struct ucred and SO_PEERCRED's layout, socket(7).
struct linux_peer_credentials {
  pid_t process;
  uid_t user;
  gid_t group;
};

// Control messages are walked with macros.
static inline struct cmsghdr *linux_cmsg_first(const struct msghdr *message) { return CMSG_FIRSTHDR(message); }
static inline struct cmsghdr *linux_cmsg_next(struct msghdr *message, struct cmsghdr *header) {
  return CMSG_NXTHDR(message, header);
}
static inline void *linux_cmsg_data(struct cmsghdr *header) { return CMSG_DATA(header); }
static inline size_t linux_cmsg_space(size_t length) { return CMSG_SPACE(length); }
static inline size_t linux_cmsg_length(size_t length) { return CMSG_LEN(length); }

// prctl is variadic.
static inline int linux_set_parent_death_signal(int signal) { return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0); }

// Takes away what programs that this process starts would inherit of its capabilities.
static inline int linux_clear_ambient_capabilities(void) {
  return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

// struct epoll_event is packed on some machines, which Swift's fields are not.
// Both ends of a connection that are closed, and errors, are told in any case.
static inline int linux_epoll_add_once(int epoll, int descriptor, bool reads, unsigned long long token) {
  struct epoll_event event = {.events = (reads ? EPOLLIN : 0) | EPOLLONESHOT, .data = {.u64 = token}};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}
static inline int linux_epoll_remove(int epoll, int descriptor) {
  return epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, 0);
}
// Waits for ever; puts the tokens of what is ready into the array, of 64 at most.
static inline int linux_epoll_wait(int epoll, unsigned long long tokens[64]) {
  struct epoll_event events[64];
  int count = epoll_wait(epoll, events, 64, -1);
  for (int index = 0; index < count; index++) tokens[index] = events[index].data.u64;
  return count;
}

// When the file was made, in nanoseconds since 1970, or 0 where the file system doesn't keep it; -1 and errno on error.
static inline long long linux_birth_time(int descriptor) {
  struct statx status;
  if (statx(descriptor, "", 0x1000 /* AT_EMPTY_PATH */, STATX_BTIME, &status) != 0) return -1;
  if (!(status.stx_mask & STATX_BTIME)) return 0;
  return status.stx_btime.tv_sec * 1000000000LL + status.stx_btime.tv_nsec;
}

// Has something called when the calling thread ends, before the destructors of its thread-specific values: what C++ does
// for its thread_local objects. Returns 0, or another number if there is no memory.
extern int __cxa_thread_atexit_impl(void (*body)(void *), void *argument, void *object);
static inline int linux_at_thread_exit(void (*body)(void *), void *argument) {
  extern void *__dso_handle __attribute__((visibility("hidden")));
  return __cxa_thread_atexit_impl(body, argument, &__dso_handle);
}

// The magic number of the file system that an open file is on, <linux/magic.h>; -1 and errno on error.
static inline long long linux_file_system_type(int descriptor) {
  struct statfs status;
  if (fstatfs(descriptor, &status) != 0) return -1;
  return (long long)(unsigned int)status.f_type;
}
