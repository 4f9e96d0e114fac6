// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole server start` and `wormhole client start`: write the command line of a stock
 * QEMU for a VM with windows, and become that QEMU through wh_run_exec(). A user could also
 * write the whole command line by hand; --dry-run prints it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu.h"
#include "tenant/channel.h"
#include "tenant/spec.h"
#include "vm.h"
#include "vm_ring.h"
#include "window.h"
#include "wormhole.h"

/* --- A growing argument vector ------------------------------------------------ */

struct words {
	char **v;
	int n;
};

__attribute__((format(printf, 2, 3)))
static void add(struct words *w, const char *fmt, ...)
{
	va_list ap;

	w->v = realloc(w->v, (w->n + 2) * sizeof(*w->v));
	va_start(ap, fmt);
	if (!w->v || vasprintf(&w->v[w->n], fmt, ap) < 0)
		wh_no_memory();
	va_end(ap);
	w->v[++w->n] = NULL;
}

static void add_pair(struct words *w, const char *option, const char *value)
{
	add(w, "%s", option);
	add(w, "%s", value);
}

/* Prints a word in the form that a shell reads back unchanged. */
static void print_quoted(const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=,./:@%";

	if (*s && s[strspn(s, plain)] == 0) {
		fputs(s, stdout);
		return;
	}
	putchar('\'');
	for (; *s; s++) {
		if (*s == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*s);
	}
	putchar('\'');
}

/* --- Windows -------------------------------------------------------------------- */

/* Finds the size of the window's file. An empty or missing file gets the size @want. */
static int file_size(const char *path, uint64_t want, uint64_t *size)
{
	struct stat st = { 0 };

	if (stat(path, &st) && errno != ENOENT) {
		wh_error("window '%s': %s", path, strerror(errno));
		return -1;
	}
	*size = st.st_size ? (uint64_t)st.st_size : want;
	if (!want || want == *size)
		return 0;
	wh_error("window '%s' has %" PRIu64 " bytes, not %" PRIu64 "; remove the file or its size",
		 path, *size, want);
	return -1;
}

/* The size must suit a PCI BAR and the module of the server VM. */
static int check_size(const char *path, uint64_t size)
{
	if (size >= WH_MIN_WINDOW_SIZE && !(size & (size - 1)))
		return 0;
	wh_error("window '%s' has %" PRIu64 " bytes; it must be a power of two from 2M: give FILE,SIZE",
		 path, size);
	return -1;
}

/* Makes the file if it does not exist. */
static int make_file(const char *path, uint64_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct stat st;
	int rc = 0;

	if (fd < 0 || fstat(fd, &st)) {
		wh_error("window '%s': %s", path, strerror(errno));
		rc = -1;
	} else if (!st.st_size && ftruncate(fd, size)) {
		wh_error("window '%s': cannot make it %" PRIu64 " bytes: %s", path, size,
			 strerror(errno));
		rc = -1;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Adds a window, "FILE" or "FILE,SIZE": a shared file that the guest sees as a device's memory. */
static int add_window(struct words *w, const char *spec, int index, bool dry_run)
{
	const char *comma = strrchr(spec, ',');
	int len = comma ? (int)(comma - spec) : (int)strlen(spec);
	uint64_t want = 0, size;
	char *path;
	int rc = 0;

	if (comma && wh_parse_size(comma + 1, &want)) {
		wh_error("window '%s': %s", spec, wh_limit_bytes_why(comma + 1));
		return -1;
	}
	if (asprintf(&path, "%.*s", len, spec) < 0)
		wh_no_memory();
	size = want;
	/*
	 * If the size is given, a dry run may be for another machine, so the file is not
	 * looked at.
	 */
	if (!dry_run || !want)
		rc = file_size(path, want, &size);
	/* A wrong size is reported before a file with that size is made. */
	if (!rc)
		rc = check_size(path, size);
	if (!rc && !dry_run)
		rc = make_file(path, size);
	if (!rc) {
		add(w, "-object");
		add(w, "memory-backend-file,id=window%d,mem-path=%s,size=%" PRIu64 ",share=on",
		    index, path, size);
		add(w, "-device");
		add(w, "ivshmem-plain,memdev=window%d,bus=pcie.0,addr=%#x", index,
		    FIRST_SLOT + index);
	}
	free(path);
	return rc;
}

/* --- The guest's kernel command line -------------------------------------------- */

static char *read_line(const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	if (!f)
		return NULL;
	n = getline(&line, &size, f);
	fclose(f);
	if (n > 0 && line[n - 1] == '\n')
		line[n - 1] = 0;
	return n > 0 ? line : NULL;
}

/*
 * Returns the image's own command line, with 1-N changed to 1-(last CPU), and then the
 * user's words.
 */
char *wh_vm_kernel_arguments(const struct vm_args *a)
{
	char *path = NULL, *line = NULL, *p, *hit;
	struct wh_text out;
	FILE *f = wh_text_begin(&out);
	int i;

	if (a->image && asprintf(&path, "%s/cmdline", a->image) < 0)
		wh_no_memory();
	if (path)
		line = read_line(path);
	p = line ? line : "console=ttyS0 quiet";
	for (; (hit = strstr(p, "1-N")); p = hit + 3)
		fprintf(f, "%.*s1-%u", (int)(hit - p), p, a->cpus - 1);
	fputs(p, f);
	for (i = 0; i < a->nlimits; i++)
		fprintf(f, " wormhole.limit=%s", a->limits[i]);
	if (a->append)
		fprintf(f, " %s", a->append);
	free(line);
	free(path);
	return wh_text_end(f, &out);
}

/* --- The command line ------------------------------------------------------------- */

/*
 * Pages that the host has merged cannot come into a view: a call that reads one would be
 * handed off each time.
 */
static void add_machine(struct words *w, const struct vm_args *a)
{
	const char *type = strcmp(a->machine, "microvm") ?
		"q35" : "microvm,isa-serial=on,rtc=on,pcie=on,acpi=on";

	add(w, "-machine");
	add(w, "%s,accel=%s%s", type, a->accel ? a->accel : a->ring ? "kvm:tcg" : "kvm",
	    a->vm.role == WH_ROLE_SERVER ? ",mem-merge=off" : "");
	/* Without KVM this is all that QEMU can emulate, and with it the host's. */
	add_pair(w, "-cpu", a->ring ? "max" : "host");
	add(w, "-smp");
	add(w, "%u", a->cpus);
	add(w, "-m");
	add(w, "%" PRIu64, a->memory_mb);
}

/* Adds the image's root as a read-only disk. The VM's kernel needs no initramfs then. */
static bool add_root(struct words *w, const struct vm_args *a)
{
	char *path;
	bool there;

	if (!a->image || a->initrd)
		return false;
	if (asprintf(&path, "%s/root.img", a->image) < 0)
		wh_no_memory();
	there = !access(path, F_OK);
	if (there) {
		add(w, "-drive");
		add(w, "if=none,id=root,format=raw,readonly=on,file=%s", path);
		add_pair(w, "-device", "virtio-blk-pci,drive=root,bus=pcie.0,addr=0x4");
	}
	free(path);
	return there;
}

/* Adds a file of the image, or the file that is given instead. */
static int add_file(struct words *w, const struct vm_args *a, const char *given, const char *name)
{
	if (given)
		add(w, "%s", given);
	else
		add(w, "%s/%s", a->image, name);
	if (a->dry_run || !access(w->v[w->n - 1], R_OK))
		return 0;
	wh_error("'%s': %s: --image names a folder with bzImage, and initramfs or root.img",
		 w->v[w->n - 1], strerror(errno));
	return -1;
}

static int add_boot(struct words *w, const struct vm_args *a)
{
	char *append;

	add(w, "-kernel");
	if (add_file(w, a, a->kernel, "bzImage"))
		return -1;
	if (!add_root(w, a)) {
		add(w, "-initrd");
		if (add_file(w, a, a->initrd, "initramfs"))
			return -1;
	}
	append = wh_vm_kernel_arguments(a);
	add_pair(w, "-append", append);
	free(append);
	return 0;
}

/*
 * Adds the socket by which the host talks to the supervisor. Only root can use it, since
 * its folder is root's.
 */
static void add_channel(struct words *w, const struct vm_args *a)
{
	char path[64];

	wh_registry_channel(a->vm.id, path, sizeof(path));
	add(w, "-device");
	add(w, "virtio-serial-pci,id=wormhole-ports,max_ports=2,bus=pcie.0,addr=0x5");
	add(w, "-chardev");
	add(w, "socket,id=wormhole-control,path=%s,server=on,wait=off", path);
	add_pair(w, "-device", "virtserialport,bus=wormhole-ports.0,chardev=wormhole-control,name="
		 WH_CHANNEL_PORT);
}

static void add_ring(struct words *w)
{
	char **word, **words = wh_vm_ring_words();

	for (word = words; *word; word++)
		add(w, "%s", *word);
	free(words);
}

static int build(struct words *w, const struct vm_args *a)
{
	int i;

	add_pair(w, a->qemu, "-name");
	add(w, "%s,debug-threads=on", a->vm.name);
	add(w, "-nodefaults");
	add(w, "-no-user-config");
	add_pair(w, "-display", "none");
	add(w, "-no-reboot");
	add_machine(w, a);
	add(w, "-serial");
	if (!strcmp(a->console, "stdio"))
		add(w, "stdio");
	else
		add(w, "file:%s", a->console);
	if (add_boot(w, a))
		return EXIT_FAILED;
	for (i = 0; i < a->nwindows; i++)
		if (add_window(w, a->windows[i], i, a->dry_run))
			return EXIT_FAILED;
	if (a->vm.role == WH_ROLE_SERVER)
		add_channel(w, a);
	if (a->ring)
		add_ring(w);
	for (i = 0; i < a->gpus.n; i++) {
		add(w, "-device");
		add(w, "vfio-pci,host=%s", a->gpus.address[i]);
	}
	for (i = 0; i < a->nextra; i++)
		add(w, "%s", a->extra[i]);
	return EXIT_DONE;
}

static void print(const struct words *w, const struct vm_args *a)
{
	int i;

	printf("wormhole run --role %s --id %" PRIu64 " --name ", wh_name_role(a->vm.role),
	       a->vm.id);
	print_quoted(a->vm.name);
	fputs(" --", stdout);
	for (i = 0; i < w->n; i++) {
		putchar(' ');
		print_quoted(w->v[i]);
	}
	putchar('\n');
}

static int check_qemu(const char *qemu)
{
	char *file = wh_run_find(qemu);

	if (!file) {
		wh_error("there is no program '%s': install qemu-system-x86, or name one by --qemu",
			 qemu);
		return -1;
	}
	free(file);
	return 0;
}

/* Makes the path absolute, so that it is right in any folder. */
static char *console_file(const char *console)
{
	char *path = NULL, *here;

	if (!strcmp(console, "stdio"))
		return NULL;
	if (*console == '/')
		return wh_must(strdup(console));
	here = wh_must(getcwd(NULL, 0));
	if (asprintf(&path, "%s/%s", here, console) < 0)
		wh_no_memory();
	free(here);
	return path;
}

/* Such a VM has no role: it is a tenant of the server of programs. */
static int start_ring(const struct vm_args *a)
{
	struct words w = { 0 };

	if (check_qemu(a->qemu) || wh_vm_ring_make(&a->ring_args) || build(&w, a))
		return EXIT_FAILED;
	return wh_vm_ring_run(w.v);
}

static int start(const struct vm_args *a)
{
	struct words w = { 0 };
	struct wh_vm vm = a->vm;
	int rc = build(&w, a);

	if (rc)
		return rc;
	if (a->dry_run) {
		/*
		 * The command line may be meant for another machine, so an error here is
		 * not fatal.
		 */
		wh_gpus_prepare(&a->gpus, a->rebind, true);
		print(&w, a);
		return EXIT_DONE;
	}
	/* Everything that can be refused is checked before the host loses a GPU. */
	if (check_qemu(a->qemu) || wh_run_role(&a->vm))
		return EXIT_FAILED;
	if (wh_gpus_prepare(&a->gpus, a->rebind, false))
		return EXIT_FAILED;
	vm.console = console_file(a->console);
	return wh_run_exec(&vm, w.v);
}

/* --- Arguments ---------------------------------------------------------------------- */

#define START_OPTIONS \
	{ "console", KEY_CONSOLE, "FILE", 0, "where the serial console goes (default stdio)", 0 }, \
	{ "machine", KEY_MACHINE, "TYPE", 0, "q35 or microvm (default q35)", 0 }, \
	{ "qemu", KEY_QEMU, "FILE", 0, "QEMU to run (default qemu-system-x86_64)", 0 }, \
	{ "dry-run", KEY_DRY_RUN, NULL, 0, "print the command in place of running it", 0 }

static const struct argp_option server_options[] = {
	VM_OPTIONS, START_OPTIONS, VM_GPU_OPTION, VM_LIMIT_OPTION,
	{ "rebind", KEY_REBIND, NULL, 0, "take the GPUs' cards from the host's drivers, if one has them", 0 },
	{ 0 }
};

static const struct argp_option client_options[] = {
	VM_OPTIONS, START_OPTIONS,
	{ NULL, 0, NULL, 0, "On a host without the series:", 1 },
	{ "ring", KEY_RING, NULL, 0, "the VM's programs are served by `wormhole serve' of this host, over the transport ring; the VM needs no --id and no --window then", 1 },
	{ "accel", KEY_ACCEL, "NAME", 0, "QEMU's accelerator (default kvm:tcg)", 1 },
	{ 0 }
};

static void add_window_arg(struct vm_args *a, char *arg, struct argp_state *state)
{
	if (a->nwindows == MAX_WINDOWS)
		wh_usage_error(state, "--window: at most %d", MAX_WINDOWS);
	a->windows[a->nwindows++] = arg;
}

/* Limits are checked here: otherwise a mistake would be found only in a VM that does not serve. */
static void add_limit_arg(struct vm_args *a, char *arg, struct argp_state *state)
{
	struct wh_limit_list l = { .n = 0 };
	char err[300];

	if (a->nlimits == MAX_WINDOWS)
		wh_usage_error(state, "--limit: at most %d", MAX_WINDOWS);
	if (!strchr(arg, ':') || strpbrk(arg, " \t\n\""))
		wh_usage_error(state, "--limit: '%s' is not WINDOW:mem=SIZE,sm=PERCENT,policy=POLICY (or with sm-max=, priority=)", arg);
	if (wh_limit_parse(&l, arg, err, sizeof(err)))
		wh_usage_error(state, "--limit: %s", err);
	a->limits[a->nlimits++] = arg;
}

static void check_limits(const struct vm_args *a, struct argp_state *state)
{
	int i;

	for (i = 0; i < a->nlimits; i++)
		if (atoi(a->limits[i]) >= a->nwindows)
			wh_usage_error(state, "--limit: '%s': there is no such --window, they count from 0",
				   a->limits[i]);
}

static void add_gpu_arg(struct vm_args *a, const char *arg, struct argp_state *state)
{
	char *address = a->gpus.address[a->gpus.n];
	int i;

	if (a->gpus.n == WH_GPUS)
		wh_usage_error(state, "--gpu: at most %d", WH_GPUS);
	if (wh_gpu_address(arg, address))
		wh_usage_error(state, "--gpu: '%s' is not a PCI address such as 0000:65:00.0", arg);
	for (i = 0; i < a->gpus.n; i++)
		if (!strcmp(a->gpus.address[i], address))
			wh_usage_error(state, "--gpu: %s is given twice", address);
	a->gpus.n++;
}

/* Without a number and a window a VM has nothing of the series, and can do without it. */
static void choose_ring(struct vm_args *a)
{
	int fd = -1;

	if (!a->starts || a->ring || a->vm.role != WH_ROLE_CLIENT || a->vm.id || a->nwindows ||
	    a->dry_run)
		return;
	fd = wh_control_open();
	if (fd >= 0)
		close(fd);
	a->ring = fd == -ENOENT;
	if (a->ring)
		wh_info("this host has no kernel series: the VM's programs are served over the "
			"transport ring");
}

/* What a VM over the transport ring has, and others have not. */
static void check_ring(const struct vm_args *a, struct argp_state *state)
{
	if (!a->ring && (a->ring_args.said || a->ring_args.dir || a->accel))
		wh_usage_error(state, "--tenant, --dir, --programs, --part-size and --accel belong to --ring");
	if (a->ring && (a->vm.id || a->nwindows))
		wh_usage_error(state, "--ring: such a VM has neither --id nor --window");
	if (a->ring && a->dry_run)
		wh_usage_error(state, "--ring and --dry-run: QEMU alone would have no ports, which this command "
			       "makes");
	if (!a->ring && !a->vm.id)
		wh_usage_error(state, "--id is needed%s", a->starts && a->vm.role == WH_ROLE_CLIENT ?
			       ", or --ring on a host without the series" : "");
	if (!a->ring && !a->nwindows)
		wh_usage_error(state, "at least one --window is needed");
}

static void check_args(struct vm_args *a, struct argp_state *state)
{
	bool server = a->vm.role == WH_ROLE_SERVER;

	if (!a->vm.name[0])
		wh_usage_error(state, "name the VM");
	choose_ring(a);
	check_ring(a, state);
	check_limits(a, state);
	if (!a->disk && !a->image && (!a->kernel || !a->initrd))
		wh_usage_error(state, "--image, or --kernel and --initrd, are needed");
	if (a->rebind && !a->gpus.n)
		wh_usage_error(state, "--rebind: of which GPU? give --gpu");
	if (!a->cpus)
		a->cpus = server ? 2 : 1;
	if (!a->memory_mb)
		a->memory_mb = a->gpus.n ? 8192 : 512;
	if (server && a->cpus < 2)
		wh_usage_error(state, "--cpus: a server needs at least 2, one of them for a worker");
}

error_t wh_vm_option(int key, char *arg, struct argp_state *state, struct vm_args *a)
{
	switch (key) {
	case 'i': a->vm.id = wh_arg_u64(state, "--id", arg, 1, UINT64_MAX); break;
	case 'm': a->memory_mb = wh_arg_u64(state, "--memory", arg, 32, 1 << 24); break;
	case 'c': a->cpus = wh_arg_u64(state, "--cpus", arg, 1, 255); break;
	case 'w': add_window_arg(a, arg, state); break;
	case KEY_IMAGE: a->image = arg; break;
	case KEY_KERNEL: a->kernel = arg; break;
	case KEY_INITRD: a->initrd = arg; break;
	case KEY_APPEND: a->append = arg; break;
	case KEY_CONSOLE: a->console = arg; break;
	case KEY_GPU: add_gpu_arg(a, arg, state); break;
	case KEY_REBIND: a->rebind = true; break;
	case KEY_LIMIT: add_limit_arg(a, arg, state); break;
	case KEY_QEMU: a->qemu = arg; break;
	case KEY_DRY_RUN: a->dry_run = true; break;
	case KEY_RING: a->ring = true; break;
	case KEY_ACCEL: a->accel = arg; break;
	case KEY_MACHINE:
		if (strcmp(arg, "q35") && strcmp(arg, "microvm"))
			wh_usage_error(state, "--machine: '%s' is neither q35 nor microvm", arg);
		a->machine = arg;
		break;
	case ARGP_KEY_ARG:
		/* The first word is the name; the words after it go to QEMU. */
		if (state->arg_num)
			return ARGP_ERR_UNKNOWN;
		snprintf(a->vm.name, sizeof(a->vm.name), "%s", arg);
		break;
	case ARGP_KEY_ARGS:
		a->extra = state->argv + state->next;
		a->nextra = state->argc - state->next;
		break;
	case ARGP_KEY_SUCCESS: check_args(a, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return wh_vm_option(key, arg, state, state->input);
}

static error_t parse_client(int key, char *arg, struct argp_state *state)
{
	struct vm_args *a = state->input;

	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = &a->ring_args;
		state->child_inputs[1] = &a->ring_args.dir;
	}
	return parse(key, arg, state);
}

static const struct argp server_argp = {
	server_options, parse, "NAME [QEMU-ARGUMENT...]",
	"Start a server VM under stock QEMU, in the foreground.", NULL, NULL, NULL
};

static const struct argp client_argp = {
	client_options, parse_client, "NAME [QEMU-ARGUMENT...]",
	"Start a client VM under stock QEMU, in the foreground.", wh_ring_options, NULL, NULL
};

static int start_vm(uint32_t role, const struct argp *argp, int argc, char **argv)
{
	struct vm_args a = {
		.vm.role = role, .console = "stdio",
		.machine = "q35", .qemu = "qemu-system-x86_64",
		.ring_args = WH_VM_RING, .starts = true,
	};

	wh_parse(argp, argc, argv, 0, &a);
	return a.ring ? start_ring(&a) : start(&a);
}

int wh_server_start(int argc, char **argv)
{
	return start_vm(WH_ROLE_SERVER, &server_argp, argc, argv);
}

static int client_start(int argc, char **argv)
{
	return start_vm(WH_ROLE_CLIENT, &client_argp, argc, argv);
}

int cmd_server(int argc, char **argv)
{
	static const struct command table[] = {
		{ "start", wh_server_start, "start a server VM" },
		{ "replace", wh_server_replace, "let another server VM take over from one" },
		{ NULL, NULL, NULL }
	};

	return wh_command_dispatch(table, argv[0], argc, argv);
}

int cmd_client(int argc, char **argv)
{
	static const struct command table[] = {
		{ "start", client_start, "start a client VM" },
		{ "exec", wh_client_exec, "become a QEMU of one's own, as a client VM over ring" },
		{ NULL, NULL, NULL }
	};

	return wh_command_dispatch(table, argv[0], argc, argv);
}
