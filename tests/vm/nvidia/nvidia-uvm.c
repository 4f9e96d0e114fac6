// SPDX-License-Identifier: GPL-2.0-only
/* A stand-in for nvidia-uvm.ko: a device whose number nobody knows before. */
#include <linux/fs.h>
#include <linux/module.h>

static bool uvm_disable_hmm;
module_param(uvm_disable_hmm, bool, 0);

static const struct file_operations uvm_fops = { .owner = THIS_MODULE };

static int __init uvm_init(void)
{
	int major = register_chrdev(0, "nvidia-uvm", &uvm_fops);

	pr_info("nvidia-uvm: stand-in, major %d, uvm_disable_hmm %d\n", major, uvm_disable_hmm);
	return major < 0 ? major : 0;
}
module_init(uvm_init);

MODULE_DESCRIPTION("Stand-in for NVIDIA's driver of unified memory");
MODULE_LICENSE("GPL");
