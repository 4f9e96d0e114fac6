// SPDX-License-Identifier: Apache-2.0
/* Owns the command line of wormhole-worker: defaults, ranges, help. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/options.h"
#include "wormhole_abi.h"

static const char help[] =
"usage: wormhole-worker --backend LIB --cpu N [options]\n"
"Serves one client of a window part, then ends. Started by wormhole-supervisor.\n"
"  --backend LIB     the libcuda.so.1 that does the work\n"
"  --lib-path DIR    folder of the libraries over it (libcublas.so.13, ...)\n"
"  --preload LIST    libraries to load before a client is there: cublas,curand; all:\n"
"                    those that are in the folder of --lib-path\n"
"  --cpu N           isolated CPU to run on\n"
"  --device FILE     default /dev/wormhole-server\n"
"  --window N        default 0\n"
"  --part N          default 0\n"
"  --part-size SIZE  default: the whole window\n"
"  --uid N           run as this user (default: do not change)\n"
"  --gid N           default: as --uid\n"
"  --parent PID      end with this process\n"
"  --ready FD        write a byte there when all is prepared\n"
"  --tenant DIR/NAME  whose limits hold and whose use is counted\n"
"  --account N       in this of its accounts\n"
"  --slots N         calls at the same time, default 4, as far as the host lets it\n"
"  --stack SIZE      call stack of each, default 8M\n"
"  --heap SIZE       memory that malloc has from the start, default 16M\n"
"  --prefault-max SIZE  touch mappings up to this size, default 16M\n"
"  --no-seccomp      do not filter system calls\n"
"  --verbose         say what was prepared\n"
"It serves nobody with\n"
"  --devices FD      but writes there which devices the backend has\n"
"  --figures FD      but sends what the driver counts for processes, at each byte\n"
"  --checkpoint suspend|resume  but takes its siblings off their devices, or brings them back:\n"
"                    --workers ACCOUNT:PID,... of --parent, with --suspension NUMBER,\n"
"                    --wait MS, --usage FD, --uuids UUID,... and --result FD\n"
"  --nvml FILE       the library that says so (default: beside the backend)\n"
"SIZE is in bytes, or with K, M or G behind it.\n";

enum {
	OPT_BACKEND = 256, OPT_LIB_PATH, OPT_PRELOAD, OPT_CPU, OPT_DEVICE, OPT_WINDOW, OPT_PART,
	OPT_PART_SIZE, OPT_UID, OPT_GID, OPT_PARENT, OPT_READY, OPT_TENANT, OPT_ACCOUNT, OPT_SLOTS,
	OPT_STACK, OPT_DEVICES, OPT_FIGURES, OPT_NVML, OPT_HEAP, OPT_PREFAULT, OPT_NO_SECCOMP,
	OPT_VERBOSE, OPT_CHECKPOINT, OPT_WORKERS, OPT_SUSPENSION, OPT_WAIT, OPT_USAGE, OPT_UUIDS,
	OPT_RESULT,
};

static const struct option table[] = {
	{ "backend", required_argument, NULL, OPT_BACKEND },
	{ "lib-path", required_argument, NULL, OPT_LIB_PATH },
	{ "preload", required_argument, NULL, OPT_PRELOAD },
	{ "cpu", required_argument, NULL, OPT_CPU },
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "window", required_argument, NULL, OPT_WINDOW },
	{ "part", required_argument, NULL, OPT_PART },
	{ "part-size", required_argument, NULL, OPT_PART_SIZE },
	{ "uid", required_argument, NULL, OPT_UID },
	{ "gid", required_argument, NULL, OPT_GID },
	{ "parent", required_argument, NULL, OPT_PARENT },
	{ "ready", required_argument, NULL, OPT_READY },
	{ "tenant", required_argument, NULL, OPT_TENANT },
	{ "account", required_argument, NULL, OPT_ACCOUNT },
	{ "devices", required_argument, NULL, OPT_DEVICES },
	{ "figures", required_argument, NULL, OPT_FIGURES },
	{ "nvml", required_argument, NULL, OPT_NVML },
	{ "slots", required_argument, NULL, OPT_SLOTS },
	{ "stack", required_argument, NULL, OPT_STACK },
	{ "heap", required_argument, NULL, OPT_HEAP },
	{ "prefault-max", required_argument, NULL, OPT_PREFAULT },
	{ "no-seccomp", no_argument, NULL, OPT_NO_SECCOMP },
	{ "verbose", no_argument, NULL, OPT_VERBOSE },
	{ "checkpoint", required_argument, NULL, OPT_CHECKPOINT },
	{ "workers", required_argument, NULL, OPT_WORKERS },
	{ "suspension", required_argument, NULL, OPT_SUSPENSION },
	{ "wait", required_argument, NULL, OPT_WAIT },
	{ "usage", required_argument, NULL, OPT_USAGE },
	{ "uuids", required_argument, NULL, OPT_UUIDS },
	{ "result", required_argument, NULL, OPT_RESULT },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

__attribute__((noreturn)) static void usage(const char *what, const char *value)
{
	fprintf(stderr, "error: wormhole-worker: %s%s%s (--help lists the options)\n", what,
		value ? ": " : "", value ? value : "");
	exit(2);
}

static uint64_t number(const char *s, uint64_t max)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(s, &end, 0);
	if (errno || end == s || *end || *s == '-' || n > max)
		usage("not a number in range", s);
	return n;
}

static uint64_t size(const char *s)
{
	static const char units[] = "KMG";
	const char *unit;
	char digits[32];
	size_t n = strlen(s);
	int shift = 0;

	if (!n || n >= sizeof(digits))
		usage("not a size", s);
	memcpy(digits, s, n + 1);
	unit = strchr(units, digits[n - 1]);
	if (unit) {
		shift = 10 * (int)(unit - units + 1);
		digits[n - 1] = 0;
	}
	return number(digits, (1ULL << 40) >> shift) << shift;
}

static uint64_t pages(const char *s)
{
	uint64_t n = size(s);

	if (!n || n % WH_PAGE_SIZE)
		usage("not a number of whole pages", s);
	return n;
}

static bool set_checkpoint(struct wh_checkpoint *o, int c)
{
	switch (c) {
	case OPT_CHECKPOINT:
		o->job = strcmp(optarg, "resume") ? WH_JOB_SUSPEND : WH_JOB_RESUME;
		return true;
	case OPT_WORKERS:	o->workers = optarg; return true;
	case OPT_SUSPENSION:	o->number = (uint32_t)number(optarg, UINT32_MAX); return true;
	case OPT_WAIT:		o->wait_ms = (unsigned int)number(optarg, INT32_MAX); return true;
	case OPT_USAGE:		o->usage = (int)number(optarg, INT32_MAX); return true;
	case OPT_UUIDS:		o->uuids = optarg; return true;
	case OPT_RESULT:	o->result = (int)number(optarg, INT32_MAX); return true;
	default:		return false;
	}
}

static void set(struct options *o, int c)
{
	if (set_checkpoint(&o->checkpoint, c))
		return;
	switch (c) {
	case OPT_BACKEND:	o->backend = optarg; break;
	case OPT_LIB_PATH:	o->lib_path = optarg; break;
	case OPT_PRELOAD:	o->preload = optarg; break;
	case OPT_CPU:		o->cpu = (unsigned int)number(optarg, CPU_SETSIZE - 1); break;
	case OPT_DEVICE:	o->device = optarg; break;
	case OPT_WINDOW:	o->window = (uint32_t)number(optarg, UINT32_MAX); break;
	case OPT_PART:		o->part = (uint32_t)number(optarg, UINT32_MAX); break;
	case OPT_PART_SIZE:	o->part_size = pages(optarg); break;
	case OPT_UID:		o->uid = (uid_t)number(optarg, UINT32_MAX - 1); break;
	case OPT_GID:		o->gid = (gid_t)number(optarg, UINT32_MAX - 1); break;
	case OPT_PARENT:	o->parent = (pid_t)number(optarg, INT32_MAX); break;
	case OPT_READY:		o->ready = (int)number(optarg, INT32_MAX); break;
	case OPT_TENANT:	o->tenant = optarg; break;
	case OPT_ACCOUNT:	o->account = (int)number(optarg, INT32_MAX); break;
	case OPT_DEVICES:	o->devices = (int)number(optarg, INT32_MAX); break;
	case OPT_FIGURES:	o->figures = (int)number(optarg, INT32_MAX); break;
	case OPT_NVML:		o->nvml = optarg; break;
	case OPT_SLOTS:		o->slots = (unsigned int)number(optarg, WH_MAX_SLOTS); break;
	case OPT_STACK:		o->stack = pages(optarg); break;
	case OPT_HEAP:		o->heap = size(optarg); break;
	case OPT_PREFAULT:	o->prefault_max = size(optarg); break;
	case OPT_NO_SECCOMP:	o->seccomp = 0; break;
	case OPT_VERBOSE:	o->verbose = 1; break;
	case 'h':		fputs(help, stdout); exit(0);
	default:		usage("bad option", NULL);
	}
}

void wh_options_parse(struct options *o, int argc, char **argv)
{
	const unsigned int no_cpu = CPU_SETSIZE;
	int c;

	*o = (struct options){
		.device = "/dev/wormhole-server",
		.cpu = no_cpu,
		.ready = -1,
		.account = -1,
		.devices = -1,
		.figures = -1,
		.checkpoint = { .usage = -1, .result = -1, .places = -1 },
		.gid = (gid_t)-1,
		.slots = 4,
		.stack = 8 << 20,
		.heap = 16 << 20,
		.prefault_max = 16 << 20,
		.seccomp = 1,
	};
	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1)
		set(o, c);
	if (optind < argc)
		usage("unexpected argument", argv[optind]);
	if (!o->backend)
		usage("--backend is missing", NULL);
	if (o->cpu == no_cpu && o->devices < 0 && o->figures < 0 && o->checkpoint.result < 0)
		usage("--cpu is missing", NULL);
	if (!o->slots)
		usage("a worker needs a slot", "--slots 0");
	if (o->gid == (gid_t)-1)
		o->gid = o->uid;
	/* The rest of a call stack comes by page fault, once, with a handoff. */
	o->stack_touched = o->stack < 512 << 10 ? o->stack : 512 << 10;
}
