#pragma once
// A filter of system calls for a process that works on what is open already, seccomp(2).
//
// The kernel wants the filter as a program of its own kind, made of macros, which is why it is written in C.
#include "fstat.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define LINUX_CONFINE_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define LINUX_CONFINE_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

// What is always allowed: memory, threads of one's own, and reading and writing what is open.
static const int linux_confine_allowed[] = {
    SYS_futex, SYS_read, SYS_write, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_lseek, SYS_munmap,
    SYS_mremap, SYS_madvise, SYS_brk, SYS_fstat, SYS_close, SYS_fcntl, SYS_dup, SYS_ftruncate,
    SYS_fsync, SYS_fdatasync, SYS_sendfile, SYS_copy_file_range, SYS_sendmsg, SYS_recvmsg, SYS_ppoll,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall, SYS_clock_gettime,
    SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_getrusage, SYS_getpid, SYS_getppid,
    SYS_gettid, SYS_set_robust_list, SYS_rseq, SYS_set_tid_address, SYS_membarrier, SYS_sched_yield,
    SYS_sched_getaffinity, SYS_getrandom, SYS_uname, SYS_sysinfo, SYS_exit, SYS_exit_group,
#if defined(__x86_64__)
    SYS_poll, SYS_time, SYS_getrlimit, SYS_setrlimit,
#endif
};

// Leaves the process what it has open, and takes everything else away for good: opening, making and finding files,
// sockets, other processes, executable memory. Refused calls fail with EPERM. Holds for all threads. -1 and errno on
// error.
static inline int linux_confine_to_open_files(void) {
#ifndef LINUX_CONFINE_ARCHITECTURE
  errno = ENOSYS;
  return -1;
#else
  enum { count = sizeof linux_confine_allowed / sizeof linux_confine_allowed[0] };
  struct sock_filter program[2 * count + 64];
  unsigned short length = 0;
#define ADD(code, k, yes, no) program[length++] = (struct sock_filter)BPF_JUMP(code, k, yes, no)
#define LOAD(field) ADD(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field), 0, 0)
#define EQUAL(value, yes, no) ADD(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define HAS(bits, yes, no) ADD(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)
#define ALLOW() ADD(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0)
#define REFUSE(code) ADD(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (code), 0, 0)
  // Calls by the numbers of another machine could mean anything.
  LOAD(arch);
  EQUAL(LINUX_CONFINE_ARCHITECTURE, 1, 0);
  REFUSE(EPERM);
  LOAD(nr);
  for (int index = 0; index < count; index++) {
    EQUAL((unsigned int)linux_confine_allowed[index], 0, 1);
    ALLOW();
  }
  // Files by name are not looked at; the handler does what is meant for open ones.
  EQUAL(SYS_newfstatat, 0, 1);
  ADD(BPF_RET | BPF_K, SECCOMP_RET_TRAP, 0, 0);
  // New threads, but no new processes. Its successor hides its flags behind a pointer; the C library does without it.
  EQUAL(SYS_clone3, 0, 1);
  REFUSE(ENOSYS);
  EQUAL(SYS_clone, 0, 4);
  LOAD(args[0]);
  HAS(CLONE_THREAD, 0, 1);
  ALLOW();
  REFUSE(EPERM);
  // Memory, but none to be executed.
  EQUAL(SYS_mmap, 1, 0);
  EQUAL(SYS_mprotect, 0, 4);
  LOAD(args[2]);
  HAS(PROT_EXEC, 1, 0);
  ALLOW();
  REFUSE(EPERM);
  // Names of threads.
  EQUAL(SYS_prctl, 0, 4);
  LOAD(args[0]);
  EQUAL(PR_SET_NAME, 0, 1);
  ALLOW();
  REFUSE(EPERM);
  // Signals to oneself, as abort sends one, and limits of oneself.
  EQUAL(SYS_tgkill, 1, 0);
  EQUAL(SYS_prlimit64, 0, 5);
  LOAD(args[0]);
  EQUAL(0, 1, 0);
  EQUAL((unsigned int)getpid(), 0, 1);
  ALLOW();
  REFUSE(EPERM);
  REFUSE(EPERM);
#undef ADD
#undef LOAD
#undef EQUAL
#undef HAS
#undef ALLOW
#undef REFUSE
  struct sock_fprog filter = {.len = length, .filter = program};
  if (linux_answer_fstat() != 0) return -1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
  if (result <= 0) return (int)result;
  // A thread that can't be confined, by its number.
  errno = EBUSY;
  return -1;
#endif
}
