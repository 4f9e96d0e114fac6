// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host's interfaces: KVM_CAP_X86_WORMHOLE and /dev/kvm-wormhole. Roles are
 * given once, before the first vCPU, with an identity that is unique among
 * living VMs; every malformed request gets its errno and changes nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "wormhole.h"

#define NO_VM	9999
#define OTHER	9998

#ifndef KVM_X86_SW_PROTECTED_VM
#define KVM_X86_SW_PROTECTED_VM	1
#endif

static int kvm;

static int err(int ret)
{
	return ret < 0 ? -errno : ret;
}

static int new_vm(void)
{
	return ioctl(kvm, KVM_CREATE_VM, 0);
}

static int enable_with(int vm, u64 role, u64 id, u32 flags, u64 token)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_X86_WORMHOLE,
		.flags = flags,
		.args = { role, id, token },
	};

	return err(ioctl(vm, KVM_ENABLE_CAP, &cap));
}

/* With a role descriptor made for it, or where there is none for such a thing, of another. */
static int enable(int vm, u64 role, u64 id, u32 flags)
{
	int fd = wh_role_fd(role, id, 0), r;

	if (fd < 0)
		fd = wh_role_fd(WH_ROLE_CLIENT, OTHER, 0);
	r = enable_with(vm, role, id, flags, fd);
	close(fd);
	return r;
}

/* One request that must fail on a VM of its own. */
static void refused(u64 role, u64 id, u32 flags, int want, const char *name)
{
	int vm = new_vm();

	wh_eq(enable(vm, role, id, flags), want, name);
	close(vm);
}

static void test_capability(void)
{
	int vm = new_vm(), other = new_vm(), role, vcpu;

	wh_eq(ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_X86_WORMHOLE),
	      WH_ABI_VERSION, "capability_reports_abi_version");
	refused(WH_ROLE_NONE, 1, 0, -EINVAL, "role_none_is_refused");
	refused(3, 1, 0, -EINVAL, "unknown_role_is_refused");
	refused(WH_ROLE_CLIENT, 0, 0, -EINVAL, "identity_zero_is_refused");
	refused(WH_ROLE_CLIENT, 1, 1, -EINVAL, "unknown_flags_are_refused");
	wh_eq(enable_with(vm, WH_ROLE_SERVER, 1, 0, kvm), -EPERM,
	      "role_without_a_role_descriptor_is_refused");
	wh_eq(enable_with(vm, WH_ROLE_SERVER, 1, 0, wh_host_fd()), -EPERM,
	      "control_device_is_no_role_descriptor");
	wh_eq(enable_with(vm, WH_ROLE_SERVER, 1, 0, -1ULL), -EPERM,
	      "role_without_a_descriptor_is_refused");
	role = wh_role_fd(WH_ROLE_SERVER, 1, 0);
	wh_eq(enable_with(vm, WH_ROLE_CLIENT, 1, 0, role), -EPERM,
	      "role_descriptor_gives_no_other_role");
	wh_eq(enable_with(vm, WH_ROLE_SERVER, 2, 0, role), -EPERM,
	      "role_descriptor_gives_no_other_identity");
	wh_eq(enable_with(vm, WH_ROLE_SERVER, 1, 0, role), 0, "server_role_is_given");
	wh_eq(enable(vm, WH_ROLE_SERVER, 3, 0), -EEXIST, "second_role_is_refused");
	wh_eq(wh_role_fd(WH_ROLE_CLIENT, 1, 0), -EEXIST, "identity_in_use_is_refused");
	wh_eq(enable_with(other, WH_ROLE_SERVER, 1, 0, role), -EPERM,
	      "role_descriptor_is_for_one_vm");
	close(vm);
	wh_eq(enable_with(other, WH_ROLE_SERVER, 1, 0, role), -EPERM,
	      "and_not_for_another_when_that_has_gone");
	close(role);
	vcpu = ioctl(other, KVM_CREATE_VCPU, 0);
	wh_eq(enable(other, WH_ROLE_CLIENT, 2, 0), -EBUSY, "role_after_first_vcpu_is_refused");
	close(vcpu);
	close(other);
	vm = new_vm();
	wh_eq(enable(vm, WH_ROLE_CLIENT, 1, 0), 0, "identity_is_free_after_vm_death");
	close(vm);
}

/* What has private memory of its own. */
static void test_vm_types(void)
{
	int vm = ioctl(kvm, KVM_CREATE_VM, KVM_X86_SW_PROTECTED_VM);

	if (vm < 0) {
		wh_skip("vm_of_another_type_has_no_role", "no KVM_X86_SW_PROTECTED_VM");
		return;
	}
	wh_eq(enable(vm, WH_ROLE_SERVER, 1, 0), -EINVAL, "vm_of_another_type_has_no_role");
	close(vm);
}

/* What a call cannot keep apart: XSAVES knows of shadow stacks by two bits of its own. */
static const struct feature {
	u32 function, index;
	size_t reg;
	u32 bits;
} features[] = {
	{ 7, 0, offsetof(struct kvm_cpuid_entry2, ecx), 1 << 7 },	/* SHSTK */
	{ 7, 0, offsetof(struct kvm_cpuid_entry2, edx), 1 << 20 },	/* IBT */
	{ 7, 1, offsetof(struct kvm_cpuid_entry2, eax), 1 << 17 },	/* FRED */
	{ 0xd, 1, offsetof(struct kvm_cpuid_entry2, ecx), 3 << 11 },
};

static struct {
	struct kvm_cpuid2 head;
	struct kvm_cpuid_entry2 entries[256];
} cpuid;

static u32 *feature_reg(const struct feature *f)
{
	struct kvm_cpuid_entry2 *e;
	u32 i;

	for (i = 0; i < cpuid.head.nent; i++) {
		e = &cpuid.entries[i];
		if (e->function == f->function && e->index == f->index)
			return (void *)e + f->reg;
	}
	e = &cpuid.entries[cpuid.head.nent++];
	*e = (struct kvm_cpuid_entry2) {
		.function = f->function, .index = f->index,
		.flags = KVM_CPUID_FLAG_SIGNIFCANT_INDEX,
	};
	return (void *)e + f->reg;
}

/* How many of the features a vCPU has whose VMM asks for all of them. */
static int features_of_vm(u64 role)
{
	int vm = new_vm(), vcpu, n = 0;
	size_t i;

	if (role && enable(vm, role, 1, 0))
		return -1;
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	cpuid.head.nent = WH_ARRAY_SIZE(cpuid.entries);
	if (ioctl(kvm, KVM_GET_SUPPORTED_CPUID, &cpuid))
		return -1;
	for (i = 0; i < WH_ARRAY_SIZE(features); i++)
		*feature_reg(&features[i]) |= features[i].bits;
	if (ioctl(vcpu, KVM_SET_CPUID2, &cpuid))
		return -1;
	cpuid.head.nent = WH_ARRAY_SIZE(cpuid.entries);
	if (ioctl(vcpu, KVM_GET_CPUID2, &cpuid))
		return -1;
	for (i = 0; i < WH_ARRAY_SIZE(features); i++)
		n += !!(*feature_reg(&features[i]) & features[i].bits);
	close(vcpu);
	close(vm);
	return n;
}

static void test_features(void)
{
	wh_eq(features_of_vm(WH_ROLE_NONE), WH_ARRAY_SIZE(features),
	      "vm_without_a_role_has_the_features_that_its_vmm_says");
	wh_eq(features_of_vm(WH_ROLE_CLIENT), 0, "client_has_neither_cet_nor_fred");
	wh_eq(features_of_vm(WH_ROLE_SERVER), 0, "nor_has_a_server");
}

static int role_of(u64 id)
{
	struct wh_host_stat st;
	int ret = wh_stat(id, &st);

	return ret ? ret : (int)st.role;
}

static int next_role(u64 id)
{
	return wh_role_fd(WH_ROLE_CLIENT, id, WH_ROLE_NEXT_VM);
}

static void test_create_role(void)
{
	int fd, fd2, vm, vm2;

	wh_eq(wh_role_fd(WH_ROLE_NONE, 5, 0), -EINVAL, "create_role_refuses_role_none");
	wh_eq(wh_role_fd(WH_ROLE_CLIENT, 0, 0), -EINVAL, "create_role_refuses_identity_zero");
	wh_eq(wh_role_fd(WH_ROLE_CLIENT, 5, 2), -EINVAL, "create_role_refuses_unknown_flags");
	fd = next_role(5);
	wh_ok(fd >= 0, "create_role_returns_a_descriptor");
	wh_eq(next_role(6), -EBUSY, "one_role_at_a_time_waits_for_a_process");
	wh_eq(wh_role_fd(WH_ROLE_SERVER, 5, 0), -EEXIST, "identity_that_waits_is_in_use");
	vm = new_vm();
	vm2 = new_vm();
	wh_eq(role_of(5), WH_ROLE_CLIENT, "next_vm_of_process_gets_role");
	wh_eq(enable(vm2, WH_ROLE_CLIENT, 6, 0), 0, "role_is_consumed_by_one_vm");
	close(vm2);
	wh_eq(role_of(6), -ENOENT, "identity_is_gone_with_vm");

	wh_eq(next_role(5), -EEXIST, "create_role_refuses_identity_in_use");
	fd2 = next_role(7);
	wh_ok(fd2 >= 0, "second_descriptor_gives_second_role");
	/* Its own role is used; the other's must stay. */
	close(fd);
	vm2 = new_vm();
	wh_eq(role_of(7), WH_ROLE_CLIENT, "closing_one_descriptor_keeps_role_of_another");
	close(vm2);
	close(fd2);

	close(next_role(8));
	vm2 = new_vm();
	wh_eq(role_of(8), -ENOENT, "unused_role_is_dropped_with_its_descriptor");
	close(vm2);

	fd = wh_role_fd(WH_ROLE_CLIENT, 8, 0);
	vm2 = new_vm();
	wh_eq(role_of(8), -ENOENT, "role_that_is_to_be_shown_is_no_next_vms");
	close(fd);
	close(vm2);
	close(vm);
}

/* A role survives exec because the descriptor does; it stays with the process. */
static void test_role_of_other_process(void)
{
	int fd = next_role(9), vm, status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		vm = new_vm();
		_exit(role_of(9) == -ENOENT ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	wh_eq(status, 0, "role_is_not_for_other_process");
	vm = new_vm();
	wh_eq(role_of(9), WH_ROLE_CLIENT, "role_waits_for_its_process");
	close(vm);
	close(fd);
}

static int allow(u64 client, u64 server, u32 max, u32 flags, u32 pad)
{
	struct wh_host_allow a = {
		.client_id = client, .server_id = server, .max_pairs = max,
		.flags = flags, .pad = pad,
	};

	return err(ioctl(wh_host_fd(), WH_HOST_ALLOW, &a));
}

static int vm_op(unsigned long cmd, u64 id, u64 flags)
{
	struct wh_host_vm v = { .vm_id = id, .flags = flags };

	return err(ioctl(wh_host_fd(), cmd, &v));
}

static void test_control_device(void)
{
	struct wh_host_stat st;
	int fd = wh_host_fd();

	wh_eq(ioctl(fd, WH_HOST_VERSION), WH_ABI_VERSION, "device_reports_abi_version");
	wh_eq(err(ioctl(fd, _IO(KVMIO, 0xff))), -ENOTTY, "unknown_ioctl_is_enotty");
	wh_eq(err(ioctl(fd, WH_HOST_ALLOW, 8)), -EFAULT, "bad_pointer_is_efault");
	wh_eq(allow(0, 1, 1, 0, 0), -EINVAL, "allow_refuses_client_zero");
	wh_eq(allow(2, 0, 1, 0, 0), -EINVAL, "allow_refuses_server_zero");
	wh_eq(allow(2, 2, 1, 0, 0), -EINVAL, "allow_refuses_client_as_its_server");
	wh_eq(allow(2, 1, 0, 0, 0), -EINVAL, "allow_refuses_quota_0");
	wh_eq(allow(2, 1, 512, 0, 0), -EINVAL, "allow_refuses_quota_512");
	wh_eq(allow(2, 1, 1, 4, 0), -EINVAL, "allow_refuses_unknown_flags");
	wh_eq(allow(2, 1, 1, 0, 1), -EINVAL, "allow_refuses_padding");
	wh_eq(allow(2, 1, 511, 0, 0), 0, "allow_takes_quota_511_before_vms_exist");
	wh_eq(allow(2, 1, 1, 0, 0), 0, "allow_is_replaced_by_another");
	wh_eq(vm_op(WH_HOST_DENY, 2, 1), -EINVAL, "deny_refuses_flags");
	wh_eq(vm_op(WH_HOST_DENY, 2, 0), 0, "deny_takes_allow_back");
	wh_eq(vm_op(WH_HOST_DENY, 2, 0), -ENOENT, "second_deny_is_enoent");
	wh_eq(vm_op(WH_HOST_KILL, NO_VM, 0), -ENOENT, "kill_of_unknown_vm_is_enoent");
	wh_eq(vm_op(WH_HOST_KILL, 2, 1), -EINVAL, "kill_refuses_flags");
	wh_eq(wh_stat(NO_VM, &st), -ENOENT, "stat_of_unknown_vm_is_enoent");
}

/* --- Authority ------------------------------------------------------------------ */

/* What the host can ask for; 1 and 2 are the living VMs, 4 is a client that nobody has. */
static struct wh_host_role new_role = { .vm_id = 4, .role = WH_ROLE_CLIENT };
static struct wh_host_allow new_allow = { .client_id = 4, .server_id = 1, .max_pairs = 1 };
static struct wh_host_vm living = { .vm_id = 2 };
static struct wh_host_stat look = { .vm_id = 2 };

static const struct {
	unsigned long cmd;
	void *arg;
} asks[] = {
	{ WH_HOST_VERSION, NULL }, { WH_HOST_CREATE_ROLE, &new_role },
	{ WH_HOST_ALLOW, &new_allow }, { WH_HOST_DENY, &living },
	{ WH_HOST_STAT, &look }, { WH_HOST_KILL, &living },
};

/* How many of these are answered by @want. */
static int answers(int fd, int want)
{
	size_t i;
	int n = 0;

	for (i = 0; i < WH_ARRAY_SIZE(asks); i++)
		n += err(ioctl(fd, asks[i].cmd, asks[i].arg)) == want;
	return n;
}

static void become_nobody(void)
{
	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		_exit(201);
}

/* Root of a user namespace of its own has CAP_SYS_ADMIN there, not here. */
static void become_root_of_a_namespace(void)
{
	if (unshare(CLONE_NEWUSER))
		_exit(errno == EINVAL ? 202 : 201);
}

static int in_child(void (*become)(void), int (*fn)(int fd), int fd)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (become)
			become();
		_exit(fn(fd));
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

static int all_eperm(int fd)
{
	return answers(fd, -EPERM);
}

static int all_enotty(int fd)
{
	return answers(fd, -ENOTTY);
}

/* A VM that the process makes with what it has inherited, and no privilege. */
static int gives_its_vm(int fd)
{
	return -enable_with(new_vm(), WH_ROLE_CLIENT, 3, 0, fd);
}

static void test_authority(void)
{
	int server = new_vm(), client = new_vm(), role, n;

	enable(server, WH_ROLE_SERVER, 1, 0);
	enable(client, WH_ROLE_CLIENT, 2, 0);
	wh_eq(in_child(become_nobody, all_eperm, wh_host_fd()), WH_ARRAY_SIZE(asks),
	      "inherited_control_device_lets_nobody_ask_for_anything");
	n = in_child(become_root_of_a_namespace, all_eperm, wh_host_fd());
	if (n == 202)
		wh_skip("nor_root_of_another_user_namespace", "no user namespaces");
	else
		wh_eq(n, WH_ARRAY_SIZE(asks), "nor_root_of_another_user_namespace");
	wh_eq(vm_op(WH_HOST_DENY, 4, 0), -ENOENT, "and_nothing_is_allowed_by_it");

	role = wh_role_fd(WH_ROLE_CLIENT, 3, 0);
	wh_eq(in_child(NULL, all_enotty, role), WH_ARRAY_SIZE(asks),
	      "role_descriptor_controls_nothing_even_for_root");
	wh_eq(in_child(become_nobody, gives_its_vm, role), 0,
	      "role_descriptor_gives_nobodys_vm_its_role");
	close(role);
	close(client);
	close(server);
}

int main(void)
{
	wh_require_feature();
	wh_plan(60);
	wh_watchdog(30);
	kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	test_capability();
	test_vm_types();
	test_features();
	test_create_role();
	test_role_of_other_process();
	test_control_device();
	test_authority();
	return wh_exit();
}
