/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a VM on the command line, for `wormhole server|client start`, which become its
 * QEMU (cmd_vm.c), and for `wormhole xml`, which prints it for libvirt (cmd_xml.c).
 */
#ifndef WORMHOLE_HOST_VM_H
#define WORMHOLE_HOST_VM_H

#include "gpu.h"
#include "ring.h"
#include "vm_ring.h"
#include "wormhole.h"

#define MAX_WINDOWS	16
/* ivshmem devices use the PCI slots from this one on; their order is the windows' order. */
#define FIRST_SLOT	8

struct vm_args {
	struct wh_vm vm;
	const char *image, *kernel, *initrd, *append, *console, *machine, *qemu;
	const char *disk;	/* disk to boot from, if the VM has no kernel file */
	struct wh_gpus gpus;
	char *windows[MAX_WINDOWS];
	int nwindows;
	char *limits[MAX_WINDOWS];
	int nlimits;
	uint64_t memory_mb;
	unsigned int cpus;
	bool rebind, dry_run;
	bool ring;		/* over the transport ring */
	bool starts;		/* the VM starts now, on this host */
	struct wh_vm_ring ring_args;
	const char *accel;
	char **extra;
	int nextra;
};

enum { KEY_KERNEL = 0x100, KEY_INITRD, KEY_APPEND, KEY_CONSOLE, KEY_MACHINE, KEY_GPU,
       KEY_QEMU, KEY_DRY_RUN, KEY_IMAGE, KEY_LIMIT, KEY_REBIND, KEY_RING,
       KEY_ACCEL, KEY_OF_XML };

#define VM_OPTIONS \
	{ "id", 'i', "ID", 0, "the VM's number, not zero, unique among living VMs", 0 }, \
	{ "image", KEY_IMAGE, "DIR", 0, "folder with bzImage, initramfs or root.img, and cmdline", 0 }, \
	{ "kernel", KEY_KERNEL, "FILE", 0, "kernel, in place of the image's", 0 }, \
	{ "initrd", KEY_INITRD, "FILE", 0, "initramfs, in place of the image's", 0 }, \
	{ "append", KEY_APPEND, "WORDS", 0, "more words for the kernel's command line", 0 }, \
	{ "memory", 'm', "MIB", 0, "guest memory (default 512; of a server with --gpu 8192)", 0 }, \
	{ "cpus", 'c', "N", 0, "virtual CPUs; a server's first is for itself, each other one for a worker (default: server 2, client 1)", 0 }, \
	{ "window", 'w', "FILE[,SIZE]", 0, "shared file, made if it is missing; again for more windows, in order", 0 }

#define VM_GPU_OPTION \
	{ "gpu", KEY_GPU, "PCI-ADDRESS", 0, "NVIDIA GPU to pass through, such as 65:00.0: it is bound to vfio-pci; again for more GPUs", 0 }
#define VM_LIMIT_OPTION \
	{ "limit", KEY_LIMIT, "WINDOW:mem=..,sm=..,policy=..", 0, "what the client of a window gets; also sm-max= and priority=; may be given again", 0 }

/* Parses these options for argp, and reports missing ones after the last. */
error_t wh_vm_option(int key, char *arg, struct argp_state *state, struct vm_args *a);
/* Returns the image's command line and the added words. The caller frees it. */
char *wh_vm_kernel_arguments(const struct vm_args *a);

#endif
