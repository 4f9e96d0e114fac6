// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole xml server` and `wormhole xml client`: print the libvirt domain of a VM that
 * equals one of `wormhole server start` or `client start`. Two elements of its metadata
 * hold what Wormhole needs: the VM's role and identity, and the limits of a tenant. The
 * emulator and the hook of packaging/libvirt/ use them. The commands only print; they
 * change nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenant/channel.h"
#include "tenant/spec.h"
#include "vm.h"
#include "window.h"

/* libvirt makes a window's file by name, in the folder of POSIX shared memory. */
#define SHARED		"/dev/shm/"
#define EMULATOR	"/usr/lib/wormhole/libvirt/emulator"
#define NAMESPACE	"https://wormhole.invalid/libvirt/"

enum { MEM, SM, SM_MAX, PRIORITY, LIMITS };

/* Attributes of the tenant's element, which options and limits' own text have, too. */
static const char *const limit_names[LIMITS] = { "mem", "sm", "sm-max", "priority" };

struct xml_args {
	struct vm_args vm;
	const char *uuid, *emulator;
	const char *limit[LIMITS];	/* as limit_names[]; NULL: not said */
	uint64_t server, window, max_pairs;
};

enum { KEY_UUID = KEY_OF_XML, KEY_EMULATOR, KEY_SERVER, KEY_SERVER_WINDOW, KEY_MAX_PAIRS,
       KEY_DISK, KEY_TENANT };	/* KEY_TENANT + i: limit_names[i] */

/* --- Text ----------------------------------------------------------------------------- */

static void print_text(const char *s)
{
	for (; *s; s++) {
		switch (*s) {
		case '<': fputs("&lt;", stdout); break;
		case '&': fputs("&amp;", stdout); break;
		case '\'': fputs("&apos;", stdout); break;
		default: putchar(*s);
		}
	}
}

/* Prints a line that contains a word of the user's. */
static void print_line(const char *before, const char *word, const char *after)
{
	fputs(before, stdout);
	print_text(word);
	puts(after);
}

static void print_file(const char *before, const struct vm_args *a, const char *given,
		       const char *name, const char *after)
{
	char *path = NULL;

	if (asprintf(&path, "%s/%s", a->image ? a->image : "", name) < 0)
		wh_no_memory();
	print_line(before, given ? given : path, after);
	free(path);
}

/* --- Parts of a domain ------------------------------------------------------------------ */

static bool has_limits(const struct xml_args *x)
{
	int i;

	for (i = 0; i < LIMITS; i++)
		if (x->limit[i])
			return true;
	return false;
}

static void print_metadata(const struct xml_args *x)
{
	const struct wh_vm *vm = &x->vm.vm;
	int i;

	puts("  <metadata>");
	printf("    <wormhole-vm:vm xmlns:wormhole-vm='" NAMESPACE "vm/1' role='%s' id='%" PRIu64 "'",
	       wh_name_role(vm->role), vm->id);
	if (x->server)
		printf(" server='%" PRIu64 "' window='%" PRIu64 "' max-pairs='%" PRIu64 "'",
		       x->server, x->window, x->max_pairs);
	puts("/>");
	if (has_limits(x)) {
		printf("    <wormhole:tenant xmlns:wormhole='" NAMESPACE "tenant/1'");
		for (i = 0; i < LIMITS; i++)
			if (x->limit[i])
				printf(" %s='%s'", limit_names[i], x->limit[i]);
		puts("/>");
	}
	puts("  </metadata>");
}

/*
 * Returns true if the image has a root disk. It is read-only, and the kernel needs no
 * initramfs then.
 */
static bool has_root(const struct vm_args *a)
{
	bool there;
	char *path;

	if (!a->image || a->initrd)
		return false;
	if (asprintf(&path, "%s/root.img", a->image) < 0)
		wh_no_memory();
	there = !access(path, F_OK);
	free(path);
	return there;
}

static void print_boot(const struct vm_args *a)
{
	char *words;

	puts("  <os>\n    <type arch='x86_64' machine='q35'>hvm</type>");
	if (a->image || a->kernel) {
		print_file("    <kernel>", a, a->kernel, "bzImage", "</kernel>");
		if (a->initrd || (a->image && !has_root(a)))
			print_file("    <initrd>", a, a->initrd, "initramfs", "</initrd>");
		words = wh_vm_kernel_arguments(a);
		print_line("    <cmdline>", words, "</cmdline>");
		free(words);
	}
	puts("  </os>");
}

static void print_disk(const char *file, const char *format, const char *target, bool readonly)
{
	printf("    <disk type='file' device='disk'>\n      <driver name='qemu' type='%s'/>\n", format);
	print_line("      <source file='", file, "'/>");
	printf("      <target dev='%s' bus='virtio'/>\n", target);
	if (readonly)
		puts("      <readonly/>");
	puts("    </disk>");
}

static void print_disks(const struct vm_args *a)
{
	size_t n = a->disk ? strlen(a->disk) : 0;
	bool root = has_root(a);
	char *path;

	if (root) {
		if (asprintf(&path, "%s/root.img", a->image) < 0)
			wh_no_memory();
		print_disk(path, "raw", "vda", true);
		free(path);
	}
	if (a->disk)
		print_disk(a->disk, n > 6 && !strcmp(a->disk + n - 6, ".qcow2") ? "qcow2" : "raw",
			   root ? "vdb" : "vda", false);
}

/* Parses the window. Returns -1 after a message. */
static int read_window(const char *spec, char name[64], uint64_t *size)
{
	const char *comma = strrchr(spec, ',');
	int len = comma ? (int)(comma - spec) : 0, skip = sizeof(SHARED) - 1;

	if (!comma || strncmp(spec, SHARED, skip) || len <= skip || len - skip >= 64 ||
	    memchr(spec + skip, '/', len - skip)) {
		wh_error("window '%s': libvirt's are files in " SHARED ": give " SHARED "NAME,SIZE", spec);
		return -1;
	}
	if (wh_parse_size(comma + 1, size) || *size < WH_MIN_WINDOW_SIZE || (*size & (*size - 1))) {
		wh_error("window '%s': '%s' is not a power of two from 2M", spec, comma + 1);
		return -1;
	}
	snprintf(name, 64, "%.*s", len - skip, spec + skip);
	return 0;
}

static void print_window(const char *spec, int index)
{
	uint64_t size = 0;
	char name[64] = "";

	read_window(spec, name, &size);
	print_line("    <shmem name='", name, "'>");
	printf("      <model type='ivshmem-plain'/>\n"
	       "      <size unit='bytes'>%" PRIu64 "</size>\n"
	       "      <address type='pci' domain='0x0000' bus='0x00' slot='0x%02x' function='0x0'/>\n"
	       "    </shmem>\n", size, FIRST_SLOT + index);
}

static void print_gpu(const char *address)
{
	unsigned int domain, bus, slot, function;

	if (sscanf(address, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
		return;
	printf("    <hostdev mode='subsystem' type='pci' managed='yes'>\n"
	       "      <driver name='vfio'/>\n"
	       "      <source>\n"
	       "        <address domain='0x%04x' bus='0x%02x' slot='0x%02x' function='0x%x'/>\n"
	       "      </source>\n"
	       "    </hostdev>\n", domain, bus, slot, function);
}

/* The channel changes limits in a server VM. */
static void print_channel(const struct wh_vm *vm)
{
	char path[64];

	if (vm->role != WH_ROLE_SERVER)
		return;
	wh_registry_channel(vm->id, path, sizeof(path));
	printf("    <channel type='unix'>\n"
	       "      <source mode='bind' path='%s'/>\n"
	       "      <target type='virtio' name='" WH_CHANNEL_PORT "'/>\n"
	       "    </channel>\n", path);
}

static void print_devices(const struct xml_args *x)
{
	const struct vm_args *a = &x->vm;
	int i;

	puts("  <devices>");
	print_line("    <emulator>", x->emulator, "</emulator>");
	print_disks(a);
	puts("    <controller type='usb' model='none'/>");
	for (i = 0; i < a->nwindows; i++)
		print_window(a->windows[i], i);
	for (i = 0; i < a->gpus.n; i++)
		print_gpu(a->gpus.address[i]);
	print_channel(&a->vm);
	puts("    <serial type='pty'>\n      <target port='0'/>\n    </serial>\n"
	     "    <memballoon model='none'/>\n  </devices>");
}

/*
 * Only root may open the control device, so QEMU starts as root; the emulator drops its
 * capabilities. The memory that a server's workers pin counts against the amount that QEMU
 * may lock.
 */
static void print_domain(const struct xml_args *x)
{
	const struct vm_args *a = &x->vm;

	puts("<domain type='kvm'>");
	print_line("  <name>", a->vm.name, "</name>");
	if (x->uuid)
		print_line("  <uuid>", x->uuid, "</uuid>");
	print_metadata(x);
	printf("  <memory unit='MiB'>%" PRIu64 "</memory>\n", a->memory_mb);
	if (a->vm.role == WH_ROLE_SERVER)
		puts("  <memoryBacking>\n    <nosharepages/>\n    <locked/>\n  </memoryBacking>");
	printf("  <vcpu>%u</vcpu>\n", a->cpus);
	print_boot(a);
	puts("  <features>\n    <acpi/>\n    <apic/>\n  </features>\n"
	     "  <cpu mode='host-passthrough'/>\n"
	     "  <on_reboot>destroy</on_reboot>");
	print_devices(x);
	puts("  <seclabel type='static' model='dac' relabel='yes'>\n"
	     "    <label>+0:+0</label>\n  </seclabel>\n</domain>");
}

/* --- Arguments ---------------------------------------------------------------------------- */

#define XML_OPTIONS \
	{ "uuid", KEY_UUID, "UUID", 0, "the domain's (default: libvirt makes one)", 0 }, \
	{ "disk", KEY_DISK, "FILE", 0, "disk, raw or .qcow2; without --image and --kernel the VM boots from it", 0 }, \
	{ "emulator", KEY_EMULATOR, "FILE", 0, "what gives the VM its role and becomes QEMU (default " EMULATOR ")", 0 }

static const struct argp_option server_options[] = {
	VM_OPTIONS, XML_OPTIONS, VM_GPU_OPTION, VM_LIMIT_OPTION, { 0 }
};

static const struct argp_option client_options[] = {
	VM_OPTIONS, XML_OPTIONS,
	{ "server", KEY_SERVER, "ID", 0, "the server VM that it may attach to", 0 },
	{ "server-window", KEY_SERVER_WINDOW, "N", 0, "which of that server's windows it has (default 0)", 0 },
	{ "max-pairs", KEY_MAX_PAIRS, "N", 0, "client processes attached at a time, 1 to 511 (default 8)", 0 },
	{ "mem", KEY_TENANT + MEM, "SIZE", 0, "device memory that it gets, such as 2G", 0 },
	{ "sm", KEY_TENANT + SM, "PERCENT", 0, "share of the device's multiprocessors that it gets", 0 },
	{ "sm-max", KEY_TENANT + SM_MAX, "PERCENT", 0, "the most of the device's time, as `wormhole limit' has it; with --sm", 0 },
	{ "priority", KEY_TENANT + PRIORITY, "CLASS", 0, "low, normal (default) or high; with --sm", 0 },
	{ 0 }
};

static void check_tenant(const struct xml_args *x, struct argp_state *state)
{
	struct wh_limit_list l = { .n = 0 };
	char *text, err[300];
	int i;

	if (has_limits(x) && !x->server)
		wh_usage_error(state, "limits (--mem, --sm ...): of which server? give --server");
	if ((x->limit[SM_MAX] || x->limit[PRIORITY]) && !x->limit[SM])
		wh_usage_error(state, "--sm-max and --priority are those of a share of time: give --sm");
	for (i = 0; i < LIMITS; i++) {
		if (!x->limit[i])
			continue;
		/* A comma would begin another limit. */
		if (strchr(x->limit[i], ','))
			wh_usage_error(state, "--%s: '%s' is several values: give one", limit_names[i],
				       x->limit[i]);
		if (asprintf(&text, "0:%s=%s", limit_names[i], x->limit[i]) < 0)
			wh_no_memory();
		if (wh_limit_parse(&l, text, err, sizeof(err)))
			wh_usage_error(state, "%s", err);
		free(text);
	}
}

static void check_windows(const struct vm_args *a)
{
	uint64_t size;
	char name[64];
	int i;

	for (i = 0; i < a->nwindows; i++)
		if (read_window(a->windows[i], name, &size))
			exit(EXIT_USAGE);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct xml_args *x = state->input;
	error_t rc;

	switch (key) {
	case KEY_UUID: x->uuid = arg; break;
	case KEY_DISK: x->vm.disk = arg; break;
	case KEY_EMULATOR: x->emulator = arg; break;
	case KEY_TENANT + MEM:
	case KEY_TENANT + SM:
	case KEY_TENANT + SM_MAX:
	case KEY_TENANT + PRIORITY:
		x->limit[key - KEY_TENANT] = arg;
		break;
	case KEY_SERVER: x->server = wh_arg_u64(state, "--server", arg, 1, UINT64_MAX); break;
	case KEY_SERVER_WINDOW:
		x->window = wh_arg_u64(state, "--server-window", arg, 0, MAX_WINDOWS - 1);
		break;
	case KEY_MAX_PAIRS: x->max_pairs = wh_arg_u64(state, "--max-pairs", arg, 1, 511); break;
	case ARGP_KEY_SUCCESS:
		rc = wh_vm_option(key, arg, state, &x->vm);
		check_tenant(x, state);
		check_windows(&x->vm);
		return rc;
	case ARGP_KEY_ARGS:
		wh_usage_error(state, "'%s': of QEMU's own words libvirt knows none; `virsh edit' adds devices",
			   state->argv[state->next]);
		break;
	default: return wh_vm_option(key, arg, state, &x->vm);
	}
	return 0;
}

static int print(uint32_t role, const struct argp_option *options, const char *doc, int argc,
		 char **argv)
{
	struct xml_args x = { .vm.vm.role = role, .emulator = EMULATOR, .max_pairs = 8 };
	const struct argp argp = { options, parse, "NAME", doc, NULL, NULL, NULL };

	wh_parse(&argp, argc, argv, 0, &x);
	print_domain(&x);
	return EXIT_DONE;
}

static int xml_server(int argc, char **argv)
{
	return print(WH_ROLE_SERVER, server_options, "Print a server VM as a domain of libvirt.",
		     argc, argv);
}

static int xml_client(int argc, char **argv)
{
	return print(WH_ROLE_CLIENT, client_options, "Print a client VM as a domain of libvirt.",
		     argc, argv);
}

int cmd_xml(int argc, char **argv)
{
	static const struct command table[] = {
		{ "server", xml_server, "print a server VM" },
		{ "client", xml_client, "print a client VM" }, { NULL, NULL, NULL }
	};

	return wh_command_dispatch(table, argv[0], argc, argv);
}
