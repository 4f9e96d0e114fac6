// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver that maps into a process, and pins of it, what drivers of GPUs do, in the
 * server VM of tests: /dev/wh-test-driver.
 */
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "wh_test_driver.h"

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

	if (kind >= WH_TEST_KINDS || vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	if (kind == WH_TEST_PAGE)
		return vm_insert_page(vma, vma->vm_start, virt_to_page((void *)page));
	if (kind == WH_TEST_WATCHED)
		vma->vm_ops = &watched_ops;
	return remap_pfn_range(vma, vma->vm_start, PHYS_PFN(virt_to_phys((void *)page)),
			       PAGE_SIZE, vma->vm_page_prot);
}

/* Pins all or nothing; the caller unpins. */
static int pin_all(struct wh_test_pin *pin, struct page **pages)
{
	int n = pin_user_pages_fast(pin->va, pin->pages, FOLL_WRITE | FOLL_LONGTERM, pages);

	if (n > 0 && n < pin->pages)
		unpin_user_pages(pages, n);
	return n == pin->pages ? 0 : -EFAULT;
}

/* Reads and writes the pages as a device would see them. */
static int use_pins(struct wh_test_pin *pin, struct page **pages)
{
	u64 *word = page_address(pages[0]);
	unsigned int i;

	pin->pa = page_to_phys(pages[0]);
	pin->read = *word;
	*word = pin->write;
	for (i = 0; i < pin->pages; i++)
		if (page_to_phys(pages[i]) != pin->pa + i * PAGE_SIZE)
			return -ERANGE;
	return 0;
}

static long test_pin(struct wh_test_pin __user *arg)
{
	struct wh_test_pin pin;
	struct page **pages;
	int err;

	if (copy_from_user(&pin, arg, sizeof(pin)))
		return -EFAULT;
	if (!pin.pages || pin.pages > WH_TEST_MAX_PINS)
		return -EINVAL;
	pages = kvcalloc(pin.pages, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	err = pin_all(&pin, pages);
	if (!err) {
		err = use_pins(&pin, pages);
		unpin_user_pages_dirty_lock(pages, pin.pages, true);
	}
	kvfree(pages);
	if (!err && copy_to_user(arg, &pin, sizeof(pin)))
		err = -EFAULT;
	return err;
}

static long test_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return cmd == WH_TEST_PIN ? test_pin((void __user *)arg) : -ENOTTY;
}

static const struct file_operations test_fops = {
	.owner = THIS_MODULE,
	.mmap = test_mmap,
	.unlocked_ioctl = test_ioctl,
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
