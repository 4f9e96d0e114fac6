// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stand-in for nvidia.ko, as user space sees it, with any display of the machine as its
 * GPU. The first open loads the firmware, and the last close stops it; both are logged.
 */
#include <linux/firmware.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#define MAJOR_NUMBER	195
#define CONTROL		255

static int NVreg_ModifyDeviceFiles = 1;
module_param(NVreg_ModifyDeviceFiles, int, 0);
static int NVreg_DynamicPowerManagement = 3;
module_param(NVreg_DynamicPowerManagement, int, 0);

static struct pci_dev *gpu;
static atomic_t users;

static int device_open(struct inode *inode, struct file *file)
{
	const struct firmware *fw;

	if (iminor(inode) == CONTROL)
		return 0;
	if (request_firmware(&fw, "nvidia/" VERSION "/gsp_ga10x.bin", &gpu->dev)) {
		pr_err("NVRM: no firmware\n");
		return -EIO;
	}
	pr_info("NVRM: stand-in started with %zu bytes of firmware\n", fw->size);
	release_firmware(fw);
	atomic_inc(&users);
	return 0;
}

static int device_release(struct inode *inode, struct file *file)
{
	if (iminor(inode) != CONTROL && atomic_dec_and_test(&users))
		pr_info("NVRM: stand-in stopped\n");
	return 0;
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE, .open = device_open, .release = device_release,
};

static int information(struct seq_file *s, void *unused)
{
	seq_puts(s, "Model: \t\t A stand-in\nDevice Minor: \t 0\n");
	return 0;
}

static int __init nvidia_init(void)
{
	char name[64];

	gpu = pci_get_base_class(PCI_BASE_CLASS_DISPLAY, NULL);
	if (!gpu) {
		pr_err("NVRM: No NVIDIA GPU found.\n");
		return -ENODEV;
	}
	if (__register_chrdev(MAJOR_NUMBER, 0, CONTROL, "nvidia", &device_fops) < 0 ||
	    __register_chrdev(MAJOR_NUMBER, CONTROL, 1, "nvidiactl", &device_fops) < 0)
		return -EBUSY;
	snprintf(name, sizeof(name), "driver/nvidia/gpus/%s", pci_name(gpu));
	proc_mkdir("driver/nvidia", NULL);
	proc_mkdir("driver/nvidia/gpus", NULL);
	proc_create_single("information", 0444, proc_mkdir(name, NULL), information);
	pr_info("NVRM: stand-in " VERSION ", ModifyDeviceFiles %d, DynamicPowerManagement %d\n",
		NVreg_ModifyDeviceFiles, NVreg_DynamicPowerManagement);
	return 0;
}
module_init(nvidia_init);

MODULE_DESCRIPTION("Stand-in for NVIDIA's driver");
MODULE_VERSION(VERSION);
MODULE_LICENSE("GPL");
