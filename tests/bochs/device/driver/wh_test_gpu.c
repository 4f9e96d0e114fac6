// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver of the test device in the server VM. It maps into a process what NVIDIA's
 * driver maps, in the same ways: registers (remap_pfn_range(), uncached), the device's
 * memory (the same, write-combining), and system memory (vm_insert_pages()).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "device.h"

#define BAR		2
#define BLOCK_ORDER	9	/* contiguous, as the ring of NVIDIA's driver is in parts */

static struct page *pages[WH_DEV_PAGES];
static phys_addr_t base;

static int map_system(struct vm_area_struct *vma)
{
	unsigned long n = WH_DEV_PAGES;

	if (vma->vm_end - vma->vm_start != WH_DEV_SYSTEM_SIZE)
		return -EINVAL;
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND);
	return vm_insert_pages(vma, vma->vm_start, pages, &n);
}

static int map_bar(struct vm_area_struct *vma, unsigned long size, pgprot_t prot)
{
	if (vma->vm_end - vma->vm_start != size)
		return -EINVAL;
	vma->vm_page_prot = prot;
	return io_remap_pfn_range(vma, vma->vm_start,
				  PHYS_PFN(base) + vma->vm_pgoff, size, prot);
}

static int gpu_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	switch (vma->vm_pgoff) {
	case PHYS_PFN(WH_DEV_REGISTERS):
		return map_bar(vma, WH_DEV_REGISTERS_SIZE,
			       pgprot_noncached(vma->vm_page_prot));
	case PHYS_PFN(WH_DEV_MEMORY):
		return map_bar(vma, WH_DEV_MEMORY_SIZE,
			       pgprot_writecombine(vma->vm_page_prot));
	case PHYS_PFN(WH_DEV_SYSTEM):
		return map_system(vma);
	}
	return -EINVAL;
}

static const struct file_operations gpu_fops = {
	.owner = THIS_MODULE,
	.mmap = gpu_mmap,
};

static struct miscdevice gpu_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "wh-test-gpu",
	.fops = &gpu_fops,
	.mode = 0666,
};

static void free_system(void)
{
	unsigned int i;

	for (i = 0; i < WH_DEV_PAGES && pages[i]; i++)
		__free_page(pages[i]);
}

static int alloc_system(void)
{
	struct page *block;
	unsigned int i, k;

	for (i = 0; i < WH_DEV_PAGES; i += 1 << BLOCK_ORDER) {
		block = alloc_pages(GFP_KERNEL | __GFP_ZERO, BLOCK_ORDER);
		if (!block) {
			free_system();
			return -ENOMEM;
		}
		split_page(block, BLOCK_ORDER);
		for (k = 0; k < 1 << BLOCK_ORDER; k++)
			pages[i + k] = block + k;
	}
	return 0;
}

/* Tells the engine where the system memory is, as a driver programs a device's rings. */
static int tell_engine(void)
{
	struct wh_dev_table __iomem *table = ioremap(base + WH_DEV_TABLE, sizeof(*table));
	unsigned int i;

	if (!table)
		return -ENOMEM;
	for (i = 0; i < WH_DEV_PAGES; i++)
		writeq(page_to_phys(pages[i]), &table->page[i]);
	writeq(WH_DEV_MAGIC, &table->magic);
	iounmap(table);
	return 0;
}

static int gpu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int err;

	if (PCI_SLOT(pdev->devfn) != WH_DEV_SLOT)
		return -ENODEV;		/* it is a window */
	err = pcim_enable_device(pdev);
	if (err)
		return err;
	if (pci_resource_len(pdev, BAR) != WH_DEV_BAR_SIZE)
		return -EINVAL;
	base = pci_resource_start(pdev, BAR);
	err = alloc_system();
	if (err)
		return err;
	err = tell_engine();
	if (!err)
		err = misc_register(&gpu_device);
	if (err)
		free_system();
	return err;
}

static const struct pci_device_id gpu_ids[] = {
	{ PCI_DEVICE(0x1af4, 0x1110) },		/* ivshmem */
	{ }
};

/* The module cannot be unloaded, because it is only used in a test's VM. */
static struct pci_driver gpu_driver = {
	.name = KBUILD_MODNAME,
	.id_table = gpu_ids,
	.probe = gpu_probe,
	.driver = {
		.suppress_bind_attrs = true,
		.probe_type = PROBE_FORCE_SYNCHRONOUS,
	},
};
builtin_pci_driver(gpu_driver);

MODULE_DESCRIPTION("A device that is driven as a GPU, for tests");
MODULE_LICENSE("GPL");
