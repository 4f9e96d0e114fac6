// SPDX-License-Identifier: GPL-2.0-only
/*
 * The server guest's side of Wormhole: /dev/wormhole-server.
 *
 * Gives each worker process its part of a window (the BAR of an ivshmem device) and the trampoline
 * page, registers it with KVM, and lets its threads sleep until a call comes for them. Reports
 * every change of its mappings, and its death, before a page can be reused. Decides nothing about
 * clients: KVM and the host do that. The module is never unloaded, because workers have its windows
 * mapped, and KVM has its trampoline page.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/memremap.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/pci.h>
#include <linux/reboot.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/userfaultfd_k.h>
#include <linux/wait.h>
#include <asm/fpu/xcr.h>

#include "hypercall.h"
#include "gen_trampoline.h"
#include "news.h"
#include "window.h"

#define IVSHMEM_VENDOR		0x1af4
#define IVSHMEM_DEVICE		0x1110
#define IVSHMEM_BAR		2
#define MAX_WINDOWS		ARRAY_SIZE(((struct wh_srv_info *)0)->window_size)

static_assert(sizeof(gen_trampoline) == PAGE_SIZE);

static const struct file_operations srv_fops;

struct window {
	struct pci_dev *pdev;
	struct dev_pagemap *pages;
	phys_addr_t base;
	u64 size;		/* 0 once the device is gone */
};

/* Sorted by PCI address; only written before the device node exists. */
static struct window windows[MAX_WINDOWS];
static unsigned int nr_windows;
static bool windows_frozen;

static void *trampoline;

/* The slots of all workers now, for programs that wait until the server can serve. */
static atomic_t nr_slots = ATOMIC_INIT(0);

/*
 * One open file. The members of the first half change once, from NULL or false to their values.
 * `lock` is held over the leaves of the pair. So a range that was begun before WORKER_REGISTER is
 * not ended after it, nothing is notified after RELEASE, and RELEASE happens once.
 */
struct worker {
	struct mutex ioctl_lock;	/* one ioctl at a time */
	bool bound;
	struct wh_srv_bind part;
	struct mm_struct *mm;		/* the address space with the notifiers */
	struct mmu_notifier notifier;
	struct mmu_notifier flushes;
	/*
	 * KVM reads this word in its place: it walks the worker's tables, and drops what it read if
	 * the word has changed. It is in a page of its own, which KVM pins.
	 */
	atomic64_t *table_seq;

	spinlock_t lock;		/* protects all below, and the order of leaves */
	bool registered;
	u64 pair;
	unsigned long slots;			/* bitmap of the registered ones */
	unsigned int invalidating;
	wait_queue_head_t idle;

	struct news news;		/* for its threads */
};

/* --- Mapping changes ------------------------------------------------------ */

static void notify(struct worker *w, const struct mmu_notifier_range *range,
		   u64 phase)
{
	if (w->registered)
		wh_leaf(WH_LEAF_NOTIFY, w->pair, range->start, range->end,
			phase, NULL);
}

static int range_start(struct mmu_notifier *mn,
		       const struct mmu_notifier_range *range)
{
	struct worker *w = container_of(mn, struct worker, notifier);

	spin_lock(&w->lock);
	w->invalidating++;
	notify(w, range, WH_NOTIFY_BEGIN);
	spin_unlock(&w->lock);
	return 0;
}

static void range_end(struct mmu_notifier *mn,
		      const struct mmu_notifier_range *range)
{
	struct worker *w = container_of(mn, struct worker, notifier);

	spin_lock(&w->lock);
	notify(w, range, WH_NOTIFY_END);
	if (!--w->invalidating)
		wake_up(&w->idle);
	spin_unlock(&w->lock);
}

/* Runs when the address space ends, or when the file is closed, whichever comes first. */
static void release_pair(struct mmu_notifier *mn, struct mm_struct *mm)
{
	struct worker *w = container_of(mn, struct worker, notifier);

	spin_lock(&w->lock);
	if (w->registered)
		wh_leaf(WH_LEAF_RELEASE, w->pair, 0, 0, 0, NULL);
	w->registered = false;
	atomic_sub(hweight_long(w->slots), &nr_slots);
	w->slots = 0;
	spin_unlock(&w->lock);
}

static const struct mmu_notifier_ops notifier_ops = {
	.invalidate_range_start	= range_start,
	.invalidate_range_end	= range_end,
	.release		= release_pair,
};

/*
 * The kernel frees page tables after range_end(), but only after it has flushed the TLBs of whoever
 * may walk them, and it calls this function then. This makes no leaf call, so a flush costs no
 * exit.
 */
static void tables_flushed(struct mmu_notifier *mn, struct mm_struct *mm,
			   unsigned long start, unsigned long end)
{
	struct worker *w = container_of(mn, struct worker, flushes);

	atomic64_inc(w->table_seq);
}

/* This is a notifier of its own, since the core refuses both kinds in one. */
static const struct mmu_notifier_ops flush_ops = {
	.arch_invalidate_secondary_tlbs	= tables_flushed,
};

/* --- Mappings of drivers ---------------------------------------------------- */

/*
 * A mapping that a driver makes, shared and for good, of a device or of its own memory: registers
 * and device memory (VM_PFNMAP), and pages that it inserts (VM_MIXEDMAP). Mappings whose first
 * writes somebody wants to know do not count, nor do our own.
 */
static bool is_drivers(struct vm_area_struct *vma)
{
	const struct vm_operations_struct *ops = vma->vm_ops;

	return vma->vm_flags & (VM_PFNMAP | VM_MIXEDMAP) &&
	       vma->vm_flags & VM_SHARED && !userfaultfd_armed(vma) &&
	       !(ops && (ops->page_mkwrite || ops->pfn_mkwrite)) &&
	       !(vma->vm_file && vma->vm_file->f_op == &srv_fops);
}

/*
 * KVM sees page table entries but not their purpose, so this names the devices' mappings. The lock
 * of the mappings is held until KVM knows a name, so that no name comes after the NOTIFY that ends
 * it.
 */
static int name_devices(struct worker *w, struct mm_struct *mm)
{
	struct vm_area_struct *vma;
	int err = 0;

	VMA_ITERATOR(vmi, mm, 0);

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	for_each_vma(vmi, vma) {
		if (!is_drivers(vma))
			continue;
		err = wh_leaf(WH_LEAF_DEVICE, READ_ONCE(w->pair), vma->vm_start,
			      vma->vm_end, 0, NULL);
		if (err)
			break;
	}
	mmap_read_unlock(mm);
	return err;
}

/* --- ioctls --------------------------------------------------------------- */

static long srv_info(void __user *arg)
{
	struct wh_srv_info info = {
		.abi_version = WH_ABI_VERSION,
		.windows = nr_windows,
	};
	unsigned int i;

	for (i = 0; i < nr_windows; i++)
		info.window_size[i] = windows[i].size;
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

static int check_part(const struct wh_srv_bind *part)
{
	u64 size = part->part_size;

	if (part->window >= nr_windows)
		return -ENXIO;
	if (!size || !PAGE_ALIGNED(size) || size > WH_MAX_PART_SIZE)
		return -EINVAL;
	if (part->part >= div64_u64(windows[part->window].size, size))
		return -ERANGE;
	return 0;
}

static long srv_bind(struct worker *w, const void __user *arg)
{
	struct wh_srv_bind part;
	int err;

	if (w->bound)
		return -EBUSY;
	if (copy_from_user(&part, arg, sizeof(part)))
		return -EFAULT;
	err = check_part(&part);
	if (err)
		return err;
	w->part = part;
	smp_store_release(&w->bound, true);	/* pairs with srv_mmap() */
	return 0;
}

/*
 * By kexec another kernel takes the memory over while workers run, without a reset that KVM would
 * see. KVM forgets all pairs when a server registers again, and no worker registers after that.
 */
static DEFINE_SPINLOCK(restart_lock);
static bool restarts;

static int restart_begins(struct notifier_block *nb, unsigned long action, void *data)
{
	spin_lock(&restart_lock);
	restarts = true;
	spin_unlock(&restart_lock);
	wh_leaf(WH_LEAF_SERVER_REGISTER, WH_ABI_VERSION, virt_to_phys(trampoline), 0, 0,
		NULL);
	return NOTIFY_DONE;
}

static struct notifier_block restart_notifier = {
	.notifier_call = restart_begins,
};

static int register_leaf(struct worker *w, unsigned long nslots, struct wh_result *res)
{
	int err = -ESHUTDOWN;

	spin_lock(&restart_lock);
	if (!restarts)
		err = wh_leaf5(WH_LEAF_WORKER_REGISTER, w->part.window, w->part.part,
			       w->part.part_size, virt_to_phys(w->table_seq), nslots, res);
	spin_unlock(&restart_lock);
	return err;
}

/*
 * With no range open, everything that changes from here on is notified, so KVM may fill the view as
 * soon as it knows the pair.
 */
static int register_pair(struct worker *w, unsigned long nslots)
{
	struct wh_result res;
	int err;

	spin_lock(&w->lock);
	while (w->invalidating) {
		spin_unlock(&w->lock);
		if (wait_event_killable(w->idle, !READ_ONCE(w->invalidating)))
			return -EINTR;
		spin_lock(&w->lock);
	}
	err = register_leaf(w, nslots, &res);
	if (!err) {
		w->pair = res.rbx;
		w->registered = true;
	}
	spin_unlock(&w->lock);
	if (!err)
		news_know(&w->news, w->pair);
	return err;
}

static int watch_mm(struct worker *w, struct mm_struct *mm)
{
	int err;

	err = mmu_notifier_register(&w->flushes, mm);
	if (err)
		return err;
	err = mmu_notifier_register(&w->notifier, mm);
	if (err)
		mmu_notifier_unregister(&w->flushes, mm);
	return err;
}

/* The pair ends first: while KVM has it, the sequence must move. */
static void forget_mm(struct worker *w, struct mm_struct *mm)
{
	mmu_notifier_unregister(&w->notifier, mm);
	mmu_notifier_unregister(&w->flushes, mm);
}

static long srv_register(struct worker *w, unsigned long nslots)
{
	int err;

	if (!w->bound)
		return -ENXIO;
	if (w->mm)
		return -EEXIST;
	if (!nslots || nslots > WH_MAX_SLOTS)
		return -EINVAL;
	err = watch_mm(w, current->mm);
	if (err)
		return err;
	err = register_pair(w, nslots);
	if (!err)
		err = name_devices(w, current->mm);
	if (err)
		forget_mm(w, current->mm);
	else
		w->mm = current->mm;
	return err;
}

/* A thread of the worker will WH_SRV_WAIT for the slot's calls. */
static long srv_slot(struct worker *w, unsigned long slot)
{
	int err = -ENXIO;

	if (slot >= WH_MAX_SLOTS)
		return -EINVAL;
	if (!w->mm)
		return -ENXIO;
	if (w->mm != current->mm)
		return -EPERM;
	spin_lock(&w->lock);
	if (w->registered)
		err = wh_leaf(WH_LEAF_SLOT_REGISTER, w->pair, slot, 0, 0, NULL);
	if (!err) {
		__set_bit(slot, &w->slots);
		atomic_inc(&nr_slots);
	}
	spin_unlock(&w->lock);
	return err;
}

static long srv_wait(struct worker *w, unsigned long who)
{
	if (who >= NEWS_WAITERS)
		return -EINVAL;
	if (READ_ONCE(w->mm) != current->mm)
		return -EPERM;
	return news_wait(&w->news, array_index_nospec(who, NEWS_WAITERS));
}

static long srv_devices(struct worker *w)
{
	if (!w->mm)
		return -ENXIO;
	if (w->mm != current->mm)
		return -EPERM;
	return name_devices(w, w->mm);
}

static long srv_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct worker *w = file->private_data;
	long err;

	if (cmd == WH_SRV_INFO)
		return srv_info((void __user *)arg);
	if (cmd == WH_SRV_WAIT)
		return srv_wait(w, arg);
	if (mutex_lock_killable(&w->ioctl_lock))
		return -EINTR;
	switch (cmd) {
	case WH_SRV_BIND:
		err = srv_bind(w, (void __user *)arg);
		break;
	case WH_SRV_REGISTER:
		err = srv_register(w, arg);
		break;
	case WH_SRV_SLOT:
		err = srv_slot(w, arg);
		break;
	case WH_SRV_DEVICES:
		err = srv_devices(w);
		break;
	default:
		err = -ENOTTY;
	}
	mutex_unlock(&w->ioctl_lock);
	return err;
}

/* --- mmap ----------------------------------------------------------------- */

/* Makes entries of ordinary pages: the driver of a GPU pins them (cuMemHostRegister). */
static int insert_pages(struct vm_area_struct *vma, unsigned long pfn)
{
	unsigned long addr = vma->vm_start, i, n, left;
	struct page *batch[32];
	int err;

	while (addr < vma->vm_end) {
		n = min(ARRAY_SIZE(batch), PHYS_PFN(vma->vm_end - addr));
		for (i = 0; i < n; i++)
			batch[i] = pfn_to_page(pfn + i);
		left = n;
		err = vm_insert_pages(vma, addr, batch, &left);
		if (err)
			return err;
		pfn += n;
		addr += n * PAGE_SIZE;
	}
	return 0;
}

/*
 * Makes all entries here, accessed and dirty, because a view maps only what the worker's own tables
 * show as used, and writable only what is dirty.
 */
static int map_part(struct worker *w, struct vm_area_struct *vma)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 length = vma->vm_end - vma->vm_start;
	phys_addr_t base;

	if (!smp_load_acquire(&w->bound))	/* pairs with srv_bind() */
		return -ENXIO;
	if (!(vma->vm_flags & VM_SHARED) || !(vma->vm_flags & VM_WRITE))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (length > w->part.part_size || offset > w->part.part_size - length)
		return -ENXIO;
	if (!windows[w->part.window].size)
		return -ENODEV;
	base = windows[w->part.window].base + w->part.part * w->part.part_size;
	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	vma->vm_page_prot = __pgprot(pgprot_val(vma->vm_page_prot) |
				     _PAGE_ACCESSED | _PAGE_DIRTY);
	return insert_pages(vma, PHYS_PFN(base + offset));
}

/* KVM has its own copy of the page, so this one only has to look the same. */
static int map_trampoline(struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND, VM_MAYWRITE);
	return remap_pfn_range(vma, vma->vm_start,
			       PHYS_PFN(virt_to_phys(trampoline)), PAGE_SIZE,
			       vma->vm_page_prot);
}

static int srv_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (vma->vm_pgoff == PHYS_PFN(WH_SRV_MMAP_TRAMPOLINE))
		return map_trampoline(vma);
	return map_part(file->private_data, vma);
}

/* --- File ----------------------------------------------------------------- */

static int srv_open(struct inode *inode, struct file *file)
{
	struct worker *w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);

	if (!w)
		return -ENOMEM;
	w->table_seq = (atomic64_t *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!w->table_seq) {
		kfree(w);
		return -ENOMEM;
	}
	mutex_init(&w->ioctl_lock);
	spin_lock_init(&w->lock);
	init_waitqueue_head(&w->idle);
	news_init(&w->news);
	w->notifier.ops = &notifier_ops;
	w->flushes.ops = &flush_ops;
	file->private_data = w;
	return nonseekable_open(inode, file);
}

/* Runs at the last reference: a child's copy of the file keeps the pair. */
static int srv_release(struct inode *inode, struct file *file)
{
	struct worker *w = file->private_data;

	if (w->mm)
		forget_mm(w, w->mm);
	news_forget(&w->news);
	free_page((unsigned long)w->table_seq);
	kfree(w);
	return 0;
}

static const struct file_operations srv_fops = {
	.owner		= THIS_MODULE,
	.open		= srv_open,
	.release	= srv_release,
	.unlocked_ioctl	= srv_ioctl,
	.mmap		= srv_mmap,
};

static ssize_t windows_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%u\n", nr_windows);
}
static DEVICE_ATTR_RO(windows);

static ssize_t slots_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&nr_slots));
}
static DEVICE_ATTR_RO(slots);

static struct attribute *srv_attrs[] = {
	&dev_attr_windows.attr,
	&dev_attr_slots.attr,
	NULL
};
ATTRIBUTE_GROUPS(srv);

static struct miscdevice srv_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "wormhole-server",
	.fops	= &srv_fops,
	.groups	= srv_groups,
	.mode	= 0600,
};

/* --- Windows -------------------------------------------------------------- */

static bool pci_before(struct pci_dev *a, struct pci_dev *b)
{
	if (pci_domain_nr(a->bus) != pci_domain_nr(b->bus))
		return pci_domain_nr(a->bus) < pci_domain_nr(b->bus);
	return pci_dev_id(a) < pci_dev_id(b);
}

/*
 * Makes struct pages for memory that the kernel does not own. They stay when the device goes:
 * workers may have them mapped, and drivers may have pinned them.
 */
static struct dev_pagemap *make_pages(struct pci_dev *pdev)
{
	struct dev_pagemap *pages = kzalloc(sizeof(*pages), GFP_KERNEL);
	void *va;

	if (!pages)
		return ERR_PTR(-ENOMEM);
	pages->type = MEMORY_DEVICE_GENERIC;
	pages->range.start = pci_resource_start(pdev, IVSHMEM_BAR);
	pages->range.end = pci_resource_end(pdev, IVSHMEM_BAR);
	pages->nr_range = 1;
	va = memremap_pages(pages, dev_to_node(&pdev->dev));
	if (!IS_ERR(va))
		return pages;
	kfree(pages);
	return ERR_CAST(va);
}

/* This is safe, since nobody has been served yet. */
static void free_windows(void)
{
	while (nr_windows) {
		memunmap_pages(windows[--nr_windows].pages);
		kfree(windows[nr_windows].pages);
	}
}

static void add_window(struct pci_dev *pdev, struct dev_pagemap *pages)
{
	unsigned int i = nr_windows++;

	for (; i && pci_before(pdev, windows[i - 1].pdev); i--)
		windows[i] = windows[i - 1];
	windows[i].pdev = pdev;
	windows[i].pages = pages;
	windows[i].base = pci_resource_start(pdev, IVSHMEM_BAR);
	windows[i].size = pci_resource_len(pdev, IVSHMEM_BAR);
}

/* Hot-plug would renumber the windows of living workers, so it is refused. */
static int window_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct dev_pagemap *pages;
	int err;

	if (windows_frozen || nr_windows == MAX_WINDOWS) {
		dev_err(&pdev->dev, "%s\n", windows_frozen ?
			"a window cannot be added to a running server" :
			"too many windows");
		return -EBUSY;
	}
	if (!(pci_resource_flags(pdev, IVSHMEM_BAR) & IORESOURCE_MEM))
		return -ENODEV;
	if (pci_resource_len(pdev, IVSHMEM_BAR) < WH_MIN_WINDOW_SIZE) {
		dev_err(&pdev->dev, "a window of %llu bytes is too small, the smallest has %llu\n",
			(u64)pci_resource_len(pdev, IVSHMEM_BAR), WH_MIN_WINDOW_SIZE);
		return -EINVAL;
	}
	err = pcim_enable_device(pdev);
	if (err)
		return err;
	err = pcim_request_region(pdev, IVSHMEM_BAR, KBUILD_MODNAME);
	if (err)
		return err;
	pages = make_pages(pdev);
	if (IS_ERR(pages)) {
		dev_err(&pdev->dev, "no pages for a window of %llu bytes: error %ld\n",
			(u64)pci_resource_len(pdev, IVSHMEM_BAR), PTR_ERR(pages));
		return PTR_ERR(pages);
	}
	add_window(pdev, pages);
	return 0;
}

/* The host has withdrawn the memory, and everything that views map of it. */
static void window_remove(struct pci_dev *pdev)
{
	unsigned int i;

	for (i = 0; i < nr_windows; i++)
		if (windows[i].pdev == pdev)
			WRITE_ONCE(windows[i].size, 0);
}

static const struct pci_device_id window_ids[] = {
	{ PCI_DEVICE(IVSHMEM_VENDOR, IVSHMEM_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, window_ids);

static struct pci_driver window_driver = {
	.name		= KBUILD_MODNAME,
	.id_table	= window_ids,
	.probe		= window_probe,
	.remove		= window_remove,
	.driver		= {
		.suppress_bind_attrs = true,
		.probe_type = PROBE_FORCE_SYNCHRONOUS,
	},
};

/* --- Start ---------------------------------------------------------------- */

/* No worker could register in a VM that uses state which calls do not carry over. */
static int check_xstate(void)
{
	u64 xcr0 = boot_cpu_has(X86_FEATURE_OSXSAVE) ? xgetbv(XCR_XFEATURE_ENABLED_MASK) : 0;

	if (!(xcr0 & ~(u64)WH_XCR0_SERVER))
		return 0;
	pr_err("the kernel uses extended state 0x%llx, of which calls take 0x%x along: boot it with clearcpuid=amx_tile, or give the VM a CPU model without AMX\n",
	       xcr0, WH_XCR0_SERVER);
	return -ENODEV;
}

static int check_host(void)
{
	struct wh_result res;
	u64 role;

	wh_cpuid(WH_LEAF_SIGNATURE, 0, 0, 0, 0, 0, &res);
	if ((u32)res.rbx != WH_SIG_EBX || (u32)res.rcx != WH_SIG_ECX ||
	    (u32)res.rdx != WH_SIG_EDX) {
		pr_err("the host does not offer Wormhole to this VM\n");
		return -ENODEV;
	}
	if (wh_cpuid(WH_LEAF_VERSION, 0, 0, 0, 0, 0, &res) != WH_OK)
		return -ENODEV;
	role = res.rcx;
	if (res.rbx != WH_ABI_VERSION) {
		pr_err("the host's ABI is version %llu, this module's is %u\n",
		       res.rbx, WH_ABI_VERSION);
		return -ENODEV;
	}
	if (role != WH_ROLE_SERVER) {
		pr_err("this VM has role %llu, a server has role %u\n", role,
		       WH_ROLE_SERVER);
		return -ENODEV;
	}
	return check_xstate();
}

static int register_server(void)
{
	int err;

	trampoline = (void *)__get_free_page(GFP_KERNEL);
	if (!trampoline)
		return -ENOMEM;
	memcpy(trampoline, gen_trampoline, PAGE_SIZE);
	err = wh_leaf(WH_LEAF_SERVER_REGISTER, WH_ABI_VERSION,
		      virt_to_phys(trampoline), 0, 0, NULL);
	if (err) {
		pr_err("the host refuses the server: error %d\n", err);
		free_page((unsigned long)trampoline);
	}
	return err;
}

static int __init wormhole_server_init(void)
{
	int err;

	err = check_host();
	if (err)
		return err;
	err = pci_register_driver(&window_driver);
	if (err)
		return err;
	windows_frozen = true;
	err = news_start();
	if (err)
		goto err_driver;
	err = register_server();
	if (err)
		goto err_news;
	err = register_reboot_notifier(&restart_notifier);
	if (err)
		goto err_trampoline;
	err = misc_register(&srv_device);
	if (err)
		goto err_notifier;
	pr_info("%u windows\n", nr_windows);
	return 0;

err_notifier:
	unregister_reboot_notifier(&restart_notifier);
err_trampoline:
	free_page((unsigned long)trampoline);
err_news:
	news_stop();
err_driver:
	free_windows();
	pci_unregister_driver(&window_driver);
	return err;
}
module_init(wormhole_server_init);

MODULE_DESCRIPTION("Wormhole server guest: windows, workers and their mappings");
MODULE_LICENSE("GPL");
