// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver that maps into a process what drivers of GPUs do, in the server VM of
 * tests: /dev/wh-test-driver. Each page offset of mmap() is one kind of mapping.
 */
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>

enum {
	KIND_PFN,	/* remap_pfn_range(), as of registers */
	KIND_PAGE,	/* vm_insert_page(), as of memory that the device reads */
	KIND_WATCHED,	/* pages whose first write the driver wants to know of */
	KINDS
};

static unsigned long page;

static vm_fault_t nothing_to_do(struct vm_fault *vmf)
{
	return 0;
}

static const struct vm_operations_struct watched_ops = {
	.pfn_mkwrite = nothing_to_do,
};

static int test_mmap(struct file *file, struct vm_area_struct *vma)
{
	unsigned long kind = vma->vm_pgoff;

	if (kind >= KINDS || vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	if (kind == KIND_PAGE)
		return vm_insert_page(vma, vma->vm_start, virt_to_page((void *)page));
	if (kind == KIND_WATCHED)
		vma->vm_ops = &watched_ops;
	return remap_pfn_range(vma, vma->vm_start, PHYS_PFN(virt_to_phys((void *)page)),
			       PAGE_SIZE, vma->vm_page_prot);
}

static const struct file_operations test_fops = {
	.owner = THIS_MODULE,
	.mmap = test_mmap,
};

static struct miscdevice test_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "wh-test-driver",
	.fops = &test_fops,
	.mode = 0600,
};

static int __init test_init(void)
{
	int err;

	page = get_zeroed_page(GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	err = misc_register(&test_device);
	if (err)
		free_page(page);
	return err;
}
module_init(test_init);

static void __exit test_exit(void)
{
	misc_deregister(&test_device);
	free_page(page);
}
module_exit(test_exit);

MODULE_DESCRIPTION("Mappings like those of a GPU's driver, for tests");
MODULE_LICENSE("GPL");
