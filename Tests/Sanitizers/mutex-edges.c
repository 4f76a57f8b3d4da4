/* Tells the thread sanitizer what happens inside of Swift's Mutex while threads wait for each other.

   Where nobody waits, Mutex locks by an atomic exchange that is compiled into our code, which the sanitizer sees.
   Where somebody does, it calls _lockSlow and _unlockSlow of the library Synchronization, which was not built for the
   sanitizer; it then takes what one holder after another did for races. This library is loaded first, so that its
   functions are called in their place: they call the real ones, and say that the lock was taken or is given up.
   Nothing is suppressed: what is done without the lock is reported as before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *

typedef SWIFT void Lock(uint32_t thread, SELF mutex);
typedef SWIFT void Unlock(SELF mutex);
typedef void Edge(void *address);

/* Programs without the sanitizer that inherit this library have no such function. */
static void tell(const char *edge, void *address)
{
	Edge *function = (Edge *)dlsym(RTLD_DEFAULT, edge);

	if (function)
		function(address);
}

SWIFT void lockSlow(uint32_t thread, SELF mutex) __asm__(LOCK);
SWIFT void lockSlow(uint32_t thread, SELF mutex)
{
	((Lock *)dlsym(RTLD_NEXT, LOCK))(thread, mutex);
	tell("__tsan_acquire", mutex);
}

SWIFT void unlockSlow(SELF mutex) __asm__(UNLOCK);
SWIFT void unlockSlow(SELF mutex)
{
	tell("__tsan_release", mutex);
	((Unlock *)dlsym(RTLD_NEXT, UNLOCK))(mutex);
}
