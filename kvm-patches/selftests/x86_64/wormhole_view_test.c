// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a view shows: the kernel walks stage 1 and the EPT from the client's CR3, as
 * the processor does, and what user code and a kernel could reach there is compared
 * with the list of what a view has, wherever CR3 lies.  Needs VMFUNC and
 * CONFIG_KVM_WORMHOLE_TEST.
 */
#include <cpuid.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "wormhole.h"

#define VIEW_FILE	"/sys/kernel/debug/kvm-wormhole/view"
#define CR4_LA57	BIT_ULL(12)
#define SLOTS		4

static const wh_handler_fn handlers[] = { wh_add_handler };
static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;

/* A run of pages: what stage 1 allows, and the EPT. */
struct run {
	u64 va, pages;
	bool user, s1_write, read, write, exec, user_exec;
};

static const char *const cpl_name[] = { "cpl_0", "cpl_3" };
static u64 strays, seen_slot, seen_trampoline, seen_gate, seen_worker;

static void stray(const struct run *run, u64 va, const char *why)
{
	if (strays++ < 5)
		wh_diag("0x%llx (%c%c %c%c%c%c): %s", (unsigned long long)va,
			run->user ? 'u' : '-', run->s1_write ? 'w' : '-', run->read ? 'r' : '-',
			run->write ? 'w' : '-', run->exec ? 'x' : '-', run->user_exec ? 'X' : '-',
			why);
}

/* With mode-based execute control user-mode addresses have a right of their own. */
static bool user_may_execute(const struct run *run)
{
	return run->exec || run->user_exec;
}

static void look_at_worker_page(const struct run *run, u64 va)
{
	u64 pte = va >> 47 ? 0 : *wh_pte(&worker.as, va);

	if ((pte & (WH_PTE_P | WH_PTE_U)) != (WH_PTE_P | WH_PTE_U))
		return stray(run, va, "the worker's user code has no such page");
	seen_worker++;
	if (run->write && !(pte & WH_PTE_W))
		stray(run, va, "the worker cannot write it");
	if (user_may_execute(run) && pte & WH_PTE_NX)
		stray(run, va, "the worker cannot execute it");
	if (run->exec && run->user_exec)
		stray(run, va, "it can be executed at supervisor-mode addresses");
}

static void look_at(const struct run *run, u64 va)
{
	u64 lstar = WH_KVA + (u64)wh_syscall_entry;

	if (!run->user) {
		/* The gate: KVM's, for fetches at CPL 0, and nothing else. */
		seen_gate += va == (lstar & -WH_PAGE);
		if (va != (lstar & -WH_PAGE) || run->write || !run->exec || run->user_exec)
			stray(run, va, "a kernel's page that is not the gate");
	} else if (va == WH_SLOT_VA) {
		seen_slot++;
		if (run->s1_write || run->write || user_may_execute(run) || !run->read)
			stray(run, va, "the slot's page can be more than read");
	} else if (va == WH_TRAMPOLINE_VA) {
		seen_trampoline++;
		if (run->write || !run->read || !user_may_execute(run) ||
		    (run->exec && run->user_exec))
			stray(run, va, "the trampoline is not one for CPL 3");
	} else {
		look_at_worker_page(run, va);
	}
}

static bool parse(const char *line, struct run *run)
{
	unsigned long long va, pages;
	char s1[3], ept[5];

	if (sscanf(line, "%llx %llu %2s %4s", &va, &pages, s1, ept) != 4)
		return false;
	*run = (struct run) {
		.va = va, .pages = pages, .user = s1[0] == 'u', .s1_write = s1[1] == 'w',
		.read = ept[0] == 'r', .write = ept[1] == 'w', .exec = ept[2] == 'x',
		.user_exec = ept[3] == 'X',
	};
	return true;
}

/* Everything that @cpl can reach by @slot's root. */
static void walk(int cpl, u32 slot)
{
	struct run run;
	char line[128];
	FILE *f;
	u64 i;

	snprintf(line, sizeof(line), "%llu %llu %u", (unsigned long long)srv.vm.id,
		 (unsigned long long)worker.pair, slot);
	if (wh_write_file(VIEW_FILE, line))
		wh_die(VIEW_FILE);
	f = fopen(VIEW_FILE, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (!parse(line, &run))
			wh_die(line);
		for (i = 0; i < run.pages && (cpl == 0 || run.user); i++)
			look_at(&run, run.va + i * WH_PAGE);
	}
	if (f)
		fclose(f);
}

/* CPL 0 minds no stage 1 of its own making, but reaches no more of the view's. */
static void compare(const char *where)
{
	char name[128];
	int cpl;
	u32 i;

	for (cpl = 3; cpl >= 0; cpl -= 3) {
		strays = 0;
		seen_slot = 0;
		seen_trampoline = 0;
		seen_gate = 0;
		seen_worker = 0;
		for (i = 0; i < SLOTS; i++)
			walk(cpl, i);
		snprintf(name, sizeof(name), "%s_sees_what_is_listed_with_cr3_%s",
			 cpl_name[cpl == 3], where);
		if (!wh_ok(!strays && seen_slot == SLOTS && seen_trampoline == SLOTS &&
			   seen_worker > SLOTS * 4 && seen_gate == (cpl ? 0 : SLOTS), name))
			wh_diag("%llu stray; %llu slots, %llu trampolines, %llu gates, worker %llu",
				(unsigned long long)strays, (unsigned long long)seen_slot,
				(unsigned long long)seen_trampoline,
				(unsigned long long)seen_gate, (unsigned long long)seen_worker);
	}
}

/* --- Where CR3 may be ------------------------------------------------------------ */

/* The client's top-level table in a page of its own at @gpa. */
static void move_top(u64 cr3, u64 gpa, u32 memslot)
{
	u64 *page = mmap(NULL, WH_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		wh_die("mmap");
	memcpy(page, wh_gpa(&client.vm, cr3), WH_PAGE);
	wh_set_memslot(&client.vm, memslot, 0, gpa, WH_PAGE, page);
	client.as.cr3 = gpa;
}

static void test_at(const char *where)
{
	char name[128];
	bool works = wh_pair_anew(&worker, &client) &&
		     wh_delegate(&client, 0, 40, 2).rax == 42;

	snprintf(name, sizeof(name), "call_works_with_cr3_%s", where);
	wh_ok(works, name);
	compare(where);
}

static void test_refused_at(u64 gpa, const char *where, u64 cr3, u32 memslot)
{
	char name[128];

	snprintf(name, sizeof(name), "attach_with_cr3_%s_is_refused", where);
	wh_release(&worker);
	wh_worker_again(&worker);
	if (gpa)
		move_top(cr3, gpa, memslot);
	else
		memcpy(wh_gpa(&client.vm, 0), wh_gpa(&client.vm, cr3), WH_PAGE);
	client.as.cr3 = gpa;
	wh_eq(wh_attach(&client), WH_EINVAL, name);
}

static void test_positions(u64 cr3)
{
	test_at("below_1_gib");
	move_top(cr3, 5ULL << 30, 8);
	test_at("above_4_gib");
	move_top(cr3, wh_region_base() - WH_PAGE, 9);
	test_at("at_the_top_of_memory");
	test_refused_at(wh_region_base() + (1ULL << 30), "at_a_region", cr3, 10);
	test_refused_at(0, "at_the_slots_page", cr3, 0);
	client.as.cr3 = cr3;
}

static bool has_la57(void)
{
	u32 eax, ebx, ecx = 0, edx;

	__cpuid_count(7, 0, eax, ebx, ecx, edx);
	return ecx & BIT_ULL(16);
}

/* The same tables below a fifth level. */
static void test_five_levels(u64 cr3)
{
	u64 gpa = wh_page_alloc(&client.vm), *top = wh_gpa(&client.vm, gpa);

	if (!has_la57()) {
		wh_skip("views_of_clients_with_five_levels", "this processor has no LA57");
		return;
	}
	top[0] = cr3 | WH_PTE_P | WH_PTE_W | WH_PTE_U | WH_PTE_A;
	top[511] = top[0];
	client.as.cr3 = gpa;
	client.vcpu->sregs.cr4 |= CR4_LA57;
	test_at("below_1_gib_and_five_levels");
	wh_set_memslot(&client.vm, 9, 0, wh_region_base() - WH_PAGE, 0, NULL);
	move_top(gpa, wh_region_base() - WH_PAGE, 9);
	test_at("at_the_top_of_memory_and_five_levels");
}

int main(void)
{
	u64 cr3;

	wh_with_gate = true;
	wh_nslots = SLOTS;
	wh_require_feature();
	if (access(VIEW_FILE, R_OK | W_OK))
		wh_skip_all("the kernel has no CONFIG_KVM_WORMHOLE_TEST");
	wh_plan(has_la57() ? 17 : 12);
	wh_watchdog(120);
	wh_one_cpu();
	wh_server_create(&srv, 1);
	wh_server_register(&srv);
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&client, 2, &srv, 0);
	wh_allow(2, 1, 0, 1);
	if (wh_attach(&client))
		wh_die("attach");
	cr3 = client.as.cr3;
	test_positions(cr3);
	test_five_levels(cr3);
	return wh_exit();
}
