// SPDX-License-Identifier: Apache-2.0
/*
 * GPUs for a server VM: checks that each device exists and is a GPU, that there is an
 * IOMMU, which other devices are in its group, and who uses it. At the end the GPUs are bound
 * to vfio-pci. Each obstacle is named with its driver and the next step. No driver loses a
 * device unless the user asks for it (--rebind), and never while a program has the device
 * open.
 *
 * For tests WORMHOLE_TEST_ROOT is put before /sys, /proc and /dev.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu.h"
#include "wormhole.h"

#define NVIDIA		0x10de
#define CLASS_DISPLAY	0x03
#define CLASS_BRIDGE	0x06
#define MAX_GROUP	64
#define MAX_NAMED	32	/* GPUs that a message lists */

struct function {
	char address[16];
	char driver[64];	/* "" if there is none */
};

static const char *root(void)
{
	const char *dir = getenv("WORMHOLE_TEST_ROOT");

	return dir ? dir : "";
}

/* --- Files of sysfs --------------------------------------------------------------- */

__attribute__((format(printf, 2, 3)))
static void path_of(char path[PATH_MAX], const char *fmt, ...)
{
	int n = snprintf(path, PATH_MAX, "%s", root());
	va_list ap;

	va_start(ap, fmt);
	if (n >= 0 && n < PATH_MAX)
		vsnprintf(path + n, PATH_MAX - n, fmt, ap);
	va_end(ap);
}

static unsigned long read_hex(const char *address, const char *file)
{
	unsigned long value = 0;
	char path[PATH_MAX];
	FILE *f;

	path_of(path, "/sys/bus/pci/devices/%s/%s", address, file);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%lx", &value) != 1)
		value = 0;
	fclose(f);
	return value;
}

/* Reads the last part of the target of a device's link; "" if there is none. */
static void read_name(const char *address, const char *link, char *name, size_t size)
{
	char path[PATH_MAX], to[PATH_MAX];
	ssize_t n;

	path_of(path, "/sys/bus/pci/devices/%s/%s", address, link);
	n = readlink(path, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = 0;
	snprintf(name, size, "%s", n > 0 ? basename(to) : "");
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0) {
		wh_error("--gpu: '%s': %s", path, strerror(errno));
		return -1;
	}
	n = write(fd, text, strlen(text));
	if (n < 0)
		wh_error("--gpu: '%s' does not take '%s': %s", path, text, strerror(errno));
	close(fd);
	return n < 0 ? -1 : 0;
}

/* --- The address --------------------------------------------------------------------- */

int wh_gpu_address(const char *text, char address[WH_GPU_ADDRESS])
{
	unsigned int domain = 0, bus, slot, function;
	int end = 0;

	if (text[strspn(text, "0123456789abcdefABCDEF:.")])
		return -EINVAL;
	if (sscanf(text, "%4x:%2x:%2x.%1u%n", &domain, &bus, &slot, &function, &end) != 4 ||
	    text[end]) {
		domain = 0;
		if (sscanf(text, "%2x:%2x.%1u%n", &bus, &slot, &function, &end) != 3 || text[end])
			return -EINVAL;
	}
	if (slot > 31 || function > 7)
		return -EINVAL;
	snprintf(address, WH_GPU_ADDRESS, "%04x:%02x:%02x.%u", domain, bus, slot, function);
	return 0;
}

/* --- What it is ------------------------------------------------------------------------ */

static bool is_gpu(const char *address)
{
	return read_hex(address, "vendor") == NVIDIA &&
	       read_hex(address, "class") >> 16 == CLASS_DISPLAY;
}

int wh_gpu_list(struct wh_gpu *list, int max)
{
	struct dirent **devices;
	char path[PATH_MAX];
	int n, i, found = 0;

	path_of(path, "/sys/bus/pci/devices");
	n = scandir(path, &devices, NULL, alphasort);
	if (n < 0)
		return 0;
	for (i = 0; i < n; i++) {
		const char *address = devices[i]->d_name;

		if (found < max && is_gpu(address)) {
			snprintf(list[found].address, WH_GPU_ADDRESS, "%.23s", address);
			list[found++].device = read_hex(address, "device");
		}
		free(devices[i]);
	}
	free(devices);
	return found;
}

/* Lists the GPUs of the host, for the message. */
static void name_gpus(char *text, size_t size)
{
	struct wh_gpu gpus[MAX_NAMED];
	int count = wh_gpu_list(gpus, MAX_NAMED), i;
	size_t n = 0;

	*text = 0;
	for (i = 0; i < count && n < size; i++)
		n += snprintf(text + n, size - n, "%s%s", n ? ", " : "", gpus[i].address);
}

static int check_device(const char *address)
{
	char path[PATH_MAX], gpus[512];

	name_gpus(gpus, sizeof(gpus));
	path_of(path, "/sys/bus/pci/devices/%s", address);
	if (access(path, F_OK)) {
		wh_error("--gpu: there is no PCI device %s; NVIDIA's GPUs here: %s", address,
			 *gpus ? gpus : "none");
		return -1;
	}
	if (!is_gpu(address)) {
		wh_error("--gpu: %s (vendor %04lx, class %06lx) is no display or 3D controller of NVIDIA's; those here: %s",
			 address, read_hex(address, "vendor"), read_hex(address, "class"),
			 *gpus ? gpus : "none");
		return -1;
	}
	path_of(path, "/sys/bus/pci/devices/%s/iommu_group", address);
	if (access(path, F_OK)) {
		wh_error("--gpu: %s is in no IOMMU group: enable VT-d in the firmware and boot the host with intel_iommu=on",
			 address);
		return -1;
	}
	return 0;
}

/* --- Its group --------------------------------------------------------------------------- */

static bool is_bridge(const char *address)
{
	return read_hex(address, "class") >> 16 == CLASS_BRIDGE;
}

/* Returns true for another function of the same card, such as its audio device. */
static bool same_card(const char *a, const char *b)
{
	return !strncmp(a, b, strlen("0000:00:00."));
}

static int by_address(const void *a, const void *b)
{
	return strcmp(((const struct function *)a)->address, ((const struct function *)b)->address);
}

/*
 * Lists the devices of the group that can be an obstacle. Bridges stay with the host, so
 * they are not listed.
 */
static int read_group(const char *address, struct function *list)
{
	char path[PATH_MAX];
	struct dirent *e;
	int n = 0;
	DIR *d;

	path_of(path, "/sys/bus/pci/devices/%s/iommu_group/devices", address);
	d = opendir(path);
	if (!d) {
		wh_error("--gpu: '%s': %s", path, strerror(errno));
		return -1;
	}
	while ((e = readdir(d)) && n < MAX_GROUP) {
		if (e->d_name[0] == '.' || is_bridge(e->d_name))
			continue;
		snprintf(list[n].address, sizeof(list[n].address), "%.15s", e->d_name);
		read_name(e->d_name, "driver", list[n].driver, sizeof(list[n].driver));
		n++;
	}
	closedir(d);
	qsort(list, n, sizeof(*list), by_address);
	return n;
}

static bool is_free(const struct function *f)
{
	return !f->driver[0] || !strcmp(f->driver, "vfio-pci") || !strcmp(f->driver, "pci-stub");
}

/* Is it of a card whose GPU the VM gets? */
static bool of_cards(const struct wh_gpus *gpus, const char *address)
{
	int i;

	for (i = 0; i < gpus->n; i++)
		if (same_card(gpus->address[i], address))
			return true;
	return false;
}

/* Prints a line for each obstacle. Other GPUs that the VM gets may be in the same group. */
static int check_group(const struct wh_gpus *gpus, const char *address,
		       const struct function *list, int n, bool rebind)
{
	int bad = 0, i;

	for (i = 0; i < n; i++) {
		const struct function *f = &list[i];

		if (is_free(f) || (rebind && of_cards(gpus, f->address)))
			continue;
		bad = -1;
		if (!strcmp(f->address, address))
			wh_error("--gpu: %s is used by the host's driver %s: --rebind takes it from there",
				 f->address, f->driver);
		else if (same_card(address, f->address))
			wh_error("--gpu: %s, of the same card, is used by the host's driver %s: --rebind takes it from there, too",
				 f->address, f->driver);
		else
			wh_error("--gpu: %s is in the GPU's IOMMU group and used by the host's driver %s: bind it to vfio-pci as well, or put the GPU into another slot",
				 f->address, f->driver);
	}
	return bad;
}

/* --- Who uses it -------------------------------------------------------------------------- */

/* Returns the number of the GPU's device file while NVIDIA's driver has the GPU, or -1. */
static int device_minor(const char *address)
{
	char path[PATH_MAX], line[256];
	int minor = -1;
	FILE *f;

	path_of(path, "/proc/driver/nvidia/gpus/%s/information", address);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Device Minor: %d", &minor) == 1)
			break;
	fclose(f);
	return minor;
}

static bool has_open(const char *pid, const char *file)
{
	char path[PATH_MAX], to[PATH_MAX];
	struct dirent *e;
	bool hit = false;
	ssize_t n;
	DIR *d;

	path_of(path, "/proc/%s/fd", pid);
	d = opendir(path);
	while (d && !hit && (e = readdir(d))) {
		n = readlinkat(dirfd(d), e->d_name, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = 0;
		hit = !strcmp(to, file);
	}
	if (d)
		closedir(d);
	return hit;
}

/*
 * NVIDIA's driver does not release a GPU whose file is open: a write to `unbind` would then
 * wait for ever. So the programs are named here, and the user must end them.
 */
static int check_users(const char *address)
{
	char path[PATH_MAX], file[32], name[64];
	int minor = device_minor(address), rc = 0;
	struct dirent *e;
	DIR *d;
	FILE *f;

	if (minor < 0)
		return 0;
	snprintf(file, sizeof(file), "/dev/nvidia%d", minor);
	path_of(path, "/proc");
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (strspn(e->d_name, "0123456789") != strlen(e->d_name) || !has_open(e->d_name, file))
			continue;
		path_of(path, "/proc/%s/comm", e->d_name);
		f = fopen(path, "re");
		if (!f || fscanf(f, "%63[^\n]", name) != 1)
			strcpy(name, "?");
		if (f)
			fclose(f);
		wh_error("--gpu: %s is used by process %s (%s), which has %s open: end it first",
			 address, e->d_name, name, file);
		rc = -1;
	}
	if (d)
		closedir(d);
	return rc;
}

/* --- Binding ------------------------------------------------------------------------------- */

static int load_vfio(void)
{
	char *argv[] = { "modprobe", "vfio-pci", NULL };
	char path[PATH_MAX];
	int status = -1;
	pid_t pid;

	path_of(path, "/sys/bus/pci/drivers/vfio-pci");
	if (!access(path, F_OK))
		return 0;
	pid = fork();
	if (!pid) {
		execvp(argv[0], argv);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!access(path, F_OK))
		return 0;
	wh_error("--gpu: the host has no driver vfio-pci, and `modprobe vfio-pci' did not help: run as root, on a kernel with CONFIG_VFIO_PCI");
	return -1;
}

/* The kernel binds before the write to drivers_probe returns. Slow drivers get a second. */
static bool is_bound(const char *address)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	char driver[64];
	int i;

	for (i = 0; i < 100; i++) {
		read_name(address, "driver", driver, sizeof(driver));
		if (!strcmp(driver, "vfio-pci"))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static int bind_one(const struct function *f)
{
	char path[PATH_MAX];

	path_of(path, "/sys/bus/pci/devices/%s/driver_override", f->address);
	if (write_file(path, "vfio-pci"))
		return -1;
	path_of(path, "/sys/bus/pci/devices/%s/driver/unbind", f->address);
	if (f->driver[0] && write_file(path, f->address))
		return -1;
	path_of(path, "/sys/bus/pci/drivers_probe");
	if (write_file(path, f->address))
		return -1;
	if (is_bound(f->address))
		return 0;
	wh_error("--gpu: %s did not bind to vfio-pci: the host's dmesg says why", f->address);
	return -1;
}

/* Binds the GPU itself, and the card's functions that have a driver of the host. */
static bool to_bind(const char *address, const struct function *f)
{
	if (!strcmp(f->driver, "vfio-pci"))
		return false;
	return !strcmp(address, f->address) || (same_card(address, f->address) && !is_free(f));
}

static int bind_all(const char *address, const struct function *list, int n, bool dry_run)
{
	int i;

	for (i = 0; i < n; i++) {
		if (!to_bind(address, &list[i]))
			continue;
		wh_info("%s %s to vfio-pci%s%s", dry_run ? "would bind" : "binds", list[i].address,
			list[i].driver[0] ? ", so far of the driver " : "", list[i].driver);
		if (!dry_run && bind_one(&list[i]))
			return -1;
	}
	return 0;
}

/* QEMU opens the group's file, so it must be accessible. */
static int check_file(const char *address)
{
	char path[PATH_MAX], group[64];

	read_name(address, "iommu_group", group, sizeof(group));
	path_of(path, "/dev/vfio/%s", group);
	if (!access(path, R_OK | W_OK))
		return 0;
	wh_error("--gpu: '%s': %s: run as root, or give this user the file", path, strerror(errno));
	return -1;
}

static int check_gpu(const struct wh_gpus *gpus, const char *address, bool rebind)
{
	struct function list[MAX_GROUP];
	int n, i;

	if (check_device(address))
		return -1;
	n = read_group(address, list);
	if (n < 0 || check_group(gpus, address, list, n, rebind))
		return -1;
	for (i = 0; i < n; i++)
		if (to_bind(address, &list[i]) && !strcmp(list[i].driver, "nvidia") &&
		    check_users(list[i].address))
			return -1;
	return 0;
}

static int bind_gpu(const char *address, bool dry_run)
{
	struct function list[MAX_GROUP];
	int n = read_group(address, list);

	if (n < 0 || bind_all(address, list, n, dry_run))
		return -1;
	return dry_run ? 0 : check_file(address);
}

int wh_gpus_prepare(const struct wh_gpus *gpus, bool rebind, bool dry_run)
{
	int i, rc = 0;

	for (i = 0; i < gpus->n; i++)
		rc |= check_gpu(gpus, gpus->address[i], rebind);
	if (gpus->n && !rc && !dry_run)
		rc = load_vfio();
	for (i = 0; i < gpus->n && !rc; i++)
		rc = bind_gpu(gpus->address[i], dry_run);
	return rc;
}
