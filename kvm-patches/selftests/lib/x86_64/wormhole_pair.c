// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two sides of a pair for the Wormhole tests: a server VM whose CPL 0 code
 * plays the guest module, its workers, client VMs, and the host's control
 * device. Everything valid by default; a negative test changes one thing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "wormhole.h"

#define EXIT_REASON_NMI			0	/* exception or NMI */
#define EXIT_REASON_EXTERNAL_INTERRUPT	1
#define EXIT_REASON_PREEMPTION_TIMER	52

/* --- Control device ------------------------------------------------------- */

int wh_host_fd(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/kvm-wormhole", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		wh_die("/dev/kvm-wormhole");
	return fd;
}

int wh_role_fd(u32 role, u64 id, u32 flags)
{
	struct wh_host_role r = { .vm_id = id, .role = role, .flags = flags };
	int fd = ioctl(wh_host_fd(), WH_HOST_CREATE_ROLE, &r);

	if (fd < 0 || fcntl(fd, F_SETFD, 0))
		return -errno;
	return fd;
}

static int host_ioctl(unsigned long cmd, void *arg)
{
	return ioctl(wh_host_fd(), cmd, arg) < 0 ? -errno : 0;
}

int wh_allow(u64 client, u64 server, u32 window, u32 max_pairs)
{
	struct wh_host_allow a = {
		.client_id = client, .server_id = server,
		.window = window, .max_pairs = max_pairs,
	};

	return host_ioctl(WH_HOST_ALLOW, &a);
}

int wh_allow_barrier(u64 client, u64 server, u32 max_pairs, u32 barrier)
{
	struct wh_host_allow a = {
		.client_id = client, .server_id = server,
		.max_pairs = max_pairs, .flags = barrier,
	};

	return host_ioctl(WH_HOST_ALLOW, &a);
}

int wh_deny(u64 client)
{
	struct wh_host_vm v = { .vm_id = client };

	return host_ioctl(WH_HOST_DENY, &v);
}

int wh_kill(u64 vm)
{
	struct wh_host_vm v = { .vm_id = vm };

	return host_ioctl(WH_HOST_KILL, &v);
}

int wh_stat(u64 vm, struct wh_host_stat *st)
{
	memset(st, 0, sizeof(*st));
	st->vm_id = vm;
	return host_ioctl(WH_HOST_STAT, st);
}

u64 wh_view_exits(u64 vm, const struct wh_host_stat *old)
{
	struct wh_host_stat st;
	u64 sum = 0;
	int i;

	if (wh_stat(vm, &st))
		wh_die("WH_HOST_STAT");
	for (i = 0; i < WH_STAT_EXIT_REASONS; i++) {
		u64 delta = st.exits[i] - old->exits[i];

		/* Ticks of the host are the host's, whichever way they come. */
		if (i == EXIT_REASON_EXTERNAL_INTERRUPT ||
		    i == EXIT_REASON_PREEMPTION_TIMER)
			continue;
		if (delta)
			wh_diag("exit reason %d: %llu", i, (unsigned long long)delta);
		sum += delta;
	}
	return sum;
}

u64 wh_handoffs(u64 vm, const struct wh_host_stat *old, int reason)
{
	struct wh_host_stat st;

	if (wh_stat(vm, &st))
		wh_die("WH_HOST_STAT");
	return st.handoffs[reason] - old->handoffs[reason];
}

/* --- Trampoline ----------------------------------------------------------- */

bool wh_with_gate;

static const u8 *tramp_page(void)
{
	static u8 page[WH_PAGE_SIZE];
	const char *file = getenv("WH_TRAMPOLINE");
	int fd;

	if (page[0])
		return page;
	memcpy(page, wh_tramp_page, sizeof(page));
	if (file) {
		fd = open(file, O_RDONLY);
		if (fd < 0 || read(fd, page, sizeof(page)) != sizeof(page))
			wh_die(file);
		close(fd);
	}
	if (!wh_with_gate)
		((struct wh_tramp_hdr *)page)->service = 0;
	return page;
}

const struct wh_tramp_hdr *wh_tramp_header(void)
{
	return (const struct wh_tramp_hdr *)tramp_page();
}

/* FNV-1a, 64 bit, with the checksum's own field taken as zero. */
static u64 checksum(const u8 *page)
{
	const size_t field = offsetof(struct wh_tramp_hdr, checksum);
	u64 hash = 0xcbf29ce484222325ULL;
	size_t i;

	for (i = 0; i < WH_PAGE_SIZE; i++) {
		u8 byte = i >= field && i < field + 8 ? 0 : page[i];

		hash = (hash ^ byte) * 0x100000001b3ULL;
	}
	return hash;
}

/* A page of the VM with the trampoline and its checksum. */
static u64 load_trampoline(struct wh_vm *vm)
{
	u64 gpa = wh_page_alloc(vm);
	u8 *page = wh_gpa(vm, gpa);

	memcpy(page, tramp_page(), WH_PAGE);
	((struct wh_tramp_hdr *)page)->checksum = checksum(page);
	return gpa;
}

u64 wh_tramp_checksum(void)
{
	return checksum(tramp_page());
}

/* --- Server --------------------------------------------------------------- */

void wh_server_create(struct wh_server *s, u64 id)
{
	struct wh_window win;

	wh_window_create(&win, WH_PARTS * WH_PART_SIZE);
	wh_server_create_as(s, id, WH_ROLE_SERVER, &win);
}

void wh_server_create_as(struct wh_server *s, u64 id, u32 role,
			 const struct wh_window *w)
{
	struct wh_window win = *w;

	memset(s, 0, sizeof(*s));
	s->win = win;
	wh_vm_create(&s->vm, id, role);
	wh_vm_set_window(&s->vm, &s->win);
	wh_as_create(&s->kernel, &s->vm);
	s->boss = wh_vcpu_create(&s->vm);
	s->tramp_gpa = load_trampoline(&s->vm);
	G(&s->vm, wh_trap_is_server) = 1;
	G(&s->vm, wh_asks_for_news) = 1;
}

s64 wh_server_register(struct wh_server *s)
{
	return wh_leaf(s->boss, &s->kernel, 0, WH_LEAF_SERVER_REGISTER,
		       WH_ABI_VERSION, s->tramp_gpa, 0, 0).rax;
}

void wh_server_destroy(struct wh_server *s)
{
	wh_vm_destroy(&s->vm);
	close(s->win.fd);
}

static void map_part(struct wh_as *as, u32 part)
{
	u64 off;

	for (off = 0; off < WH_PART_SIZE; off += WH_PAGE)
		wh_map(as, WH_WINDOW_VA + off,
		       WH_WINDOW_GPA + part * WH_PART_SIZE + off, WH_USER_RW);
}

u64 wh_nslots = 1;

static void set_world_slot(struct wh_worker *w, u32 slot, u64 stack_top)
{
	struct wh_world *world = wh_gpa(&w->srv->vm, w->world_gpa);

	world->slots[slot] = (struct wh_world_slot) {
		.stack_top = stack_top, .fs_base = 0x1111000 + slot * WH_PAGE,
		.gs_base = 0x2222000 + slot * WH_PAGE, .mxcsr = 0x1f80, .fcw = 0x37f,
	};
}

/* Where the trampoline of a world looks whether it is in a view: it is not. */
static void map_no_view(struct wh_as *as)
{
	wh_map(as, WH_SLOT_VA, wh_page_alloc(as->vm), WH_USER_RO);
}

static void init_world(struct wh_worker *w)
{
	struct wh_world *world;

	w->world_gpa = wh_page_alloc(&w->srv->vm);
	world = wh_gpa(&w->srv->vm, w->world_gpa);
	world->world = WH_WORLD_SERVER;
	world->nslots = wh_nslots;
	world->session = 0x5e5510;
	set_world_slot(w, 0, WH_CALLSTACK_VA);
	map_no_view(&w->as);
	wh_map(&w->as, WH_WORLD_VA, w->world_gpa, WH_USER_RW);
}

/* Pages that exist but are not mapped; server_trap() maps them on demand. */
static void init_lazy(struct wh_worker *w)
{
	struct wh_vm *vm = &w->srv->vm;
	int i;

	w->lazy_gpa = wh_page_alloc(vm);
	for (i = 1; i < WH_LAZY_PAGES; i++)
		wh_page_alloc(vm);
	G(vm, wh_log).lazy_ptes = wh_kva(vm, wh_pte(&w->as, WH_LAZY_VA));
	G(vm, wh_log).lazy_gpa = w->lazy_gpa;
}

void wh_worker_create(struct wh_worker *w, struct wh_server *s, u32 part)
{
	int i;

	memset(w, 0, sizeof(*w));
	w->srv = s;
	w->part = part;
	wh_as_create(&w->as, &s->vm);
	w->vcpu = wh_vcpu_create(&s->vm);
	memset(s->vm.window + part * WH_PART_SIZE, 0, WH_PART_SIZE);
	map_part(&w->as, part);
	wh_map(&w->as, WH_TRAMPOLINE_VA, s->tramp_gpa, WH_USER_RX);
	init_world(w);
	init_lazy(w);
	w->seq_gpa = wh_page_alloc(&s->vm) + 64;
	for (i = 1; i <= 4; i++) {
		w->callstack_gpa = wh_page_alloc(&s->vm);
		wh_map(&w->as, WH_CALLSTACK_VA - i * WH_PAGE, w->callstack_gpa,
		       WH_USER_RW);
	}
}

struct wh_vcpu *wh_worker_thread(struct wh_worker *w, u32 slot)
{
	struct wh_vm *vm = &w->srv->vm;
	struct wh_vcpu *vcpu = wh_thread_create(&w->as);
	u64 top = WH_CALLSTACK_VA - slot * 16 * WH_PAGE;
	int i;

	for (i = 1; i <= 4; i++)
		wh_map(&w->as, top - i * WH_PAGE, wh_page_alloc(vm), WH_USER_RW);
	set_world_slot(w, slot, top);
	if (wh_leaf(vcpu, &w->as, 0, WH_LEAF_SLOT_REGISTER, w->pair, slot, 0, 0).rax)
		wh_die("SLOT_REGISTER");
	wh_start(vcpu, &w->as, 3, wh_guest_park, w->pair, slot, 0, 0);
	return vcpu;
}

void wh_worker_handlers(struct wh_worker *w, const wh_handler_fn *h, int n)
{
	struct wh_world *world = wh_gpa(&w->srv->vm, w->world_gpa);
	int i;

	world->nhandlers = n;
	for (i = 0; i < n; i++)
		world->handlers[i] = (u64)h[i];
}

s64 wh_worker_register(struct wh_worker *w)
{
	struct wh_result r;

	r = wh_leaf(w->vcpu, &w->as, 0, WH_LEAF_WORKER_REGISTER, 0, w->part,
		    WH_PART_SIZE, w->seq_gpa);
	w->pair = r.rbx;
	return r.rax;
}

s64 wh_worker_slot(struct wh_worker *w)
{
	return wh_leaf(w->vcpu, &w->as, 0, WH_LEAF_SLOT_REGISTER, w->pair, 0,
		       0, 0).rax;
}

static u64 parked(u64 vm)
{
	struct wh_host_stat st;

	return wh_stat(vm, &st) ? 0 : st.parked;
}

static void go_to_park(struct wh_worker *w)
{
	wh_start(w->vcpu, &w->as, 3, wh_guest_park, w->pair, 0, 0, 0);
}

void wh_worker_park(struct wh_worker *w)
{
	u64 id = w->srv->vm.id, before = parked(id);

	go_to_park(w);
	/* The first TAKE fills the view, which a checked kernel takes its time for. */
	if (!wh_poll(parked(id) > before || !w->vcpu->running,
		     2000 * wh_patience())) {
		errno = ETIMEDOUT;
		wh_die("worker does not park");
	}
}

static void register_worker(struct wh_worker *w)
{
	s64 ret = wh_worker_register(w);

	if (!ret)
		ret = wh_worker_slot(w);
	if (ret) {
		printf("Bail out! registering a worker: %lld\n", (long long)ret);
		exit(1);
	}
}

void wh_worker_start(struct wh_worker *w, struct wh_server *s, u32 part,
		     const wh_handler_fn *handlers, int n)
{
	wh_worker_create(w, s, part);
	wh_worker_handlers(w, handlers, n);
	register_worker(w);
	wh_worker_park(w);
}

void wh_worker_renew(struct wh_worker *w)
{
	if (!wh_join(w->vcpu, 1)) {
		errno = ETIMEDOUT;
		wh_die("worker's thread does not end");
	}
	memset(w->srv->vm.window + w->part * WH_PART_SIZE, 0, WH_PART_SIZE);
}

void wh_worker_again(struct wh_worker *w)
{
	wh_worker_renew(w);
	register_worker(w);
	wh_worker_park(w);
}

void wh_worker_begin(struct wh_worker *w)
{
	register_worker(w);
	go_to_park(w);
}

void wh_wake_worker(struct wh_worker *w)
{
	G(&w->srv->vm, wh_log).news[wh_news_at(w->pair, 0, WH_NEWS_CALL)] = 1;
	/* A thread that waits for any pair looks at this one alone. */
	G(&w->srv->vm, wh_log).any_news = 1;
	if (w->vcpu->running)
		wh_msi(&w->srv->vm, w->vcpu->id, WH_MSI_NMI, 0);
}

s64 wh_release(struct wh_worker *w)
{
	s64 ret;

	ret = wh_leaf(w->srv->boss, &w->srv->kernel, 0, WH_LEAF_RELEASE,
		      w->pair, 0, 0, 0).rax;
	/* Also of a pair that somebody else has ended: RELEASE takes those news back. */
	wh_wake_worker(w);
	return ret;
}

s64 wh_notify(struct wh_worker *w, u64 first, u64 end, u64 phase)
{
	return wh_leaf(w->srv->boss, &w->srv->kernel, 0, WH_LEAF_NOTIFY,
		       w->pair, first, end, phase).rax;
}

void wh_move_seq(struct wh_worker *w)
{
	u64 *seq = wh_gpa(&w->srv->vm, w->seq_gpa);

	__atomic_fetch_add(seq, 1, __ATOMIC_SEQ_CST);
}

/* --- Client --------------------------------------------------------------- */

/* A bit that is the kernel's, in each entry that leads there. */
#define ENDLESS		BIT_ULL(9)

void wh_endless_tables(struct wh_worker *w, bool there)
{
	struct wh_vm *vm = &w->srv->vm;
	u64 *top = wh_gpa(vm, w->as.cr3), *entry, pdpt, i;

	for (i = 1; !there && i < 128; i++)
		if (top[i] & ENDLESS)
			top[i] = 0;
	if (!there)
		return;
	pdpt = wh_page_alloc(vm);
	entry = wh_gpa(vm, pdpt);
	for (i = 0; i < 512; i++)
		entry[i] = 0x4000000000ULL | WH_PTE_PS | (WH_USER_RW & ~WH_PTE_NX);
	for (i = 1; i < 128; i++)
		if (!top[i])
			top[i] = pdpt | ENDLESS | WH_PTE_P | WH_PTE_W | WH_PTE_U | WH_PTE_A;
}

void wh_walk_endless(struct wh_worker *w)
{
	wh_leaf_start(w->srv->boss, &w->srv->kernel, 0, WH_LEAF_DEVICE, w->pair, 1ULL << 39,
		      1ULL << 46, 0);
}

void wh_client_as(struct wh_as *as, struct wh_client *c, u32 part)
{
	u64 world = wh_page_alloc(&c->vm);

	wh_as_create(as, &c->vm);
	map_part(as, part);
	wh_map(as, WH_TRAMPOLINE_VA, load_trampoline(&c->vm), WH_USER_RX);
	((struct wh_world *)wh_gpa(&c->vm, world))->world = WH_WORLD_CLIENT;
	map_no_view(as);
	wh_map(as, WH_WORLD_VA, world, WH_USER_RW);
}

void wh_client_create(struct wh_client *c, u64 id, struct wh_server *s, u32 part)
{
	wh_client_create_as(c, id, WH_ROLE_CLIENT, &s->win, part);
}

void wh_client_create_as(struct wh_client *c, u64 id, u32 role,
			 const struct wh_window *w, u32 part)
{
	memset(c, 0, sizeof(*c));
	wh_vm_create(&c->vm, id, role);
	wh_vm_set_window(&c->vm, w);
	c->part = part;
	c->vcpu = wh_vcpu_create(&c->vm);
	wh_client_as(&c->as, c, part);
	c->part_mem = c->vm.window + part * WH_PART_SIZE;
	c->slot = (struct wh_slot *)(c->part_mem + WH_SLOT_OFFSET);
}

void wh_client_destroy(struct wh_client *c)
{
	wh_vm_destroy(&c->vm);
}

struct wh_slot *wh_client_slot(struct wh_client *c, u32 slot)
{
	return (struct wh_slot *)(c->part_mem + WH_SLOT_OFFSET + slot * WH_PAGE);
}

s64 wh_attach(struct wh_client *c)
{
	struct wh_result r;
	u64 i;

	r = wh_leaf(c->vcpu, &c->as, 3, WH_LEAF_ATTACH, WH_ABI_VERSION,
		    wh_tramp_checksum(), 0, 0);
	if (r.end != WH_END_DONE) {
		wh_diag("attach ended %d, exit %u, vector %llu", r.end,
			r.exit_reason, (unsigned long long)r.vector);
		return WH_EFATAL;
	}
	for (i = 0; !r.rax && i < r.rcx; i++) {
		wh_client_slot(c, i)->index = r.rbx + i;
		wh_client_slot(c, i)->slot = i;
	}
	if (!r.rax)
		c->index = r.rbx;
	return r.rax;
}

s64 wh_detach(struct wh_client *c)
{
	return wh_leaf(c->vcpu, &c->as, 3, WH_LEAF_DETACH, c->index, 0, 0, 0).rax;
}

struct wh_result wh_delegate(struct wh_client *c, u64 handler, u64 a0, u64 a1)
{
	return wh_call(c->vcpu, &c->as, 3, wh_guest_delegate, handler, a0, a1, 0);
}

void wh_delegate_start(struct wh_client *c, struct wh_vcpu *vcpu, u64 slot, u64 handler,
		       u64 a0, u64 a1)
{
	wh_start(vcpu, &c->as, 3, wh_guest_delegate_in, slot, handler, a0, a1);
}

struct wh_result wh_delegate_in(struct wh_client *c, struct wh_vcpu *vcpu, u64 slot,
				u64 handler, u64 a0, u64 a1)
{
	return wh_call(vcpu, &c->as, 3, wh_guest_delegate_in, slot, handler, a0, a1);
}
