// SPDX-License-Identifier: Apache-2.0
/*
 * wormhole-worker: one worker of a server VM. It prepares everything that its client's calls will
 * run on, registers with KVM, and sleeps. From then on its code runs only when the client comes: on
 * the client's CPU by VMFUNC, or here after a handoff. It serves one client, then ends.
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "figures/figures.h"
#include "session/dispatch.h"
#include "gen_trampoline.h"
#include "hypercall.h"
#include "vm/interpose.h"
#include "session/output.h"
#include "state/messages.h"
#include "libraries/nccl_hint.h"
#include "limits/join.h"
#include "protect/sandbox.h"
#include "session/session.h"
#include "trampoline.h"
#include "vm/companion.h"
#include "vm/memory.h"
#include "vm/options.h"
#include "vm/raw.h"
#include "vm/vdso.h"

#define HWCAP2_FSGSBASE_BIT	(1UL << 1)
#define MXCSR_DEFAULT		0x1f80
#define FCW_DEFAULT		0x037f
#define MAX_THREADS		256	/* threads of a worker, including the driver's */
#define THREAD_STACK		(256 << 10)	/* of a slot's thread, with its TLS */
#define COMPANION_STACK	(64 << 10)
#define SERVICE_STACK		2048	/* more than the trampoline's service and the vDSO need */

static struct options opt;

/* Writes one line, level and object first, and ends: a worker cannot go on alone. */
__attribute__((format(printf, 1, 2), noreturn))
static void die(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(wh_messages(), "error: window %u part %u: %s\n", opt.window, opt.part, text);
	_exit(1);
}

/* --- Before anything is changed ------------------------------------------------ */

/* Uses no more slots than a pair can have on this host. */
static void limit_slots(void)
{
	struct wh_leaf l = { { 0 }, 0, 0, 0 };

	wh_hypercall(WH_LEAF_VERSION, &l);
	if (opt.slots <= l.rdx)
		return;
	fprintf(wh_messages(), "info: window %u part %u: the host lets a pair have %u of %u slots\n",
		opt.window, opt.part, (unsigned int)l.rdx, opt.slots);
	opt.slots = (unsigned int)l.rdx;
}

static void check_machine(void)
{
	uint32_t version, role = wh_detect(&version);

	if (role == WH_ROLE_NONE && version)
		die("the host has ABI version %u, this worker %u", version, WH_ABI_VERSION);
	if (role == WH_ROLE_NONE)
		die("no Wormhole here: CPUID leaf 0x%x does not answer; the host starts this VM with a role (wormhole server start)",
		    WH_LEAF_SIGNATURE);
	if (role != WH_ROLE_SERVER)
		die("this is a client VM, workers run in the server VM");
	limit_slots();
	if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT))
		die("this kernel runs without FSGSBASE, which the trampoline needs");
}

/*
 * Blocks all signals: a signal frame would be written at the client's stack address or on a call
 * stack. Threads of the backend inherit the mask.
 */
static void block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL))
		die("sigprocmask: %s", strerror(errno));
}

/* --- The part and the two pages -------------------------------------------------- */

static int open_device(void)
{
	struct wh_srv_bind bind = { .window = opt.window, .part = opt.part };
	struct wh_srv_info info;
	int fd = open(opt.device, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		die("%s: %s", opt.device, strerror(errno));
	if (ioctl(fd, WH_SRV_INFO, &info))
		die("%s: WH_SRV_INFO: %s", opt.device, strerror(errno));
	if (info.abi_version != WH_ABI_VERSION)
		die("the module has ABI version %u, this worker %u", info.abi_version,
		    WH_ABI_VERSION);
	if (opt.window >= info.windows)
		die("no such window, there are %u", info.windows);
	if (!opt.part_size)
		opt.part_size = info.window_size[opt.window];
	bind.part_size = opt.part_size;
	if (ioctl(fd, WH_SRV_BIND, &bind))
		die("WH_SRV_BIND of %llu bytes: %s", (unsigned long long)opt.part_size,
		    strerror(errno));
	return fd;
}

static void *map_at(uint64_t va, size_t size, int prot, int flags, int fd, uint64_t offset)
{
	void *p = mmap((void *)va, size, prot, flags | MAP_FIXED_NOREPLACE, fd,
		       (off_t)offset);

	if (p != (void *)va)
		die("mmap at 0x%llx: %s", (unsigned long long)va, strerror(errno));
	return p;
}

/*
 * Calls that the part's earlier workers counted. The count goes on, so that the host can tell what
 * a client did after it has gone. It is only a figure to show: clients can write it.
 */
static uint64_t calls_before;

static const struct wh_ctl *map_part(int fd)
{
	char *part = map_at(WH_WINDOW_VA, opt.part_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			    fd, 0);
	static const char fresh[WH_PAGE_SIZE];
	uint32_t i;

	for (i = 0; i < opt.slots; i++)
		calls_before += ((struct wh_slot *)(part + (1 + i) * WH_PAGE_SIZE))->calls;
	/* The next client must not see what the last one left here. */
	if (memcmp(part, fresh, WH_PAGE_SIZE))
		memset(part, 0, opt.part_size);
	return (struct wh_ctl *)part;
}

static struct wh_world *map_trampoline(int fd)
{
	const void *code = map_at(WH_TRAMPOLINE_VA, WH_PAGE_SIZE, PROT_READ | PROT_EXEC,
				  MAP_SHARED, fd, WH_SRV_MMAP_TRAMPOLINE);

	/* Zeroes, where a view has the number of the slot: nothing else can be mapped there. */
	map_at(WH_SLOT_VA, WH_PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memcmp(code, gen_trampoline, WH_PAGE_SIZE))
		die("the module's trampoline is not this worker's: both must come from one build");
	return map_at(WH_WORLD_VA, WH_PAGE_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* --- The world that calls land in --------------------------------------------------- */

/*
 * Calls run with the thread area (errno, the allocator's cache, the current CUDA context) of the
 * thread that waits for them, which does not use it meanwhile.
 */
static uint64_t own_fs_base(void)
{
	uint64_t base;

	if (syscall(SYS_arch_prctl, ARCH_GET_FS, &base))
		die("ARCH_GET_FS: %s", strerror(errno));
	return base;
}

/*
 * Fills in everything but the bases of the threads' areas. The stacks lie behind each other, so
 * that the service sees by one comparison that it is on one of them.
 */
static void fill_slots(struct wh_world *w)
{
	uint64_t top = wh_memory_stacks(opt.slots, opt.stack, opt.stack_touched);
	uint32_t i;

	if (!top)
		die("%u call stacks of %zu bytes: %s", opt.slots, opt.stack, strerror(errno));
	w->stack.low = top - opt.stack + SERVICE_STACK;
	for (i = 0; i < opt.slots; i++, top += wh_memory_stride(opt.stack)) {
		w->slots[i] = (struct wh_world_slot) {
			.stack_top = top, .mxcsr = MXCSR_DEFAULT, .fcw = FCW_DEFAULT,
		};
		w->stack.high = top;
	}
}

/* The page is written once, and is read-only after finish_world(). */
static void fill_world(struct wh_world *w, struct wh_session *session)
{
	unsigned int i;

	_Static_assert(WH_HANDLERS <= WH_MAX_HANDLERS, "handler table too small");
	w->nslots = opt.slots;
	w->nhandlers = WH_HANDLERS;
	w->session = (uintptr_t)session;
	for (i = 0; i < WH_HANDLERS; i++)
		w->handlers[i] = (uintptr_t)wh_handler(i);
	fill_slots(w);
	w->slots[0].fs_base = own_fs_base();
	wh_vdso_find(&w->vdso);
	w->rings = (uintptr_t)wh_companion_rings();
	w->patience = wh_companion_patience();
	w->world = WH_WORLD_SERVER;
}

static struct wh_session *open_session(void)
{
	char err[256] = "";
	struct wh_session *s;
	struct wh_ctl *ctl;
	uint32_t i;

	wh_nccl_hint = "NCCL's ranks meet by sockets, which workers of a server VM may not make";
	if (opt.lib_path)
		setenv("WORMHOLE_LIB_PATH", opt.lib_path, 1);
	s = wh_session_open((void *)WH_WINDOW_VA, opt.part_size, opt.slots, opt.backend, err,
			    sizeof(err));
	if (!s)
		die("%s: %s", opt.backend, err);
	if (opt.tenant && wh_session_join_as(s, opt.tenant, opt.account, err, sizeof(err)))
		die("%s", err);
	for (i = 1; i < opt.slots; i++)
		if (!wh_session_slot(s, i))
			die("out of memory for slot %u", i);
	ctl = (struct wh_ctl *)WH_WINDOW_VA;
	ctl->window = opt.window;
	ctl->part = opt.part;
	((struct wh_slot *)(WH_WINDOW_VA + ctl->slot_offset))->calls = calls_before;
	/* Run the shortest handler once: this links what it needs, and touches the path. */
	if (wh_dispatch_slot(s, 0, WH_HANDLER_NULL, 0) != WH_OK)
		die("the null handler does not work");
	/*
	 * Loading makes system calls and page faults, so it must not happen during a client's call.
	 */
	if (opt.preload && !wh_session_preload(s, opt.preload, err, sizeof(err)))
		die("--preload: %s", err);
	wh_session_warm(s);
	wh_session_may_end(s);
	return s;
}

/* --- The last steps: pages, CPU, privileges ------------------------------------------ */

static void prefault(void)
{
	int64_t bytes = wh_memory_prefault(opt.prefault_max);

	if (bytes < 0)
		die("cannot lock memory: %s", strerror(errno));
	if (opt.verbose)
		fprintf(wh_messages(), "info: window %u part %u: %lld KiB prefaulted\n", opt.window,
			opt.part, (long long)bytes / 1024);
}

/*
 * Pins the process with all its threads, so that a client can take only one CPU of the server by
 * handoffs.
 */
static void pin(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(opt.cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		die("cannot run on CPU %u: %s", opt.cpu, strerror(errno));
	wh_interpose_slot_thread();
}

static void enter_sandbox(void)
{
	/* The supervisor gives each worker a user of its own, if it changes users at all. */
	struct wh_sandbox s = { .uid = opt.uid, .gid = opt.gid, .seccomp = opt.seccomp,
				.processes = opt.uid ? MAX_THREADS : 0 };
	char err[256];

	if (wh_sandbox_enter(&s, err, sizeof(err)))
		die("%s", err);
	/* This comes after the change of user, which resets it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		die("PR_SET_PDEATHSIG: %s", strerror(errno));
	if (opt.parent && getppid() != opt.parent)
		die("the supervisor is gone");
}

/*
 * Fills in what the trampoline's service answers from now on: the ids of the thread that waits, if
 * there is only one, and of the user that the process has become. The parent does not change, see
 * PR_SET_PDEATHSIG.
 */
static void finish_world(struct wh_world *w)
{
	w->self = (struct wh_world_self){
		.pid = (uint32_t)getpid(), .ppid = (uint32_t)getppid(),
		.tid = opt.slots > 1 ? 0 : (uint32_t)gettid(),
		.uid = getuid(), .euid = geteuid(), .gid = getgid(), .egid = getegid(),
	};
	if (mprotect(w, WH_PAGE_SIZE, PROT_READ))
		die("world page: %s", strerror(errno));
}

/* Says that the worker is ready: from here on, it ends only because of a client or by itself. */
static void say_ready(void)
{
	if (opt.ready < 0)
		return;
	if (write(opt.ready, "", 1) != 1)
		die("--ready %d: %s", opt.ready, strerror(errno));
	close(opt.ready);
}

/* --- Calls ----------------------------------------------------------------------------- */

/*
 * From REGISTER on, a client may be running on the areas of the slots' threads and on all of this
 * process's memory. So these threads make no library call and use no thread-local variable, only
 * registers and their own stacks, until the part has ended.
 */

static const char take[] = "take";
static uint32_t may_serve;	/* 1: all slots are registered */

/* Serves a slot. Returns the status that ended it; *step says where. */
__attribute__((noinline, no_stack_protector))
static int64_t serve_slot(int fd, uint32_t slot, const char **step)
{
	struct wh_leaf l;
	int64_t status;

	for (;;) {
		*step = take;
		l = (struct wh_leaf){ { slot }, 0, 0, 0 };
		status = wh_hypercall(WH_LEAF_TAKE, &l);
		if (status != WH_OK)
			return status;
		*step = "WH_SRV_WAIT";
		status = raw_ioctl(fd, WH_SRV_WAIT, slot);
		if (status)
			return status;
	}
}

/* The first TAKE makes the worker known to clients, which may use each slot at once. */
__attribute__((noinline, no_stack_protector))
static int64_t register_all(int fd, uint32_t slots, const char **step)
{
	int64_t status;
	uint32_t i;

	*step = "WH_SRV_REGISTER";
	status = raw_ioctl(fd, WH_SRV_REGISTER, slots);
	*step = status ? *step : "WH_SRV_SLOT";
	for (i = 0; !status && i < slots; i++)
		status = raw_ioctl(fd, WH_SRV_SLOT, i);
	if (status)
		return status;
	__atomic_store_n(&may_serve, 1, __ATOMIC_RELEASE);
	raw(SYS_futex, (uint64_t)&may_serve, FUTEX_WAKE_PRIVATE, 2 * WH_MAX_SLOTS, 0);
	return 0;
}

static const char *reason(const char *step, int64_t status)
{
	return step == take ? wh_strerror(status) : strerror((int)-status);
}

/*
 * The process ends at once: a call may have ended in the middle, with any lock held, so nothing of
 * the backend may run any more.
 */
__attribute__((noreturn))
static void end(const char *step, int64_t status)
{
	((struct wh_ctl *)WH_WINDOW_VA)->state = WH_CTL_DEAD;
	if (step == take && status == WH_EGONE)
		_exit(0);
	die("%s: %s", step, reason(step, status));
}

__attribute__((noreturn))
static void serve(int fd)
{
	const char *step;
	int64_t status = register_all(fd, opt.slots, &step);

	if (!status)
		status = serve_slot(fd, 0, &step);
	end(step, status);
}

/* --- Threads: of the slots besides 0, the companions of all, and one that comes to rest -- */

struct thread {
	uint32_t slot;
	size_t stack;
	void *(*start)(void *thread);
	uint64_t stack_top;
};

static struct {
	struct wh_session *session;
	struct wh_world *world;
	struct thread of[2 * WH_MAX_SLOTS + 1];
	unsigned int n;
	sem_t ready;
	int fd;
} threads;

/* Waits until the process is as it will serve. After this, no library call may be made. */
static void wait_for_clients(void)
{
	sem_post(&threads.ready);
	while (!__atomic_load_n(&may_serve, __ATOMIC_ACQUIRE))
		raw(SYS_futex, (uint64_t)&may_serve, FUTEX_WAIT_PRIVATE, 0, 0);
}

__attribute__((no_stack_protector))
static void *slot_thread(void *thread)
{
	uint32_t slot = ((struct thread *)thread)->slot;
	const char *step;
	int64_t status;

	wh_session_new_thread(threads.session);
	wh_interpose_slot_thread();
	threads.world->slots[slot].fs_base = own_fs_base();
	wait_for_clients();
	status = serve_slot(threads.fd, slot, &step);
	end(step, status);
}

static void *companion_thread(void *thread)
{
	wait_for_clients();
	wh_companion_run(threads.fd, ((struct thread *)thread)->slot);
}

/*
 * This thread comes to rest with its tenant (vm/suspend.c), and sleeps all other time. No call runs
 * on its area.
 */
static void *rest_thread(void *thread)
{
	struct wh_session *s = threads.session;

	wh_session_new_thread(s);
	wait_for_clients();
	for (;;)
		wh_dispatch_rest(s, wh_dispatch_suspension(s));
	return thread;
}

static void prepare_thread(uint32_t slot, size_t stack, void *(*start)(void *))
{
	struct thread *t = &threads.of[threads.n++];

	*t = (struct thread){ slot, stack, start, wh_memory_stacks(1, stack, stack) };
	if (!t->stack_top)
		die("stack of a thread of slot %u: %s", slot, strerror(errno));
}

/*
 * Makes the threads' memory, which is touched with all other memory, long before the threads need
 * it.
 */
static void prepare_threads(void)
{
	uint32_t i;

	for (i = 0; i < opt.slots; i++) {
		if (i)
			prepare_thread(i, THREAD_STACK, slot_thread);
		prepare_thread(i, COMPANION_STACK, companion_thread);
	}
	if (opt.tenant)
		prepare_thread(0, THREAD_STACK, rest_thread);
}

static void start_thread(struct thread *thread)
{
	pthread_attr_t attr;
	pthread_t t;
	int err;

	err = pthread_attr_init(&attr);
	if (!err)
		err = pthread_attr_setstack(&attr, (void *)(thread->stack_top - thread->stack),
					    thread->stack);
	if (!err)
		err = pthread_create(&t, &attr, thread->start, thread);
	if (err)
		die("a thread of slot %u: %s", thread->slot, strerror(err));
	pthread_attr_destroy(&attr);
}

/* Starts the threads as the user that the process has become, under its filter. */
static void start_threads(struct wh_session *session, struct wh_world *world, int fd)
{
	unsigned int i;

	threads.session = session;
	threads.world = world;
	threads.fd = fd;
	sem_init(&threads.ready, 0, 0);
	for (i = 0; i < threads.n; i++)
		start_thread(&threads.of[i]);
	for (i = 0; i < threads.n; i++)
		while (sem_wait(&threads.ready))
			;
}

/* --- Roles that serve nobody: they ask vendor libraries in a process of their own ---------- */

__attribute__((format(printf, 2, 3)))
static void tell(const char *level, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s: %s\n", level, text);
}

static int tell_devices(void)
{
	static struct wh_devices_report r;

	if (wh_devices_load(opt.backend, &r))
		wh_devices_ask(opt.backend, 0, &r);
	return write(opt.devices, &r, sizeof(r)) == sizeof(r) ? 0 : 1;
}

/* Of a suspension of the supervisor's. */
static int checkpoint(void)
{
	opt.checkpoint.backend = opt.backend;
	opt.checkpoint.nvml = opt.nvml;
	opt.checkpoint.parent = opt.parent;
	opt.checkpoint.driver_only = true;
	return wh_checkpoint_main(&opt.checkpoint);
}

int main(int argc, char **argv)
{
	struct wh_session *session;
	struct wh_world *world;
	int fd;

	wh_options_parse(&opt, argc, argv);
	if (opt.devices >= 0)
		return tell_devices();
	if (opt.figures >= 0)
		return wh_figures_main(opt.nvml, opt.backend, 0, opt.figures, tell);
	if (opt.checkpoint.result >= 0)
		return checkpoint();
	if (wh_memory_tune(argv))
		die("cannot execute /proc/self/exe again: %s", strerror(errno));
	check_machine();
	block_signals();
	fd = open_device();
	map_part(fd);
	world = map_trampoline(fd);
	if (wh_memory_heap(opt.heap))
		die("cannot reserve %zu bytes of heap", opt.heap);
	session = open_session();
	fill_world(world, session);
	if (!wh_output_capture())
		die("out of memory");
	prepare_threads();
	prefault();
	pin();
	enter_sandbox();
	start_threads(session, world, fd);
	finish_world(world);
	wh_session_ready(session);
	wh_interpose_devices(fd);
	say_ready();
	serve(fd);
}
