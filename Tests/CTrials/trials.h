#pragma once
// System calls by their numbers, which Swift can't make: syscall(2) takes variable arguments.
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

// The calls that a confined process is meant to have, whatever their arguments, and those that depend on them.
static const long trial_meant[] = {
    SYS_futex, SYS_read, SYS_write, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_lseek, SYS_munmap,
    SYS_mremap, SYS_madvise, SYS_brk, SYS_fstat, SYS_close, SYS_dup, SYS_ftruncate, SYS_fsync, SYS_fdatasync,
    SYS_sendfile, SYS_copy_file_range, SYS_sendmsg, SYS_recvmsg, SYS_ppoll, SYS_rt_sigaction, SYS_rt_sigprocmask,
    SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep,
    SYS_nanosleep, SYS_gettimeofday, SYS_getrusage, SYS_getpid, SYS_getppid, SYS_gettid, SYS_set_robust_list, SYS_rseq,
    SYS_set_tid_address, SYS_membarrier, SYS_sched_yield, SYS_sched_getaffinity, SYS_getrandom, SYS_uname, SYS_sysinfo,
    SYS_exit, SYS_exit_group, SYS_newfstatat, SYS_clone, SYS_clone3,
#if defined(__x86_64__)
    SYS_poll, SYS_time, SYS_getrlimit, SYS_setrlimit,
    // uretprobe and uprobe, which the kernel takes past every filter, and only from places of its own.
    335, 336,
#endif
};

// Makes a call with one value for all its arguments; returns its result, or the negative errno.
static inline long trial_call(long number, long argument) {
  long result = syscall(number, argument, argument, argument, argument, argument, argument);
  return result == -1 ? -errno : result;
}

static inline int trial_is_meant(long number) {
  for (unsigned long index = 0; index < sizeof trial_meant / sizeof trial_meant[0]; index++) {
    if (trial_meant[index] == number) return 1;
  }
  return 0;
}

// The first call from a number on, below an end, that is neither meant nor refused; -1 if there is none.
//
// The arguments are such that no call does anything.
static inline long trial_next_open_call(long number, long end) {
  for (; number < end; number++) {
    if (!trial_is_meant(number) && trial_call(number, -1) != -EPERM) return number;
  }
  return -1;
}
