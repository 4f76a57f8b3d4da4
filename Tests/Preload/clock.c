// Stands before the C library in a program under test, and lets its wall clock jump without touching the machine's.
//
// CLOCK_OFFSET names a file with a 64-bit number of seconds, which is mapped: what is written there holds at once.
// Timers on the wall clock that wait for a moment are set again when the number changes, and those that are to be cancelled
// then are, as the kernel does it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset;
static int (*real_clock)(clockid_t, struct timespec *);
static int (*real_create)(int, int);
static int (*real_settime)(int, int, const struct itimerspec *, struct itimerspec *);
static ssize_t (*real_read)(int, void *, size_t);

enum { timer_count = 1024 };
static struct {
  int is_wall, is_armed, is_cancelled, flags;
  struct itimerspec time;
} timers[timer_count];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int arm(int timer, struct itimerspec *old) {
  struct itimerspec time = timers[timer].time;
  // What is only to be told of changes may wait for a moment that no offset fits to.
  if (timers[timer].flags & TFD_TIMER_CANCEL_ON_SET) return real_settime(timer, timers[timer].flags, &time, old);
  time.it_value.tv_sec -= *offset;
  // A moment that is over is due at once; zero would disarm the timer.
  if (time.it_value.tv_sec < 0) time.it_value = (struct timespec){0, 1};
  return real_settime(timer, timers[timer].flags, &time, old);
}

static void *watch(void *unused) {
  int64_t known = *offset;
  for (;;) {
    // What this stands for comes from the kernel; a test helper may look a hundred times a second.
    usleep(10000);
    int64_t now = *offset;
    if (now == known) continue;
    known = now;
    pthread_mutex_lock(&lock);
    for (int timer = 0; timer < timer_count; timer++) {
      if (!timers[timer].is_armed) continue;
      if (timers[timer].flags & TFD_TIMER_CANCEL_ON_SET) {
        // It can be read now, which fails.
        struct itimerspec soon = {.it_value = {0, 1}};
        timers[timer].is_cancelled = 1;
        real_settime(timer, 0, &soon, NULL);
      } else {
        arm(timer, NULL);
      }
    }
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

// Others' constructors may ask for the time before ours is called.
static void find(void) {
  if (real_settime) return;
  real_clock = dlsym(RTLD_NEXT, "clock_gettime");
  real_create = dlsym(RTLD_NEXT, "timerfd_create");
  real_read = dlsym(RTLD_NEXT, "read");
  real_settime = dlsym(RTLD_NEXT, "timerfd_settime");
}

__attribute__((constructor)) static void begin(void) {
  find();
  const char *path = getenv("CLOCK_OFFSET");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *memory = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) _exit(99);
  close(file);
  offset = memory;
  pthread_t thread;
  if (pthread_create(&thread, NULL, watch, NULL) != 0) _exit(99);
  pthread_detach(thread);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  find();
  int result = real_clock(clock, time);
  if (result == 0 && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += *offset;
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}

int timerfd_create(clockid_t clock, int flags) {
  find();
  int timer = real_create(clock, flags);
  if (timer >= 0 && timer < timer_count) {
    pthread_mutex_lock(&lock);
    timers[timer].is_wall = clock == CLOCK_REALTIME;
    timers[timer].is_armed = timers[timer].is_cancelled = 0;
    pthread_mutex_unlock(&lock);
  }
  return timer;
}

int timerfd_settime(int timer, int flags, const struct itimerspec *time, struct itimerspec *old) {
  find();
  if (timer < 0 || timer >= timer_count || !timers[timer].is_wall || !(flags & TFD_TIMER_ABSTIME))
    return real_settime(timer, flags, time, old);
  pthread_mutex_lock(&lock);
  timers[timer].time = *time;
  timers[timer].flags = flags;
  timers[timer].is_armed = time->it_value.tv_sec != 0 || time->it_value.tv_nsec != 0;
  int result = timers[timer].is_armed ? arm(timer, old) : real_settime(timer, flags, time, old);
  pthread_mutex_unlock(&lock);
  return result;
}

ssize_t read(int file, void *bytes, size_t count) {
  find();
  ssize_t result = real_read(file, bytes, count);
  if (result <= 0 || file < 0 || file >= timer_count) return result;
  pthread_mutex_lock(&lock);
  int is_cancelled = timers[file].is_wall && timers[file].is_cancelled;
  timers[file].is_cancelled = 0;
  pthread_mutex_unlock(&lock);
  if (!is_cancelled) return result;
  errno = ECANCELED;
  return -1;
}
