// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole check`: prints one line per requirement of a host, `ok` or `MISSING` with the
 * next step, and two verdicts: for programs of this machine, and for VMs with a role. It
 * changes nothing. Without a GPU both may be ready, with softgpu.
 */
#include <cpuid.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "gpu.h"
#include "tenancy.h"
#include "wormhole.h"

#define MSR_VMX_PROCBASED_CTLS2	0x48b
#define MSR_VMX_VMFUNC		0x491
#define CTLS2_EPT		(1ULL << 1)
#define CTLS2_VMFUNC		(1ULL << 13)
#define VMFUNC_EPTP_SWITCHING	(1ULL << 0)
#define CPUID_1_ECX_VMX		(1U << 5)
#define TMPFS_MAGIC_NUMBER	0x01021994

/* The result of a probe: good or not, and a few words about what was found. */
struct finding {
	bool good;
	char seen[96];
};

__attribute__((format(printf, 3, 4)))
static void found(struct finding *f, bool good, const char *fmt, ...)
{
	va_list ap;

	f->good = good;
	va_start(ap, fmt);
	vsnprintf(f->seen, sizeof(f->seen), fmt, ap);
	va_end(ap);
}

/* --- Processor ------------------------------------------------------------------- */

static int read_msr(uint32_t msr, uint64_t *value)
{
	int fd = open("/dev/cpu/0/msr", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = pread(fd, value, sizeof(*value), msr);
	close(fd);
	return n == sizeof(*value) ? 0 : -EIO;
}

/* Searches the first "vmx flags" line for a word. Reading it needs no privilege. */
static bool vmx_flag(const char *flag)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[4096], word[64];
	bool hit = false;

	if (!f)
		return false;
	snprintf(word, sizeof(word), " %s ", flag);
	while (!hit && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = ' ';
		if (!strncmp(line, "vmx flags", 9))
			hit = strstr(line, word);
	}
	fclose(f);
	return hit;
}

static void probe_cpu(struct finding *f)
{
	unsigned int a, b = 0, c = 0, d = 0;
	char vendor[13] = "";

	__cpuid(0, a, b, c, d);
	memcpy(vendor, &b, 4);
	memcpy(vendor + 4, &d, 4);
	memcpy(vendor + 8, &c, 4);
	__cpuid(1, a, b, c, d);
	found(f, !strcmp(vendor, "GenuineIntel") && (c & CPUID_1_ECX_VMX), "%s%s", vendor,
	      c & CPUID_1_ECX_VMX ? "" : ", no VMX");
}

static void probe_ept(struct finding *f)
{
	uint64_t ctls2;

	if (!read_msr(MSR_VMX_PROCBASED_CTLS2, &ctls2))
		found(f, (ctls2 >> 32) & CTLS2_EPT, "IA32_VMX_PROCBASED_CTLS2 %#llx",
		      (unsigned long long)ctls2);
	else
		found(f, vmx_flag("ept"), "vmx flags of /proc/cpuinfo");
}

static void probe_vmfunc(struct finding *f)
{
	uint64_t ctls2, vmfunc;

	if (!read_msr(MSR_VMX_PROCBASED_CTLS2, &ctls2) && ((ctls2 >> 32) & CTLS2_VMFUNC) &&
	    !read_msr(MSR_VMX_VMFUNC, &vmfunc))
		found(f, vmfunc & VMFUNC_EPTP_SWITCHING, "IA32_VMX_VMFUNC %#llx",
		      (unsigned long long)vmfunc);
	else if (wh_kvm_extension(KVM_CAP_X86_WORMHOLE) > 0)
		/*
		 * The series works only with VMFUNC, so this is proof if the msr module is
		 * not loaded.
		 */
		found(f, true, "KVM uses it");
	else
		found(f, vmx_flag("eptp_switching"), "vmx flags of /proc/cpuinfo");
}

/* --- Kernel ------------------------------------------------------------------------ */

static void probe_kvm(struct finding *f)
{
	int rc = access("/dev/kvm", R_OK | W_OK) ? -errno : 0;

	found(f, !rc, "/dev/kvm%s%s", rc ? ": " : "", rc ? strerror(-rc) : "");
}

static void probe_series(struct finding *f)
{
	int rc = wh_kvm_extension(KVM_CAP_X86_WORMHOLE);

	if (rc < 0)
		found(f, false, "/dev/kvm: %s", strerror(-rc));
	else
		found(f, rc == WH_ABI_VERSION, "KVM_CAP_X86_WORMHOLE is %d, this command's ABI %d",
		      rc, WH_ABI_VERSION);
}

static void probe_control(struct finding *f)
{
	int fd = wh_control_open();
	int rc = fd < 0 ? fd : wh_control_version(fd);

	if (fd >= 0)
		close(fd);
	if (rc < 0)
		found(f, false, "%s", strerror(-rc));
	else
		found(f, rc == WH_ABI_VERSION, "ABI %d", rc);
}

/* --- Memory and programs ------------------------------------------------------------- */

static void probe_tmpfs(struct finding *f)
{
	struct statfs s;

	if (statfs("/dev/shm", &s)) {
		found(f, false, "%s", strerror(errno));
		return;
	}
	found(f, s.f_type == TMPFS_MAGIC_NUMBER && s.f_bavail, "%llu MiB free",
	      (unsigned long long)s.f_bavail * s.f_bsize >> 20);
}

static void probe_qemu(struct finding *f)
{
	char *file = wh_run_find("qemu-system-x86_64");

	found(f, file, "%.80s", file ? file : "not on PATH");
	free(file);
}

/* --- What only a real GPU needs --------------------------------------------------------- */

static int count_entries(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int n = 0;

	if (!d)
		return 0;
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void probe_iommu(struct finding *f)
{
	int n = count_entries("/sys/kernel/iommu_groups");

	found(f, n > 0, "%d groups", n);
}

static void probe_gpu(struct finding *f)
{
	struct wh_gpu gpu;

	/* In a container or a small VM only the device's files may be visible. */
	if (wh_gpu_list(&gpu, 1))
		found(f, true, "%s, device %04x", gpu.address, gpu.device);
	else if (!access("/dev/nvidia0", F_OK))
		found(f, true, "/dev/nvidia0");
	else
		found(f, false, "no NVIDIA display or 3D controller");
}

static void probe_driver(struct finding *f)
{
	char *path = wh_find_driver();

	found(f, path, "%.80s", path ? path : "no libcuda.so.1");
	free(path);
}

/* --- The list ------------------------------------------------------------------------------ */

enum use { PROGRAMS, VMS, USES };

static const struct {
	const char *word, *name;
} uses[USES] = {
	{ "programs", "programs of this machine" },
	{ "vms", "VMs" },
};

#define BOTH	(1u << PROGRAMS | 1u << VMS)

static const struct requirement {
	const char *name;
	void (*probe)(struct finding *f);
	const char *fix;
	unsigned int needed;	/* bit of each use that needs it */
	unsigned int gpu;	/* bit of each use that needs it only with a GPU */
} requirements[] = {
	{ "Intel processor with VMX", probe_cpu, "use an Intel host with VT-x enabled in its firmware", 1u << VMS, 0 },
	{ "EPT", probe_ept, "use a processor with EPT; load the msr module if it has it", 1u << VMS, 0 },
	{ "VMFUNC EPTP switching", probe_vmfunc,
	  "use Haswell or newer; load the msr module to read what this one has", 1u << VMS, 0 },
	{ "KVM", probe_kvm, "load kvm_intel; run as root or in group kvm", 1u << VMS, 0 },
	{ "KVM with the Wormhole series", probe_series,
	  "install wormhole-kvm-dkms, or boot a kernel built from kvm-patches/", 1u << VMS, 0 },
	{ WH_CONTROL_DEVICE, probe_control, "load that kvm_intel (wormhole-kvm status); run as root", 1u << VMS, 0 },
	{ "tmpfs for windows", probe_tmpfs, "mount a tmpfs on /dev/shm with room for the windows", BOTH, 0 },
	{ "QEMU", probe_qemu, "install qemu-system-x86", 1u << VMS, 0 },
	{ "IOMMU", probe_iommu, "enable VT-d in the firmware and boot with intel_iommu=on", 0, 1u << VMS },
	{ "NVIDIA driver library", probe_driver,
	  "install NVIDIA's driver; without it `wormhole serve --backend softgpu'", 0, 1u << PROGRAMS },
	{ "NVIDIA GPU", probe_gpu, "plug one in; without it softgpu stands in", 0, BOTH },
};

struct verdict {
	int missing, missing_gpu;
};

static void add_json(cJSON *list, const struct requirement *r, const struct finding *f)
{
	cJSON *o = cJSON_CreateObject(), *needed;
	int u;

	cJSON_AddStringToObject(o, "name", r->name);
	cJSON_AddBoolToObject(o, "ok", f->good);
	cJSON_AddStringToObject(o, "seen", f->seen);
	if (!f->good)
		cJSON_AddStringToObject(o, "next_step", r->fix);
	needed = cJSON_AddArrayToObject(o, "needed_for");
	for (u = 0; u < USES; u++)
		if (r->needed >> u & 1)
			cJSON_AddItemToArray(needed, cJSON_CreateString(uses[u].word));
	cJSON_AddItemToArray(list, o);
}

static bool concerns(const struct requirement *r, enum use use)
{
	return use == USES || (r->needed | r->gpu) >> use & 1;
}

/* @list is NULL to print lines: those that concern the use. */
static void look(struct verdict verdict[USES], cJSON *list, enum use use)
{
	struct finding f;
	size_t i;
	int u;

	for (i = 0; i < sizeof(requirements) / sizeof(requirements[0]); i++) {
		const struct requirement *r = &requirements[i];

		r->probe(&f);
		if (list)
			add_json(list, r, &f);
		else if (concerns(r, use))
			printf("%-30s %-8s %s%s%s\n", r->name, f.good ? "ok" : "MISSING", f.seen,
			       f.good ? "" : "; ", f.good ? "" : r->fix);
		for (u = 0; u < USES && !f.good; u++) {
			verdict[u].missing += r->needed >> u & 1;
			verdict[u].missing_gpu += r->gpu >> u & 1;
		}
	}
}

static void judge(enum use u, const struct verdict *v)
{
	printf("%s: ", uses[u].name);
	if (v->missing)
		printf("not ready: %d missing\n", v->missing);
	else
		printf("ready%s\n", v->missing_gpu ? ", on softgpu: for a GPU something is missing" : "");
}

static void judge_json(cJSON *o, const struct verdict verdict[USES])
{
	cJSON *all = cJSON_AddObjectToObject(o, "verdicts"), *e;
	int u;

	for (u = 0; u < USES; u++) {
		e = cJSON_AddObjectToObject(all, uses[u].word);
		cJSON_AddBoolToObject(e, "ready", !verdict[u].missing);
		wh_json_u64(e, "missing", (uint64_t)verdict[u].missing);
		cJSON_AddBoolToObject(e, "gpu", !verdict[u].missing && !verdict[u].missing_gpu);
	}
}

struct check_args {
	enum use use;		/* the use that was asked for; USES: any */
	bool json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct check_args *a = state->input;
	int u;

	if (key == 'j') {
		a->json = true;
		return 0;
	}
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	for (u = 0; u < USES; u++)
		if (!strcmp(arg, uses[u].word)) {
			a->use = u;
			return 0;
		}
	wh_usage_error(state, "'%s' is none of programs and vms", arg);
	return EINVAL;
}

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "print a JSON object", 0 },
	{ 0 }
};

static const struct argp argp = {
	options, parse, "[programs|vms]",
	"Say what this host has and lacks, whether programs of this machine can be served and whether VMs "
	"with a role can run, and what would protect the workers of `wormhole serve' here. The exit status is "
	"0 if the use that is named is ready, and the lines are those that concern it; without a name, if one is.", NULL, NULL, NULL
};

int cmd_check(int argc, char **argv)
{
	struct verdict verdict[USES] = { 0 };
	struct check_args a = { .use = USES };
	struct wh_protections p;
	bool ready = false;
	cJSON *o;
	int u;

	wh_parse(&argp, argc, argv, 0, &a);
	o = a.json ? cJSON_CreateObject() : NULL;
	look(verdict, o ? cJSON_AddArrayToObject(o, "requirements") : NULL, a.use);
	for (u = 0; u < USES; u++)
		ready = ready || (!verdict[u].missing && (a.use == USES || (int)a.use == u));
	if (o) {
		wh_protections_of_machine(&p);
		cJSON_AddItemToObject(o, "protection", wh_protections_json(&p));
		judge_json(o, verdict);
		wh_json_print(o);
		cJSON_Delete(o);
	} else {
		/* Those of a server VM's workers are not this host's. */
		if (a.use != VMS)
			wh_protections_check();
		for (u = 0; u < USES; u++)
			if (a.use == USES || (int)a.use == u)
				judge(u, &verdict[u]);
	}
	return ready ? EXIT_DONE : EXIT_FAILED;
}
