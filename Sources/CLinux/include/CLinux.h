#pragma once
// Linux-only calls that the toolchain's Glibc module lacks, because it is built without _GNU_SOURCE, and a function for
// each macro and variadic call that Swift can't import.
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
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>

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
static const unsigned int linux_rename_exchange = 2;

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
struct cmsghdr *linux_cmsg_first(const struct msghdr *message);
struct cmsghdr *linux_cmsg_next(struct msghdr *message, struct cmsghdr *header);
void *linux_cmsg_data(struct cmsghdr *header);
size_t linux_cmsg_space(size_t length);
size_t linux_cmsg_length(size_t length);

// prctl is variadic.
int linux_set_parent_death_signal(int signal);

// Clears the capabilities that programs started by this process would inherit.
int linux_clear_ambient_capabilities(void);

// struct epoll_event is packed on some machines, which Swift's fields are not.
// Hang-ups and errors are reported in any case.
int linux_epoll_add_once(int epoll, int descriptor, unsigned int events, unsigned long long token);
int linux_epoll_remove(int epoll, int descriptor);
// Waits for ever; puts the tokens of ready descriptors into the array, 64 at most.
int linux_epoll_wait(int epoll, unsigned long long tokens[64]);

// The time when the file was made, in nanoseconds since 1970, or 0 where the file system doesn't keep it; -1 and errno on error.
long long linux_birth_time(int descriptor);

// Calls back when the calling thread ends, before the destructors of its thread-specific values, as C++ does for its
// thread_local objects. Returns 0, or another number if there is no memory.
int linux_at_thread_exit(void (*body)(void *), void *argument);

// The magic number of the file system that an open file is on, <linux/magic.h>; -1 and errno on error.
long long linux_file_system_type(int descriptor);

// Drops every capability of the calling thread for good, also those that a program started by it could get. Threads that
// it starts afterwards have none either. -1 and errno on error.
int linux_drop_capabilities(void);

// Confines the process for good to what it has open: no opening, creating and finding of files, no sockets, no other
// processes, no executable memory. The kernel sends no signal for it either: a process that may name a receiver for a
// descriptor's events (F_SETOWN, F_SETSIG, O_ASYNC, FIOASYNC, leases) could send any signal to any process. Refused
// calls fail with EPERM. Holds for all threads. -1 and errno on error.
int linux_confine_to_open_files(void);

// A program to start, see spawn.c.
struct linux_limit {
  int resource;
  struct rlimit value;
};

struct linux_launch {
  const char *executable;
  char *const *arguments;
  char *const *environment;
  // NULL keeps the parent's.
  const char *directory;
  // What becomes descriptor 0, 1, ...; -1 leaves it closed. Each is at least source_count itself; all others are closed.
  const int *sources;
  int source_count;
  const struct linux_limit *limits;
  int limit_count;
  // -1 keeps the parent's.
  int mode_mask;
  int sets_niceness;
  int niceness;
  int sets_user;
  unsigned int user;
  unsigned int group;
  const unsigned int *groups;
  int group_count;
  // If not 0, the caller's process ID: the child gets SIGKILL when the thread that started it ends.
  int parent;
  // Set by the child if it can't become the program.
  const char *failed_call;
  int error;
};

// Starts the program in a session, and so a process group, of its own. Returns when it has been executed: the process
// ID, or -1 with failed_call and error saying what failed.
int linux_spawn(struct linux_launch *launch);

// Makes a descriptor, or takes one that it made, that can be read from once the wall clock is set, which fails with
// ECANCELED. -1 and errno on error.
int linux_watch_clock(int timer);

// The columns of a terminal that a character of Unicode takes; 0 for one that is not printed.
int linux_columns(unsigned int scalar);

// Has a crash of the process write a text of at most 128 bytes to one descriptor, and give the terminal of another one its
// mode back, before it ends the process.
void linux_give_back_terminal(int in, const struct termios *saved, int out, const char *text);

// Leaves the terminal alone from now on.
void linux_keep_terminal(void);
