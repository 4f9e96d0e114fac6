// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host's interfaces: KVM_CAP_X86_WORMHOLE and /dev/kvm-wormhole. Roles are
 * given once, before the first vCPU, with an identity that is unique among
 * living VMs; every malformed request gets its errno and changes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "wormhole.h"

#define NO_VM	9999

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

static int enable(int vm, u64 role, u64 id, u32 flags)
{
	return enable_with(vm, role, id, flags, wh_host_fd());
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
	int vm = new_vm(), other = new_vm(), vcpu;

	wh_eq(ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_X86_WORMHOLE),
	      WH_ABI_VERSION, "capability_reports_abi_version");
	refused(WH_ROLE_NONE, 1, 0, -EINVAL, "role_none_is_refused");
	refused(3, 1, 0, -EINVAL, "unknown_role_is_refused");
	refused(WH_ROLE_CLIENT, 0, 0, -EINVAL, "identity_zero_is_refused");
	refused(WH_ROLE_CLIENT, 1, 1, -EINVAL, "unknown_flags_are_refused");
	wh_eq(enable_with(vm, WH_ROLE_SERVER, 1, 0, kvm), -EPERM,
	      "role_without_the_control_device_is_refused");
	wh_eq(enable_with(vm, WH_ROLE_SERVER, 1, 0, -1ULL), -EPERM,
	      "role_without_a_descriptor_is_refused");
	wh_eq(enable(vm, WH_ROLE_SERVER, 1, 0), 0, "server_role_is_given");
	wh_eq(enable(vm, WH_ROLE_SERVER, 1, 0), -EEXIST, "second_role_is_refused");
	wh_eq(enable(other, WH_ROLE_CLIENT, 1, 0), -EEXIST, "identity_in_use_is_refused");
	vcpu = ioctl(other, KVM_CREATE_VCPU, 0);
	wh_eq(enable(other, WH_ROLE_CLIENT, 2, 0), -EBUSY, "role_after_first_vcpu_is_refused");
	close(vcpu);
	close(vm);
	close(other);
	vm = new_vm();
	wh_eq(enable(vm, WH_ROLE_CLIENT, 1, 0), 0, "identity_is_free_after_vm_death");
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

static int set_role(int fd, u32 role, u64 id, u32 flags)
{
	struct wh_host_role r = { .vm_id = id, .role = role, .flags = flags };

	return err(ioctl(fd, WH_HOST_SET_ROLE, &r));
}

static int role_of(u64 id)
{
	struct wh_host_stat st;
	int ret = wh_stat(id, &st);

	return ret ? ret : (int)st.role;
}

static void test_set_role(void)
{
	int fd = open("/dev/kvm-wormhole", O_RDWR), fd2, vm, vm2;

	wh_eq(set_role(fd, WH_ROLE_NONE, 5, 0), -EINVAL, "set_role_refuses_role_none");
	wh_eq(set_role(fd, WH_ROLE_CLIENT, 0, 0), -EINVAL, "set_role_refuses_identity_zero");
	wh_eq(set_role(fd, WH_ROLE_CLIENT, 5, 1), -EINVAL, "set_role_refuses_flags");
	wh_eq(set_role(fd, WH_ROLE_CLIENT, 5, 0), 0, "set_role_succeeds");
	vm = new_vm();
	vm2 = new_vm();
	wh_eq(role_of(5), WH_ROLE_CLIENT, "next_vm_of_process_gets_role");
	wh_eq(enable(vm2, WH_ROLE_CLIENT, 6, 0), 0, "role_is_consumed_by_one_vm");
	close(vm2);
	wh_eq(role_of(6), -ENOENT, "identity_is_gone_with_vm");

	fd2 = open("/dev/kvm-wormhole", O_RDWR);
	wh_eq(set_role(fd2, WH_ROLE_CLIENT, 5, 0), -EEXIST, "set_role_refuses_identity_in_use");
	wh_eq(set_role(fd2, WH_ROLE_CLIENT, 7, 0), 0, "second_file_gives_second_role");
	/* Its own role is used; the other file's must stay. */
	close(fd);
	vm2 = new_vm();
	wh_eq(role_of(7), WH_ROLE_CLIENT, "closing_one_file_keeps_role_of_another");
	close(vm2);
	close(fd2);

	fd = open("/dev/kvm-wormhole", O_RDWR);
	set_role(fd, WH_ROLE_CLIENT, 8, 0);
	close(fd);
	vm2 = new_vm();
	wh_eq(role_of(8), -ENOENT, "unused_role_is_dropped_with_file");
	close(vm2);
	close(vm);
}

/* A role survives exec because the file does; it stays with the process. */
static void test_role_of_other_process(void)
{
	int fd = open("/dev/kvm-wormhole", O_RDWR), vm, status = -1;
	pid_t pid;

	set_role(fd, WH_ROLE_CLIENT, 9, 0);
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
	wh_eq(err(ioctl(fd, _IO(WH_IOC_MAGIC, 31))), -ENOTTY, "unknown_ioctl_is_enotty");
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

int main(void)
{
	wh_require_feature();
	wh_plan(46);
	wh_watchdog(30);
	kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	test_capability();
	test_features();
	test_set_role();
	test_role_of_other_process();
	test_control_device();
	return wh_exit();
}
