// A filter of system calls for a process that works with open files only, seccomp(2).
//
// The kernel wants the filter as a program of its own kind, made of macros, which is why it is written in C.
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <unistd.h>

// fstat(3) for a process that may not look at files by their names.
//
// The C library makes newfstatat(2) of it, with an empty name. A filter of system calls sees where the name is but not
// what it says, so the call can only be refused as a whole. The kernel is asked to signal it instead, and the handler
// does with fstat(2) what was meant. It is written in C because nothing but C may run in a handler.
static void linux_fstat_instead(int signal, siginfo_t *information, void *context) {
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
static int linux_answer_fstat(void) {
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
  action.sa_sigaction = linux_fstat_instead;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGSYS, &action, NULL);
}

#if defined(__x86_64__)
#define LINUX_CONFINE_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define LINUX_CONFINE_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

// The calls that are always allowed: memory, threads of one's own, reading and writing open files.
static const int linux_confine_allowed[] = {
    SYS_futex, SYS_read, SYS_write, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_lseek, SYS_munmap,
    SYS_mremap, SYS_madvise, SYS_brk, SYS_fstat, SYS_close, SYS_dup, SYS_ftruncate,
    SYS_fsync, SYS_fdatasync, SYS_sendfile, SYS_copy_file_range, SYS_sendmsg, SYS_recvmsg, SYS_ppoll,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall, SYS_clock_gettime,
    SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_getrusage, SYS_getpid, SYS_getppid,
    SYS_gettid, SYS_set_robust_list, SYS_rseq, SYS_set_tid_address, SYS_membarrier, SYS_sched_yield,
    SYS_sched_getaffinity, SYS_getrandom, SYS_uname, SYS_sysinfo, SYS_exit, SYS_exit_group,
#if defined(__x86_64__)
    SYS_poll, SYS_time, SYS_getrlimit, SYS_setrlimit,
#endif
};

// F_DUPFD_CLOEXEC and O_ASYNC, which <fcntl.h> names for some feature macros only.
enum { linux_dup_close_on_exec = 1030, linux_async = 020000 };

enum { linux_confine_count = sizeof linux_confine_allowed / sizeof linux_confine_allowed[0] };

// The filter while it is made.
struct linux_confine_program {
  struct sock_filter code[2 * linux_confine_count + 128];
  unsigned short length;
};

static void linux_confine_add(
    struct linux_confine_program *program, int code, unsigned int value, unsigned char yes, unsigned char no) {
  program->code[program->length++] = (struct sock_filter)BPF_JUMP((unsigned short)code, value, yes, no);
}

static void linux_confine_load(struct linux_confine_program *program, size_t offset) {
  linux_confine_add(program, BPF_LD | BPF_W | BPF_ABS, (unsigned int)offset, 0, 0);
}

// Jumps over instructions, depending on whether the loaded value is this.
static void linux_confine_equal(
    struct linux_confine_program *program, unsigned int value, unsigned char yes, unsigned char no) {
  linux_confine_add(program, BPF_JMP | BPF_JEQ | BPF_K, value, yes, no);
}

static void linux_confine_return(struct linux_confine_program *program, unsigned int action) {
  linux_confine_add(program, BPF_RET | BPF_K, action, 0, 0);
}

// Allows a call if these bits of one of its arguments are as given. The call's number is loaded before and after.
static void linux_confine_allow(
    struct linux_confine_program *program, int call, int argument, unsigned int bits, unsigned int wanted) {
  linux_confine_equal(program, (unsigned int)call, 0, 5);
  linux_confine_load(program, offsetof(struct seccomp_data, args) + 8 * (size_t)argument);
  linux_confine_add(program, BPF_ALU | BPF_AND | BPF_K, bits, 0, 0);
  linux_confine_equal(program, wanted, 0, 1);
  linux_confine_return(program, SECCOMP_RET_ALLOW);
  linux_confine_load(program, offsetof(struct seccomp_data, nr));
}

// Allows fcntl with a command, whose own argument has none of these bits.
static void linux_confine_allow_command(
    struct linux_confine_program *program, unsigned int command, unsigned int forbidden) {
  linux_confine_equal(program, SYS_fcntl, 0, 7);
  linux_confine_load(program, offsetof(struct seccomp_data, args) + 8);
  linux_confine_equal(program, command, 0, 4);
  linux_confine_load(program, offsetof(struct seccomp_data, args) + 16);
  linux_confine_add(program, BPF_ALU | BPF_AND | BPF_K, forbidden, 0, 0);
  linux_confine_equal(program, 0, 0, 1);
  linux_confine_return(program, SECCOMP_RET_ALLOW);
  linux_confine_load(program, offsetof(struct seccomp_data, nr));
}

int linux_confine_to_open_files(void) {
#ifndef LINUX_CONFINE_ARCHITECTURE
  errno = ENOSYS;
  return -1;
#else
  const unsigned int whole = 0xffffffff;
  struct linux_confine_program program = {.length = 0};
  // Calls by the numbers of another machine could mean anything.
  linux_confine_load(&program, offsetof(struct seccomp_data, arch));
  linux_confine_equal(&program, LINUX_CONFINE_ARCHITECTURE, 1, 0);
  linux_confine_return(&program, SECCOMP_RET_ERRNO | EPERM);
  linux_confine_load(&program, offsetof(struct seccomp_data, nr));
  for (int index = 0; index < linux_confine_count; index++) {
    linux_confine_equal(&program, (unsigned int)linux_confine_allowed[index], 0, 1);
    linux_confine_return(&program, SECCOMP_RET_ALLOW);
  }
  // Files by name are not looked at; the handler does what is meant for open ones.
  linux_confine_equal(&program, SYS_newfstatat, 0, 1);
  linux_confine_return(&program, SECCOMP_RET_TRAP);
  // New threads, but no new processes. Its successor hides its flags behind a pointer; the C library does without it.
  linux_confine_equal(&program, SYS_clone3, 0, 1);
  linux_confine_return(&program, SECCOMP_RET_ERRNO | ENOSYS);
  linux_confine_allow(&program, SYS_clone, 0, CLONE_THREAD, CLONE_THREAD);
  // Memory, but none to be executed.
  linux_confine_allow(&program, SYS_mmap, 2, PROT_EXEC, 0);
  linux_confine_allow(&program, SYS_mprotect, 2, PROT_EXEC, 0);
  // A descriptor's flags and copies.
  linux_confine_allow_command(&program, F_GETFD, 0);
  linux_confine_allow_command(&program, F_SETFD, 0);
  linux_confine_allow_command(&program, F_GETFL, 0);
  linux_confine_allow_command(&program, F_SETFL, linux_async);
  linux_confine_allow_command(&program, F_DUPFD, 0);
  linux_confine_allow_command(&program, linux_dup_close_on_exec, 0);
  // Names of threads.
  linux_confine_allow(&program, SYS_prctl, 0, whole, PR_SET_NAME);
  // Signals to oneself, as abort sends one, and limits of oneself.
  linux_confine_allow(&program, SYS_tgkill, 0, whole, (unsigned int)getpid());
  linux_confine_allow(&program, SYS_prlimit64, 0, whole, (unsigned int)getpid());
  linux_confine_allow(&program, SYS_prlimit64, 0, whole, 0);
  linux_confine_return(&program, SECCOMP_RET_ERRNO | EPERM);
  struct sock_fprog filter = {.len = program.length, .filter = program.code};
  if (linux_answer_fstat() != 0) return -1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
  if (result <= 0) return (int)result;
  // A thread that can't be confined, by its number.
  errno = EBUSY;
  return -1;
#endif
}
