# SPDX-License-Identifier: Apache-2.0
"""One Bochs machine: its memory images, its process, its two serial files.

This module knows nothing of what a job means; run_job.py reads the lines.

The machine boots from no disk. Bochs reads files into its memory ("optional RAM images") and an
option ROM, loader.asm, enters the kernel. Thus a boot costs the instructions of the kernel's own
start and no others.
"""
import ctypes
import os
import shutil
import signal
import struct
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("WH_BUILD") or os.path.join(HERE, "../../build")
BOCHS = os.path.realpath(os.path.join(BUILD, "bochs-3.0/bochs"))

# The rate of the machine's timers in instructions per second, which is also the rate of its TSC,
# because the TSC counts instructions. A busy machine runs about that many in one second of a core
# here.
IPS = 100_000_000
KERNEL_ARGS = (f"console=ttyS0,115200 loglevel=5 panic=0 tsc=reliable "
               f"tsc_early_khz={IPS // 1000} lpj=400000 mitigations=off nokaslr "
               # The deadline timer came with a microcode update; nothing here needs it.
               "lapic=notscdeadline "
               # QEMU would ask for huge pages; wormhole_large_test switches them on.
               "transparent_hugepage=never "
               # Bochs misses writes of other processors to a line that MWAIT monitors.
               "idle=halt")

# The memory map of the machine before the kernel runs; loader.asm explains it.
ROM_BASE = 0xd0000
SETUP_BASE = 0x10000        # real-mode part of the kernel, then its arguments
SETUP_ARGS = 0xe000
PAGE_OF_BIOS = 0x7ff00000   # where the BIOS will write tables: its own storage
KERNEL_BASE = 0x1000000
BLOCK_SHIFT = 17            # Bochs' storage block, 128 KiB
PADDING = 64                # blocks before the kernel
IMAGE_BASE = KERNEL_BASE - (PADDING << BLOCK_SHIFT)
FRESH = 0x30000000          # an address that nothing has touched
MEMORY = 2048               # MiB, fixed by the addresses above


def run(argv, **kw):
    """Runs a tool; its output is shown only when it fails."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kw)
    if done.returncode:
        raise RuntimeError(f"{argv[0]} failed ({done.returncode}):\n{done.stdout}")


def pack_job(job, out):
    """Packs a directory as a cpio archive below /job, with links followed."""
    root = os.path.join(out, "root")
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(job, os.path.join(root, "job"), symlinks=False)
    run(["sh", "-c", "find . -mindepth 1 | LC_ALL=C sort | "
         "cpio -o -H newc --owner 0:0 --quiet >../job.cpio"], cwd=root)
    shutil.rmtree(root)
    return os.path.join(out, "job.cpio")


def initrd_base(bzimage):
    """Returns an address beyond all that the kernel needs while it unpacks itself."""
    init_size = struct.unpack_from("<I", bzimage, 0x260)[0]
    return (KERNEL_BASE + init_size + 0x1fffff) & ~0x1fffff


def setup_image(bzimage, args, initrd_size):
    """Returns the real-mode part with the fields that a boot loader fills in."""
    if bzimage[0x202:0x206] != b"HdrS":
        raise RuntimeError("not a bzImage")
    setup = bytearray(bzimage[:(bzimage[0x1f1] + 1) * 512])
    setup[0x210] = 0xff                                     # type_of_loader
    setup[0x211] |= 0x81                                    # loaded high, heap
    struct.pack_into("<I", setup, 0x214, KERNEL_BASE)       # code32_start
    struct.pack_into("<II", setup, 0x218, initrd_base(bzimage), initrd_size)
    struct.pack_into("<H", setup, 0x224, SETUP_ARGS - 0x200)  # heap_end_ptr
    struct.pack_into("<I", setup, 0x228, SETUP_BASE + SETUP_ARGS)
    return bytes(setup).ljust(SETUP_ARGS, b"\0") + args.encode() + b"\0"


def write_high_image(path, bzimage, initrds):
    """Writes numbered padding, the protected-mode kernel and the initramfs; returns the end."""
    with open(path, "wb") as f:
        for i in range(PADDING):
            f.seek(i << BLOCK_SHIFT)
            f.write(struct.pack("<I", i))
        f.seek(KERNEL_BASE - IMAGE_BASE)
        f.write(bzimage[(bzimage[0x1f1] + 1) * 512:])
        f.seek(initrd_base(bzimage) - IMAGE_BASE)
        for name in initrds:
            with open(name, "rb") as part:
                shutil.copyfileobj(part, f)
            f.write(bytes(-f.tell() % 4))
        return IMAGE_BASE + f.tell()


def make_loader(path, image_end):
    """Assembles the option ROM; its bytes must add up to zero."""
    words = {"ROM_BASE": ROM_BASE, "SETUP_SEG": SETUP_BASE >> 4,
             "SETUP_STACK": SETUP_ARGS, "IMAGE_START": IMAGE_BASE,
             "IMAGE_END": image_end, "BLOCK_SHIFT": BLOCK_SHIFT,
             "PADDING": PADDING, "FRESH": FRESH}
    run(["nasm", "-f", "bin", "-Wall", "-Werror", "-o", path]
        + [f"-D{k}={v:#x}" for k, v in words.items()]
        + [os.path.join(HERE, "loader.asm")])
    with open(path, "r+b") as f:
        total = sum(f.read())
        f.seek(-1, os.SEEK_END)
        f.write(bytes([-total & 0xff]))


def make_images(out, kernel, initrds, args):
    """Makes everything that the machine finds in its memory when it starts."""
    with open(kernel, "rb") as f:
        bzimage = f.read()
    end = write_high_image(os.path.join(out, "high"), bzimage, initrds)
    if end > FRESH:
        raise RuntimeError(f"kernel and initramfs end at {end:#x}, beyond {FRESH:#x}")
    with open(os.path.join(out, "setup"), "wb") as f:
        f.write(setup_image(bzimage, f"{KERNEL_ARGS} {args}",
                            end - initrd_base(bzimage)))
    with open(os.path.join(out, "page"), "wb") as f:
        f.write(bytes(512))
    make_loader(os.path.join(out, "loader"), end)


def write_bochsrc(out, cpus, features=""):
    with open(os.path.join(HERE, "bochsrc.in")) as f:
        text = f.read()
    for word, value in (("CPUS", cpus), ("MEMORY", MEMORY), ("IPS", IPS),
                        ("FEATURES", f"sca_mitigations {features}".strip()),
                        ("ROM", hex(ROM_BASE)), ("SETUP", hex(SETUP_BASE)),
                        ("PAGE", hex(PAGE_OF_BIOS)), ("IMAGE", hex(IMAGE_BASE))):
        text = text.replace(f"@{word}@", str(value))
    with open(os.path.join(out, "bochsrc"), "w") as f:
        f.write(text)


def die_with_parent():
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Machine:
    """A running Bochs."""

    def __init__(self, out, bochs=BOCHS):
        self.out = out
        self.bochs = bochs
        self.offset = {"console": 0, "output": 0}
        for name in self.offset:
            open(os.path.join(out, name), "w").close()
        self.start()

    def start(self):
        with open(os.path.join(self.out, "said"), "wb") as said:
            self.process = subprocess.Popen(
                [self.bochs, "-q", "-f", "bochsrc"], cwd=self.out, stdin=subprocess.DEVNULL,
                stdout=said, stderr=said, start_new_session=True, preexec_fn=die_with_parent)

    def lines(self, name):
        """Returns the whole lines that a serial file got since the last call."""
        with open(os.path.join(self.out, name), "rb") as f:
            f.seek(self.offset[name])
            data = f.read()
        end = data.rfind(b"\n") + 1
        self.offset[name] += end
        return data[:end].decode(errors="replace").replace("\r", "").splitlines()

    def running(self):
        return self.process.poll() is None

    def kill(self):
        if self.running():
            self.process.kill()
        self.process.wait()
