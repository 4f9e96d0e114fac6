// SPDX-License-Identifier: Apache-2.0
/*
 * Checkpoints: a process is locked, its device memory goes to memory of the host, and later
 * comes back to the same addresses (cuCheckpointProcess*()). The calls name a process by its
 * number. They act on their own process in the same way as on another one: a thread of the
 * target does the work, and holds the driver's lock while the process is locked.
 *
 * A caller reaches that thread through a page of memory. The page is a memfd, so it needs no
 * name in a file system and no network. The caller finds it among the target's descriptors in
 * /proc, for which it needs the right to look into that process, as a debugger does. The page
 * is what the target says of itself: a caller believes no more of it than an answer and a
 * state.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"

#define PAGE_NAME	"softgpu-checkpoint"
#define LINK_NAME	"/memfd:" PAGE_NAME " (deleted)"
#define MAGIC		0x4b48435550474753ULL	/* "SGGPUCHK" */
#define STACK		(128u << 10)	/* a worker touches all that it has, stacks as well */
#define LOOK_NS		20000000	/* between two looks whether the target still lives */

enum op { OP_LOCK = 1, OP_CHECKPOINT, OP_RESTORE, OP_UNLOCK };

struct page {
	uint64_t magic;
	int32_t pid, tid;
	uint32_t state;		/* CUprocessState */
	uint32_t asked;		/* counts requests; the target sleeps on it */
	uint32_t answered;	/* number of the last request that was answered */
	uint32_t op, timeout_ms;	/* of the request */
	uint8_t to[SGPU_DEVICES];	/* device i of the machine becomes this one */
	uint32_t result;	/* of the answer */
};

static struct page *own;

static void futex_wait(uint32_t *word, uint32_t value, long ns)
{
	struct timespec t = { 0, ns };

	syscall(SYS_futex, word, FUTEX_WAIT, value, ns ? &t : NULL, NULL, 0);
}

static void futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---- the target ---- */

static void set_state(CUprocessState state)
{
	__atomic_store_n(&own->state, state, __ATOMIC_RELEASE);
}

static CUresult do_lock(uint32_t timeout_ms)
{
	CUresult rc = sgpu_stop(timeout_ms);

	if (!rc)
		set_state(CU_PROCESS_STATE_LOCKED);
	return rc;
}

/* All memory is away, or none: what has gone before an error comes back. */
static CUresult do_checkpoint(void)
{
	CUresult rc = sgpu_ipc_any() ? CUDA_ERROR_NOT_SUPPORTED : sgpu_vmm_save();

	if (rc)
		return rc;
	rc = sgpu_mem_save();
	if (rc) {
		sgpu_vmm_restore();
		return rc;
	}
	set_state(CU_PROCESS_STATE_CHECKPOINTED);
	return CUDA_SUCCESS;
}

/* On an error nothing has changed, and the process stays checkpointed. */
static CUresult do_restore(const uint8_t to[SGPU_DEVICES])
{
	uint8_t place[SGPU_DEVICES];
	CUresult rc;

	if (!sgpu_devices_mapped(to, place))
		return CUDA_ERROR_INVALID_DEVICE;
	rc = sgpu_mem_claim(place);
	if (rc)
		return rc;
	rc = sgpu_vmm_restore();
	if (rc) {
		sgpu_mem_unclaim(place);
		return rc;
	}
	sgpu_mem_restore();
	sgpu_devices_set(place);
	set_state(CU_PROCESS_STATE_LOCKED);
	return CUDA_SUCCESS;
}

static CUresult do_unlock(void)
{
	set_state(CU_PROCESS_STATE_RUNNING);
	sgpu_go_on();
	return CUDA_SUCCESS;
}

static CUresult obey(uint32_t op, uint32_t timeout_ms, const uint8_t to[SGPU_DEVICES])
{
	static const CUprocessState wanted[] = {
		[OP_LOCK] = CU_PROCESS_STATE_RUNNING,
		[OP_CHECKPOINT] = CU_PROCESS_STATE_LOCKED,
		[OP_RESTORE] = CU_PROCESS_STATE_CHECKPOINTED,
		[OP_UNLOCK] = CU_PROCESS_STATE_LOCKED,
	};

	if (op < OP_LOCK || op > OP_UNLOCK)
		return CUDA_ERROR_INVALID_VALUE;
	if (own->state != wanted[op])
		return CUDA_ERROR_ILLEGAL_STATE;
	switch (op) {
	case OP_LOCK: return do_lock(timeout_ms);
	case OP_CHECKPOINT: return do_checkpoint();
	case OP_RESTORE: return do_restore(to);
	default: return do_unlock();
	}
}

static void *serve(void *arg)
{
	uint8_t to[SGPU_DEVICES];
	uint32_t done = 0, asked;

	__atomic_store_n(&own->tid, (int32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	futex_wake((uint32_t *)&own->tid);
	for (;;) {
		asked = __atomic_load_n(&own->asked, __ATOMIC_ACQUIRE);
		if (asked == done) {
			futex_wait(&own->asked, asked, 0);
			continue;
		}
		memcpy(to, own->to, sizeof(to));
		own->result = obey(own->op, own->timeout_ms, to);
		done = asked;
		__atomic_store_n(&own->answered, done, __ATOMIC_RELEASE);
		futex_wake(&own->answered);
	}
	return arg;
}

/*
 * The C library takes the program's thread-local data out of a thread's stack. The objects of
 * another namespace (dlmopen) are not seen here: theirs may need the default size.
 */
static int add_local_data(struct dl_phdr_info *object, size_t size, void *sum)
{
	int i;

	(void)size;
	for (i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_TLS)
			*(size_t *)sum += object->dlpi_phdr[i].p_memsz +
					  object->dlpi_phdr[i].p_align;
	return 0;
}

/*
 * Signals are for the program's threads: its handlers may call the driver, which waits for
 * this thread.
 */
static bool start_thread(void)
{
	size_t stack = STACK;
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t t;
	bool good;

	if (pthread_attr_init(&attr))
		return false;
	dl_iterate_phdr(add_local_data, &stack);
	pthread_attr_setstacksize(&attr, stack);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	good = !pthread_create(&t, &attr, serve, NULL) || !pthread_create(&t, NULL, serve, NULL);
	pthread_attr_destroy(&attr);
	if (good)
		pthread_detach(t);
	while (good && !__atomic_load_n(&own->tid, __ATOMIC_ACQUIRE))
		futex_wait((uint32_t *)&own->tid, 0, 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return good;
}

CUresult sgpu_checkpoint_init(void)
{
	int fd = memfd_create(PAGE_NAME, MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, sizeof(*own)))
		return CUDA_ERROR_OPERATING_SYSTEM;
	own = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (own == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*own = (struct page){ .magic = MAGIC, .pid = getpid(),
			      .state = CU_PROCESS_STATE_RUNNING };
	/* The descriptor stays open: others find the page by it. */
	return start_thread() ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

/* ---- the caller ---- */

/* Opens a descriptor of the process again if it is the page. Returns -1 if it is not. */
static int open_if_page(const char *path)
{
	char link[sizeof(LINK_NAME) + 1];
	ssize_t n = readlink(path, link, sizeof(link));
	struct stat st;
	int fd;

	if (n != (ssize_t)strlen(LINK_NAME) || memcmp(link, LINK_NAME, (size_t)n))
		return -1;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || (!fstat(fd, &st) && st.st_size >= (off_t)sizeof(struct page)))
		return fd;
	close(fd);
	return -1;
}

/* *rc: why there is none. */
static int open_page(int pid, CUresult *rc)
{
	struct dirent *e;
	char path[64];
	int fd = -1;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = pid > 0 ? opendir(path) : NULL;
	*rc = !d && errno == EACCES ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_INVALID_VALUE;
	while (d && fd < 0 && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%.20s", pid, e->d_name);
		fd = open_if_page(path);
	}
	if (d)
		closedir(d);
	return fd;
}

struct target {
	int fd;
	struct page *page;
};

/*
 * A child that was forked has its parent's page, too, but is no CUDA process. The file's lock
 * lets one caller at a time ask; the kernel gives it back when a caller dies.
 */
static CUresult reach(int pid, struct target *t)
{
	CUresult rc;

	t->fd = open_page(pid, &rc);
	if (t->fd < 0)
		return rc;
	t->page = mmap(NULL, sizeof(*t->page), PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
	if (t->page != MAP_FAILED && t->page->magic == MAGIC && t->page->pid == pid)
		return CUDA_SUCCESS;
	if (t->page != MAP_FAILED)
		munmap(t->page, sizeof(*t->page));
	close(t->fd);
	return CUDA_ERROR_INVALID_VALUE;
}

static void leave(struct target *t)
{
	munmap(t->page, sizeof(*t->page));
	close(t->fd);
}

/* A process that has ended and is not waited for has no descriptors any more. */
static bool lives(int pid)
{
	CUresult rc;
	int fd = open_page(pid, &rc);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* False: the target has ended. */
static bool await_answer(struct target *t, int pid, uint32_t number)
{
	uint32_t done;

	while ((done = __atomic_load_n(&t->page->answered, __ATOMIC_ACQUIRE)) != number) {
		futex_wait(&t->page->answered, done, LOOK_NS);
		if (!lives(pid))
			return false;
	}
	return true;
}

/* @to: of a restore alone. */
static CUresult ask(int pid, enum op op, uint32_t timeout_ms, const uint8_t *to)
{
	CUresult rc = sgpu_is_ready() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
	struct target t;
	uint32_t mine;

	if (!rc)
		rc = reach(pid, &t);
	if (rc)
		return rc;
	while (flock(t.fd, LOCK_EX) && errno == EINTR)
		;
	/* A caller that died may have left a request that is still under way. */
	if (!await_answer(&t, pid, __atomic_load_n(&t.page->asked, __ATOMIC_ACQUIRE))) {
		leave(&t);
		return CUDA_ERROR_INVALID_VALUE;
	}
	t.page->op = op;
	t.page->timeout_ms = timeout_ms;
	if (to)
		memcpy(t.page->to, to, SGPU_DEVICES);
	mine = __atomic_add_fetch(&t.page->asked, 1, __ATOMIC_RELEASE);
	futex_wake(&t.page->asked);
	rc = await_answer(&t, pid, mine) ? (CUresult)t.page->result : CUDA_ERROR_INVALID_VALUE;
	leave(&t);
	return rc;
}

static bool is_zero(const void *p, size_t size)
{
	static const char zero[sizeof(CUcheckpointRestoreArgs)];

	return !memcmp(p, zero, size);
}

CUresult cuCheckpointProcessLock(int pid, CUcheckpointLockArgs *args)
{
	if (args && (args->reserved0 || !is_zero(args->reserved1, sizeof(args->reserved1))))
		return CUDA_ERROR_INVALID_VALUE;
	return ask(pid, OP_LOCK, args ? args->timeoutMs : 0, NULL);
}

CUresult cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs *args)
{
	if (args && !is_zero(args->reserved, sizeof(args->reserved)))
		return CUDA_ERROR_INVALID_VALUE;
	return ask(pid, OP_CHECKPOINT, 0, NULL);
}

#define NOWHERE	0xff	/* sgpu_devices_mapped() refuses it */

/* Pairs name all devices that the process has, or none. */
static CUresult take_pairs(const CUcheckpointRestoreArgs *args, uint8_t to[SGPU_DEVICES])
{
	unsigned int i;
	int from, at;

	if (!is_zero(args->reserved, sizeof(args->reserved)) || args->reserved1 ||
	    !args->gpuPairs != !args->gpuPairsCount || args->gpuPairsCount > SGPU_DEVICES)
		return CUDA_ERROR_INVALID_VALUE;
	if (args->gpuPairsCount)
		memset(to, NOWHERE, SGPU_DEVICES);
	for (i = 0; i < args->gpuPairsCount; i++) {
		from = sgpu_device_by_uuid(&args->gpuPairs[i].oldUuid);
		at = sgpu_device_by_uuid(&args->gpuPairs[i].newUuid);
		if (from < 0 || at < 0 || to[from] != NOWHERE)
			return CUDA_ERROR_INVALID_VALUE;
		to[from] = (uint8_t)at;
	}
	return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs *args)
{
	uint8_t to[SGPU_DEVICES];
	CUresult rc = CUDA_SUCCESS;
	unsigned int d;

	for (d = 0; d < SGPU_DEVICES; d++)
		to[d] = (uint8_t)d;
	if (args && sgpu_is_ready())
		rc = take_pairs(args, to);
	return rc ? rc : ask(pid, OP_RESTORE, 0, to);
}

CUresult cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs *args)
{
	if (args && !is_zero(args->reserved, sizeof(args->reserved)))
		return CUDA_ERROR_INVALID_VALUE;
	return ask(pid, OP_UNLOCK, 0, NULL);
}

/* Neither of the two waits for the target: a locked process has a state, too. */
static CUresult look(int pid, int *tid, CUprocessState *state)
{
	CUresult rc = sgpu_is_ready() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
	struct target t;

	if (!rc)
		rc = tid || state ? reach(pid, &t) : CUDA_ERROR_INVALID_VALUE;
	if (rc)
		return rc;
	if (tid)
		*tid = t.page->tid;
	if (state)
		*state = (CUprocessState)__atomic_load_n(&t.page->state, __ATOMIC_ACQUIRE);
	leave(&t);
	return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessGetState(int pid, CUprocessState *state)
{
	return look(pid, NULL, state);
}

CUresult cuCheckpointProcessGetRestoreThreadId(int pid, int *tid)
{
	return look(pid, tid, NULL);
}
