// SPDX-License-Identifier: Apache-2.0
/*
 * wormhole-worker on a machine that is no server VM: the same source over a sparse file
 * that looks like the device. In place of parking, it runs the checks of worker_test.sh:
 * what a client's call would find, as the trampoline would look for it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake_vm.h"

#define SLOTS	4	/* the default of a worker */
#include "vm/worker.c"

/* --- What a call finds ----------------------------------------------------------- */

static void say(int good, const char *name)
{
	dprintf(1, "%s %s\n", good ? "ok" : "not ok", name);
}

/* The landing's part gives a call the worker's stack and the handler's arguments, nothing else. */
int64_t call_on(uint64_t top, uint64_t handler, uint64_t session);
__asm__("call_on:\n\tpush %rbx\n\tmov %rsp, %rbx\n\tmov %rdi, %rsp\n\tmov %rsi, %rax\n\t"
	"mov %rdx, %rdi\n\txor %esi, %esi\n\txor %edx, %edx\n\txor %ecx, %ecx\n\t"
	"call *%rax\n\tmov %rbx, %rsp\n\tpop %rbx\n\tret");

static long page_faults(void)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	return r.ru_minflt + r.ru_majflt;
}

static void check_call(const struct wh_world *w)
{
	long before = page_faults();
	int64_t status = call_on(w->slots[0].stack_top, w->handlers[WH_HANDLER_NULL], w->session);

	say(status == WH_OK, "null_handler_runs_on_the_call_stack");
	say(page_faults() == before, "first_call_takes_no_page_fault");
}

static void check_world(const struct wh_world *w)
{
	uint32_t i, j;
	uint64_t fs;
	int good = 1;

	syscall(SYS_arch_prctl, ARCH_GET_FS, &fs);
	say(w->world == WH_WORLD_SERVER && w->nslots == SLOTS && w->nhandlers == WH_HANDLERS,
	    "world_page_says_server");
	say(w->slots[0].fs_base == fs && !w->slots[0].gs_base,
	    "calls_have_the_waiting_threads_area");
	for (i = 0; i < SLOTS; i++) {
		good &= w->slots[i].mxcsr == 0x1f80 && w->slots[i].fcw == 0x37f &&
			w->slots[i].stack_top;
		for (j = 0; j < i; j++)
			good &= w->slots[i].fs_base != w->slots[j].fs_base &&
				w->slots[i].stack_top != w->slots[j].stack_top;
	}
	say(good, "calls_have_default_modes_and_each_slot_its_own_stack_and_area");
	say(w->stack.high == w->slots[SLOTS - 1].stack_top &&
	    w->stack.low < w->slots[0].stack_top &&
	    w->vdso.clock_gettime - w->vdso.start < w->vdso.size &&
	    w->vdso.gettimeofday - w->vdso.start < w->vdso.size &&
	    w->vdso.time - w->vdso.start < w->vdso.size, "service_knows_the_clocks_and_the_stack");
}

static void check_part(void)
{
	const struct wh_ctl *c = (void *)WH_WINDOW_VA;
	const char *data = (const char *)c + c->data_offset;

	say(c->magic == WH_CTL_MAGIC && c->state == WH_CTL_READY && c->window == 1 &&
	    c->part == 1 && c->part_size == 2 << 20, "control_page_describes_the_part");
	say(c->slot_offset == WH_PAGE_SIZE, "slot_0_is_where_kvm_looks_for_it");
	say(!data[c->data_size - 1], "last_clients_data_is_gone");
}

static void check_thread(void)
{
	const uint64_t catchable = ~(1ULL << (SIGKILL - 1)) & ~(1ULL << (SIGSTOP - 1)) &
				   ~(3ULL << 31);
	uint64_t blocked = 0;
	cpu_set_t cpus;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, 8);
	say((blocked & catchable) == catchable, "catchable_signals_are_blocked");
	sched_getaffinity(0, sizeof(cpus), &cpus);
	say(CPU_COUNT(&cpus) == 1 && CPU_ISSET(opt.cpu, &cpus), "thread_is_on_its_cpu");
	say(!strncmp(getenv("GLIBC_TUNABLES") ?: "", "glibc.pthread.rseq=0", 20), "rseq_is_off");
	say(socket(AF_UNIX, SOCK_STREAM, 0) < 0, "sandbox_is_entered");
}

static __s64 take_call(__u64 slot)
{
	static int times;
	static uint32_t never;
	const struct wh_world *w = (void *)WH_WORLD_VA;

	/* Only slot 0's thread looks around. */
	while (slot)
		raw(SYS_futex, (unsigned long)&never, FUTEX_WAIT_PRIVATE, 0, 0);
	if (times++)
		return WH_EGONE;
	check_call(w);
	check_world(w);
	check_part();
	check_thread();
	return WH_OK;	/* once more: a wake-up without news */
}
