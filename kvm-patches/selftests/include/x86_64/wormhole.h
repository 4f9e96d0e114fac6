/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of the Wormhole tests: two small VMs in one process.
 *
 * The test program itself is the guest image: each VM holds a private copy of
 * it at its link address, so a guest function is an ordinary C function of the
 * test, and every VM has its own copy of every variable; G() reaches that copy
 * from the host side. A vCPU is driven like a remote procedure call: run one
 * function at CPL 0 or 3 under some page tables, get its registers back.
 */
#ifndef SELFTEST_KVM_WORMHOLE_H
#define SELFTEST_KVM_WORMHOLE_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/kvm.h>
#include <linux/types.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <asm/wormhole_abi.h>

/* Of this series; the machine's own <linux/kvm.h> may be older. */
#ifndef KVM_CAP_X86_WORMHOLE
#define KVM_CAP_X86_WORMHOLE	250
#endif

#define WH_PAGE			4096ULL
#define WH_PAGE_2M		0x200000ULL
#define WH_ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* --- TAP ------------------------------------------------------------------ */

void wh_plan(int n);
bool wh_ok(bool cond, const char *name);
bool wh_eq(s64 got, s64 want, const char *name);
bool wh_skip(const char *name, const char *why);
void wh_diag(const char *fmt, ...) __printf(1, 2);
int wh_exit(void);
/* Leave with KSFT_SKIP (4) unless KVM offers the feature. */
void wh_require_feature(void);
/* How many times slower the machine may be than that of other tests: WH_PATIENCE. */
int wh_patience(void);
/* Die when the test takes longer; every test sets it first. wh_patience() times that. */
void wh_watchdog(int seconds);
/* Keep all threads on one CPU: a vCPU that moves is disarmed. */
void wh_one_cpu(void);
/* Leave with KSFT_SKIP for this reason. */
void wh_skip_all(const char *why) __noreturn;
void wh_die(const char *what) __noreturn;

/* --- Memory --------------------------------------------------------------- */

#define WH_PTE_P		BIT_ULL(0)
#define WH_PTE_W		BIT_ULL(1)
#define WH_PTE_U		BIT_ULL(2)
#define WH_PTE_PWT		BIT_ULL(3)
#define WH_PTE_PCD		BIT_ULL(4)
#define WH_PTE_A		BIT_ULL(5)
#define WH_PTE_D		BIT_ULL(6)
#define WH_PTE_PS		BIT_ULL(7)	/* of a 2 MiB page; else */
#define WH_PTE_PAT		BIT_ULL(7)
#define WH_PTE_NX		BIT_ULL(63)
#define WH_PTE_ADDR		0x000ffffffffff000ULL
#define WH_USER_RW		(WH_PTE_P | WH_PTE_W | WH_PTE_U | WH_PTE_A | WH_PTE_D | WH_PTE_NX)
#define WH_USER_RO		(WH_PTE_P | WH_PTE_U | WH_PTE_A | WH_PTE_NX)
#define WH_USER_RX		(WH_PTE_P | WH_PTE_U | WH_PTE_A)

#ifndef WH_RAM_SIZE	/* of many workers */
#define WH_RAM_SIZE		0x1000000ULL	/* from GPA 0 */
#define WH_VCPUS		16	/* of a VM, at most */
#endif
#define WH_HEAP_GPA		0x800000ULL	/* wh_page_alloc() starts here */
#define WH_WINDOW_GPA		0x40000000ULL
#define WH_KVA			0xffff888000000000ULL	/* all RAM, supervisor */
#define WH_STACK_VA		0x20000000ULL	/* top of the CPL 3 stack of vCPU 0 */
#define WH_CALLSTACK_VA		0x7ffd00000000ULL	/* top of the call stack */
#define WH_LAZY_VA		0x7f0000000000ULL	/* pages that the server maps late */
#define WH_LAZY_PAGES		64

struct wh_vcpu;

struct wh_vm {
	int fd;
	u64 id;
	u8 *mem;
	u64 next_page;
	u64 kernel_pdpt;
	u8 *window;		/* this VM's mapping of it */
	u64 window_size;
	struct wh_vcpu *vcpus[WH_VCPUS];
	int nvcpus;
};

/* One set of page tables. */
struct wh_as {
	struct wh_vm *vm;
	u64 cr3;
};

/* A window: memory that is plugged into several VMs at WH_WINDOW_GPA. */
struct wh_window {
	int fd;
	u64 size;
};

void wh_vm_create(struct wh_vm *vm, u64 id, u32 role);
void wh_vm_destroy(struct wh_vm *vm);
/* Size 0: deletes the slot. */
void wh_set_memslot(struct wh_vm *vm, u32 slot, u32 flags, u64 gpa, u64 size, void *mem);
void wh_vm_set_window(struct wh_vm *vm, const struct wh_window *w);
/* The same RAM for system management mode, whose memslots are its own. */
void wh_vm_set_smram(struct wh_vm *vm);
void wh_window_create(struct wh_window *w, u64 size);
u64 wh_page_alloc(struct wh_vm *vm);
void *wh_gpa(struct wh_vm *vm, u64 gpa);
void wh_as_create(struct wh_as *as, struct wh_vm *vm);
void wh_map(struct wh_as *as, u64 va, u64 gpa, u64 flags);
void wh_map_2m(struct wh_as *as, u64 va, u64 gpa, u64 flags);
/* The last-level entry for @va, its tables created when missing. */
u64 *wh_pte(struct wh_as *as, u64 va);

/* The VM's own copy of a variable of the test. */
#define G(vm, var)	(*(__typeof__(var) *)wh_gpa(vm, (u64)(uintptr_t)&(var)))
/* Host memory → the guest's kernel address of the same byte. */
u64 wh_kva(struct wh_vm *vm, const void *host);

/* --- vCPUs ---------------------------------------------------------------- */

enum wh_end {
	WH_END_DONE,		/* the function returned */
	WH_END_TRAP,		/* an exception that nobody handles */
	WH_END_EXIT,		/* KVM_RUN ended another way: exit_reason */
	WH_END_STOPPED,		/* wh_vcpu_stop() */
};

/* What the worker sees in RAX after an exception of its own. */
#define WH_AFTER_DE		0xd1
#define WH_AFTER_UD		0x0d
#define WH_AFTER_GP		0x6b

struct wh_result {
	enum wh_end end;
	u64 rax, rbx, rcx, rdx;
	u64 vector, error, rip, cr2;	/* WH_END_TRAP */
	u32 exit_reason;
	u64 eintr;		/* how often KVM_RUN returned EINTR */
};

struct wh_vcpu {
	struct wh_vm *vm;
	int id;
	int fd;
	struct kvm_run *run;
	size_t run_size;
	struct kvm_sregs sregs;
	u64 kstack;		/* top, kernel address */
	u64 nmi_stack;
	u64 user_stack;		/* top at CPL 3: see wh_thread_create() */
	u64 kernel_gs;
	u64 lstar;		/* not 0: instead of wh_syscall_entry() */
	u64 star;		/* not 0: instead of that of these selectors */
	u64 fmask;		/* not 0: the flags that SYSCALL clears */
	pthread_t thread;
	sem_t go, done;
	bool quit;
	bool compat;		/* CPL 3 runs 32-bit code */
	bool started;
	bool running;
	bool stop;
	int tid;
	/* Called in the vCPU's thread, before anything runs there. */
	void (*on_thread)(struct wh_vcpu *vcpu);
	/* Called in the vCPU's thread when a signal ended KVM_RUN. */
	void (*on_eintr)(struct wh_vcpu *vcpu);
	struct wh_result res;
};

struct wh_vcpu *wh_vcpu_create(struct wh_vm *vm);
/* One for a thread of a process: with a stack of its own there. */
struct wh_vcpu *wh_thread_create(struct wh_as *as);
/* Run fn(a0..a3) under @as at @cpl and wait for it to return. */
struct wh_result wh_call(struct wh_vcpu *vcpu, struct wh_as *as, int cpl,
			 const void *fn, u64 a0, u64 a1, u64 a2, u64 a3);
/* The same without waiting; wh_join() waits at most @seconds. */
void wh_start(struct wh_vcpu *vcpu, struct wh_as *as, int cpl, const void *fn,
	      u64 a0, u64 a1, u64 a2, u64 a3);
bool wh_join(struct wh_vcpu *vcpu, int seconds);
/* Go on where the vCPU was stopped. */
void wh_resume(struct wh_vcpu *vcpu);
/* Kick the vCPU out of KVM_RUN: to end the call, or to run on_eintr. */
void wh_vcpu_stop(struct wh_vcpu *vcpu);
void wh_vcpu_kick(struct wh_vcpu *vcpu);
/* CPU time that the vCPU's thread has used, in ns. */
u64 wh_vcpu_ns(struct wh_vcpu *vcpu);
/* An interrupt from a device: reaches a vCPU that stays in KVM_RUN. */
#define WH_MSI_FIXED		0
#define WH_MSI_SMI		2
#define WH_MSI_NMI		4
#define WH_MSI_INIT		5
void wh_msi(struct wh_vm *vm, int apic_id, u32 mode, u8 vector);
void wh_vcpu_regs(struct wh_vcpu *vcpu, struct kvm_regs *regs);
/* One hypercall leaf. */
struct wh_result wh_leaf(struct wh_vcpu *vcpu, struct wh_as *as, int cpl,
			 u32 leaf, u64 a0, u64 a1, u64 a2, u64 a3);
/* The same without waiting, as wh_start(). */
void wh_leaf_start(struct wh_vcpu *vcpu, struct wh_as *as, int cpl, u32 leaf,
		   u64 a0, u64 a1, u64 a2, u64 a3);
/* Poll @cond (in the test's words) for up to @ms; no event exists to wait for. */
#define wh_poll(cond, ms)						\
({									\
	int __left = (ms);						\
	bool __true;							\
									\
	for (;;) {							\
		__true = (cond);					\
		if (__true || __left-- <= 0)				\
			break;						\
		wh_ms_pause();						\
	}								\
	__true;								\
})
void wh_ms_pause(void);

/* --- Pairs ---------------------------------------------------------------- */

#define WH_PART_SIZE		0x40000ULL
#define WH_PARTS		4
#define WH_SLOT_OFFSET		WH_PAGE
#define WH_SLOT0_VA		(WH_WINDOW_VA + WH_SLOT_OFFSET)	/* the next ones follow */
/* Where tests may keep shared words: the part's data area. */
#define WH_DATA_OFFSET		(16 * WH_PAGE)
#define WH_DATA_VA		(WH_WINDOW_VA + WH_DATA_OFFSET)

/* What a trampoline reads, the tests' own or that of WH_TRAMPOLINE, and KVM does not. */
#define WH_WORLD_VA		(WH_TRAMPOLINE_VA + WH_PAGE)
#define WH_WORLD_CLIENT		0x544e45494c435457ULL
#define WH_WORLD_SERVER		0x5245565245535457ULL
#define WH_MAX_HANDLERS		64

struct wh_world_slot {
	u64 stack_top;
	u64 fs_base;
	u64 gs_base;
	u32 mxcsr;
	u16 fcw;
	u16 pad;
};

/* What a trampoline's service knows; not that of the tests. */
struct wh_world_self {
	u32 pid, ppid, tid, uid, euid, gid, egid, pad;
};

struct wh_world_vdso {
	u64 clock_gettime, gettimeofday, time, start, size;
};

struct wh_world_stack {
	u64 low, high;
};

struct wh_world {
	u64 world;
	u32 nslots;
	u32 nhandlers;
	u64 session;
	u64 handlers[WH_MAX_HANDLERS];	/* wh_handler_fn */
	struct wh_world_slot slots[WH_MAX_SLOTS];
	struct wh_world_self self;
	struct wh_world_vdso vdso;
	struct wh_world_stack stack;
	u64 rings, patience;
};

struct wh_slot {
	struct wh_slot_client client;
	u32 client_mxcsr;
	u16 client_fcw;
	u16 pad;
	u32 index;
	u32 slot;
	u64 calls;
};

typedef s64 (*wh_handler_fn)(void *session, u64 slot, u64 a0, u64 a1);

struct wh_server {
	struct wh_vm vm;
	struct wh_window win;
	struct wh_vcpu *boss;		/* runs the "module" at CPL 0 */
	struct wh_as kernel;		/* page tables without a worker */
	u64 tramp_gpa;
};

struct wh_worker {
	struct wh_server *srv;
	struct wh_as as;
	struct wh_vcpu *vcpu;
	u32 part;
	u64 pair;
	u64 world_gpa;
	u64 lazy_gpa;			/* WH_LAZY_PAGES pages, not mapped */
	u64 callstack_gpa;		/* the page under WH_CALLSTACK_VA */
	u64 seq_gpa;			/* the kernel's table sequence */
};

struct wh_client {
	struct wh_vm vm;
	struct wh_as as;
	struct wh_vcpu *vcpu;
	struct wh_slot *slot;		/* host's view of slot 0 */
	u8 *part_mem;
	u32 part;
	u64 index;			/* EPTP index after wh_attach() */
};

/* Server VM with its kernel on vCPU 0; wh_server_register() comes next. */
void wh_server_create(struct wh_server *s, u64 id);
/* @role WH_ROLE_NONE: the VM gets its role another way. */
void wh_server_create_as(struct wh_server *s, u64 id, u32 role,
			 const struct wh_window *w);
s64 wh_server_register(struct wh_server *s);
void wh_server_destroy(struct wh_server *s);
/* Build a worker's address space; then register it; then let it wait for calls. */
void wh_worker_create(struct wh_worker *w, struct wh_server *s, u32 part);
s64 wh_worker_register(struct wh_worker *w);
/* Of workers that register from here on: 1 if nobody says. */
extern u64 wh_nslots;
/* A thread of the worker's, on a vCPU of its own, for one more slot than 0. */
struct wh_vcpu *wh_worker_thread(struct wh_worker *w, u32 slot);
s64 wh_worker_slot(struct wh_worker *w);
void wh_worker_park(struct wh_worker *w);
/*
 * All of the above with handlers, and wait until STAT says that one more worker
 * is parked: no other may leave its park meanwhile.
 */
void wh_worker_start(struct wh_worker *w, struct wh_server *s, u32 part,
		     const wh_handler_fn *handlers, int n);
/* The same worker once more, after its pair died and its thread ended. */
void wh_worker_again(struct wh_worker *w);
/* The two halves of that, where clients use other workers meanwhile: does not wait. */
void wh_worker_renew(struct wh_worker *w);
void wh_worker_begin(struct wh_worker *w);
void wh_worker_handlers(struct wh_worker *w, const wh_handler_fn *h, int n);
/* A kernel that releases a worker ends its threads; here they end themselves. */
s64 wh_release(struct wh_worker *w);
/* Its thread asks for calls, and learns what became of its pair. */
void wh_wake_worker(struct wh_worker *w);
s64 wh_notify(struct wh_worker *w, u64 first, u64 end, u64 phase);
/*
 * Tables of the worker's that never end: 127 entries that lead to one page of entries
 * of 1 GiB, for memory that is not there. To look at all of it takes an hour.
 */
void wh_endless_tables(struct wh_worker *w, bool there);
/* The server's kernel asks for what they lead to; does not wait. */
void wh_walk_endless(struct wh_worker *w);
/* What the server's kernel does before it frees page tables of the worker. */
void wh_move_seq(struct wh_worker *w);

void wh_client_create(struct wh_client *c, u64 id, struct wh_server *s, u32 part);
void wh_client_create_as(struct wh_client *c, u64 id, u32 role,
			 const struct wh_window *w, u32 part);
void wh_client_destroy(struct wh_client *c);
/* One more process of the client VM, with the same part mapped. */
void wh_client_as(struct wh_as *as, struct wh_client *c, u32 part);
s64 wh_attach(struct wh_client *c);
s64 wh_detach(struct wh_client *c);
/* wh_guest_delegate() in the client. */
struct wh_result wh_delegate(struct wh_client *c, u64 handler, u64 a0, u64 a1);
/* The same in a slot, on a vCPU of the client's. */
struct wh_result wh_delegate_in(struct wh_client *c, struct wh_vcpu *vcpu, u64 slot,
				u64 handler, u64 a0, u64 a1);
void wh_delegate_start(struct wh_client *c, struct wh_vcpu *vcpu, u64 slot, u64 handler,
		       u64 a0, u64 a1);
struct wh_slot *wh_client_slot(struct wh_client *c, u32 slot);

/* --- Devices -------------------------------------------------------------- */

/* As Linux sets it: WB, WC, UC-, UC, WB, WP, UC-, WT. */
#define WH_MSR_PAT		0x277
#define WH_LINUX_PAT		0x0407050600070106ULL

#define WH_EPT_R		BIT_ULL(0)
#define WH_EPT_W		BIT_ULL(1)
#define WH_EPT_TYPE(entry)	((entry) >> 3 & 7)
#define WH_EPT_IPAT		BIT_ULL(6)
#define WH_EPT_2M		BIT_ULL(7)
enum { WH_TYPE_UC = 0, WH_TYPE_WC = 1, WH_TYPE_WB = 6 };

/* Memory of a display that has no driver, or of WH_DEVICE, a folder of sysfs. */
int wh_open_device(void);
/* The worker's kernel says that a driver has mapped this. */
s64 wh_name_device(struct wh_worker *w, u64 start, u64 end);
/* Its IA32_PAT, and the worker's, as Linux has it; before wh_worker_register(). */
void wh_set_pat(struct wh_worker *w);
/* As a kernel flushes its TLBs between clearing and setting an entry. */
void wh_flush_worker(struct wh_worker *w);
/* Before that, and before wh_worker_park(). */
void wh_take_flushes(struct wh_worker *w);
/* Lets the host make huge pages until the test ends; false if it cannot. */
bool wh_huge_pages(void);
/* Memory at a multiple of 2 MiB, of huge pages where the host may make them. */
void *wh_huge_alloc(u64 size);
/* Leave with KSFT_SKIP unless KVM shows what is in a view. */
void wh_require_entries(void);
/* The view's EPT entry at @va, 0 if none. */
u64 wh_view_entry(struct wh_worker *w, u64 va);

/* --- Anything at random --------------------------------------------------- */

/* What is right and not guessed by chance. Each VM has a copy, as of all else. */
struct wh_known {
	u64 handle, checksum, tramp_gpa, seq_gpa;
};

extern struct wh_known wh_known;
void wh_known_set(const struct wh_worker *w);
/* Mostly what might be right: handles, indices, pages, addresses; else anything. */
u64 wh_any_argument(u64 *x);
/* Any leaf, mostly one that exists. */
u32 wh_any_leaf(u64 *x);
/* A guest's function has returned, and nothing else has happened. */
bool wh_ends_well(struct wh_vcpu *vcpu);
/* Whatever happened, all pairs of the server end, this one is made again and works. */
bool wh_next_pair_works(struct wh_worker *w, struct wh_client *c);

/* --- System calls in a view ------------------------------------------------ */

u64 wh_syscall(u64 nr, u64 a, u64 b);
/*
 * Handlers: system call @a0 of @a1 and 1; WH_SYS_ADD of both; @a0 of them, @a1 of 0, 1,
 * ... and 1, their sum.
 */
s64 wh_syscall_handler(void *session, u64 slot, u64 a0, u64 a1);
s64 wh_sys_add_handler(void *session, u64 slot, u64 a0, u64 a1);
s64 wh_syscalls_handler(void *session, u64 slot, u64 a0, u64 a1);
/* Goes to @a0. */
s64 wh_jump_handler(void *session, u64 slot, u64 a0, u64 a1);
/* How many pairs of the VM have a gate. */
u64 wh_gates(u64 vm);
/* A pair like the last one, with whatever LSTAR and STAR the client has now. */
bool wh_pair_anew(struct wh_worker *w, struct wh_client *c);
/* As a client's kernel that watches an instruction, or what touches a word; 0: no more. */
#define WH_DR7_INSN		0x402
#define WH_DR7_WORD		0xb0402
void wh_watch(struct wh_vcpu *vcpu, u64 va, u64 dr7);
u64 wh_get_msr(struct wh_vcpu *vcpu, u32 index);
void wh_set_msr(struct wh_vcpu *vcpu, u32 index, u64 value);

/* --- The host's control device -------------------------------------------- */

int wh_host_fd(void);
/* A role descriptor, which is inherited across exec; or -errno. */
int wh_role_fd(u32 role, u64 id, u32 flags);
/* 0 or -errno. */
int wh_allow(u64 client, u64 server, u32 window, u32 max_pairs);
/* The same with WH_ALLOW_IBPB or WH_ALLOW_STRICT for window 0. */
int wh_allow_barrier(u64 client, u64 server, u32 max_pairs, u32 barrier);
int wh_deny(u64 client);
int wh_kill(u64 vm);
int wh_stat(u64 vm, struct wh_host_stat *st);
/* Exits in the view since @old, host interrupts and NMIs left out. */
u64 wh_view_exits(u64 vm, const struct wh_host_stat *old);
u64 wh_handoffs(u64 vm, const struct wh_host_stat *old, int reason);

/* --- The test's own surroundings ------------------------------------------ */

/*
 * The page of this process goes, and who wants it waits for a handler that does not
 * answer, until the descriptor is closed; -1: no userfaultfd.
 */
int wh_take_away(void *page);

/* The environment's number of this name. */
u64 wh_env(const char *name, u64 otherwise);
/* Chance, for guests too: the state is any number but 0, wh_seed() for one. */
static inline u64 wh_next(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* WH_SEED, or of the clock; is said, so that a run can be repeated. */
u64 wh_seed(void);
/* 0 or -errno. */
int wh_write_file(const char *path, const char *text);
/* Behind this word at the beginning of a line, the last of them; 0 without one. */
long wh_number_in(const char *path, const char *key);
/* MemFree and what CPUs keep for themselves; what the host has pinned. */
long wh_free_kb(void);
long wh_pinned_pages(void);
/* Bottom of the views' regions (GPA), as KVM chooses it. */
u64 wh_region_base(void);
bool wh_two_cpus(void);
/* @cpu < 0: on either. @tid 0: this thread; a vCPU has one once it has run. */
void wh_pin(int tid, int cpu);

/* --- Points of the kernel (CONFIG_KVM_WORMHOLE_TEST) ------------------------ */

bool wh_points_there(void);
/* @verb: hold N threads, step, go, delay by so many us (wormhole_test.c). */
void wh_point(const char *name, const char *verb, int val);
/* Threads that wait there, or with @cpu how often it was reached on it; -1: no such point. */
long wh_point_read(const char *name, int cpu);
/* Does one wait, or come within a second? */
bool wh_point_waits(const char *name);

/* --- Guest side ----------------------------------------------------------- */

#define WH_PORT_DONE		0xe0
#define WH_PORT_TRAP		0xe1
#define WH_TIMER_VECTOR		0x40
#define WH_TLB_VECTOR		0x41	/* flush the TLB, as after a change of tables */
#define WH_VECTOR_SYSCALL	256
#define WH_CPUID_VM		0x80000002	/* EBX = wh_vm.id */
#define WH_USER_CS		0x33
#define WH_USER_DS		0x2b

struct wh_trap {
	u64 r15, r14, r13, r12, r11, r10, r9, r8;
	u64 rbp, rdi, rsi, rdx, rcx, rbx, rax;
	u64 vector, error;
	u64 rip, cs, rflags, rsp, ss;
};

/* Pairs that a test may have, in turn, before their news are mixed up. */
#define WH_NEWS			8192

/* What the guest's kernel noted; read by the host through G(). */
struct wh_guest_log {
	u64 timer_irqs, timer_deadline, timer_rip, timer_rsp, timer_fs, timer_cs;
	u64 timer_last;		/* TSC at the last one */
	u64 timer_late;		/* most TSC ticks behind the deadline */
	u64 timer_period;	/* arm again, this much later, */
	u64 timer_max;		/* until so many came */
	u64 timer_stray;	/* came while RIP was not timer_expect_rip */
	u64 timer_expect_rip;
	u64 nmis, nmi_rip;
	u64 faults, uds, bps, des, gps, syscalls, others;
	u64 last_rip, last_error, last_cr2, last_rflags;
	u64 vector, error, rip, cr2;	/* the trap that ended a run */
	u64 lazy_ptes, lazy_gpa;	/* kernel address of the entries; what to map */
	/* Faults there wait for the entry to be present: busy_pages of them, or one. */
	u64 busy_va, busy_pte, busy_pages;
	u64 tlb_flushes;	/* WH_TLB_VECTOR served */
	u8 news[WH_NEWS];	/* what NEXT said: at wh_news_at() */
	u8 any_news;
};

extern struct wh_guest_log wh_log;
/* Server: handle exceptions of the worker in wh_guest_trap(). */
extern u64 wh_trap_is_server;
/* The same, and an NMI means that NEXT may have news. */
extern u64 wh_asks_for_news;
/* Where wh_guest_trap() goes on after an exception of the client, or 0. */
extern u64 wh_trap_fixup;

extern const u8 wh_tramp_page[];
/* The page names its service, so that SYSCALL in a view needs no exit; set first of all. */
extern bool wh_with_gate;
/* The page in use: the one above, or the file that WH_TRAMPOLINE names. */
const struct wh_tramp_hdr *wh_tramp_header(void);
u64 wh_tramp_checksum(void);

/* System calls of the server's little kernel. */
#define WH_SYS_ADD		1	/* returns rdi + rsi */
#define WH_SYS_BLOCK		2	/* HLT until a timer interrupt, 1 ms */
/* Returns rdi + rsi, but is the trampoline's service's: -38 of the kernel. */
#define WH_SYS_HERE		3
#define WH_SYS_WAIT		4	/* HLT until there is news for pair rdi, slot rsi */
#define WH_ANY_PAIR		~0ULL	/* or for anybody */

/* Of a pair's slot, WH_NEWS_*; in wh_log.news[]. */
static inline u64 wh_news_at(u64 pair, u64 slot, u64 what)
{
	return ((pair * 2 + what) * WH_MAX_SLOTS + slot) % WH_NEWS;
}

void wh_guest_call(void);
void wh_guest_leaf(void);
void wh_trap_stubs(void);
void wh_syscall_entry(void);
/* CPL 0: one timer interrupt after @tsc cycles. */
void wh_guest_timer(u64 tsc);
/* CPL 0, for ever: halts, and takes interrupts. */
u64 wh_guest_idle(void);
/*
 * A handler: fill every register, meet #BP (a0 = 0) or spin a0 rounds, compare.
 * Returns 0 or the number of the first difference.
 */
s64 wh_regs_handler(void *session, u64 slot, u64 a0, u64 a1);
/* A handler: returns 0x600d + a0. */
s64 wh_null_handler(void *session, u64 slot, u64 a0, u64 a1);
/* A handler: says so in word 1 of the data area, and waits for the ticket a0 in word 0. */
s64 wh_wait_handler(void *session, u64 slot, u64 a0, u64 a1);
/* A handler: returns a0 + a1. */
s64 wh_add_handler(void *session, u64 slot, u64 a0, u64 a1);
/* A handler: returns the word at a0. */
s64 wh_load_handler(void *session, u64 slot, u64 a0, u64 a1);
/* The trampoline's entry for C. */
typedef s64 (*wh_delegate_fn)(struct wh_slot *slot, u32 index, u64 handler, u64 a0, u64 a1);
/* CPL 3 of the client: touch what its stub has before it attaches, so that KVM has these pages. */
u64 wh_guest_touch(void);
/* CPL 3 of the client: a call through its trampoline. */
s64 wh_guest_delegate(u64 handler, u64 a0, u64 a1);
s64 wh_guest_delegate_in(u64 slot, u64 handler, u64 a0, u64 a1);
/*
 * CPL 3 of the server: what a slot's thread does. Takes calls and sleeps in its
 * kernel between them, until told to end; returns the status of TAKE.
 */
u64 wh_guest_park(u64 pair, u64 slot);

static inline u64 wh_rdtsc(void)
{
	u32 lo, hi;

	asm volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return lo | (u64)hi << 32;
}

static inline void wh_wrmsr(u32 msr, u64 val)
{
	asm volatile("wrmsr" :: "c"(msr), "a"((u32)val), "d"((u32)(val >> 32)));
}

/* VMFUNC leaf 0 from wherever this is; returns RAX. */
static inline u64 wh_vmfunc(u64 index)
{
	u64 rax = 0;

	asm volatile(".byte 0x0f, 0x01, 0xd4" : "+a"(rax) : "c"(index) : "memory");
	return rax;
}

#endif
