# SPDX-License-Identifier: Apache-2.0
"""Functions that all parts of `make bench` share: paths, tables, figures, and the environment
that is printed beside each part. They judge nothing."""
import datetime
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from draw import draw

TOP = os.environ.get("WH_TOP") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("WH_BUILD") or os.path.join(TOP, "build")
OUT = os.path.join(BUILD, "bench")
trial = False   # figures that no page of docs/ may have
QUICK = bool(os.environ.get("WH_BENCH_QUICK"))  # for a trial: a tenth of the time, with worse figures


class Missing(Exception):
    """Something that a part needs is missing. The message replaces the part's section."""


class Stopped(Missing):
    """A program took longer than it may."""


def say(text):
    print(f"# bench: {text}", file=sys.stderr, flush=True)


def pick(quick, full):
    return quick if QUICK else full


# --- Programs ----------------------------------------------------------------------

def stop(process):
    """Stop a process and all that it started. The first signal is one at which scripts end their servers."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(10)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            pass


def script(name, *args, seconds=600, **variables):
    """Return the output of bench/NAME. Raises Missing if it fails, and Stopped if it takes too long."""
    env = dict(os.environ, WH_TOP=TOP, WH_BUILD=BUILD, **variables)
    with subprocess.Popen([os.path.join(TOP, "bench", name), *map(str, args)], stdout=subprocess.PIPE, text=True,
                          env=env, start_new_session=True) as process:
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            stop(process)
            raise Stopped(f"bench/{name} took longer than {seconds} s") from None
        except BaseException:
            stop(process)
            raise
    if process.returncode:
        raise Missing(f"bench/{name} failed with status {process.returncode}: see above")
    return said


# --- The environment ---------------------------------------------------------------

def output(*argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def commit():
    """Return the commit. Changes of the files that are written here do not count as changes."""
    if os.environ.get("WH_COMMIT"):
        return os.environ["WH_COMMIT"]
    head = output("git", "-C", TOP, "rev-parse", "--short=12", "HEAD")
    changed = output("git", "-C", TOP, "status", "--porcelain", "--", ".", ":!docs/results.md", ":!docs/figures")
    return head + ("-dirty" if changed else "") if head else "unknown"


def results():
    """Return the folder for results.md and figures/: docs/, or OUT for a trial, or if the tree differs from its commit."""
    return OUT if trial or commit().endswith(("-dirty", "unknown")) else os.path.join(TOP, "docs")


def version(*argv):
    m = re.search(r"\d+(\.\d+)+", output(*argv))
    return m[0] if m else "unknown"


def first(path, pattern):
    with open(path) as f:
        m = re.search(pattern, f.read(), re.M)
    return m[1].strip() if m else "unknown"


def ticks():
    """Return the ticks of all CPUs since the machine's start: all of them, and those at work."""
    with open("/proc/stat") as f:
        n = [int(x) for x in f.readline().split()[1:9]]
    return sum(n), sum(n) - n[3] - n[4]     # without idle and iowait


def others():
    """Return the part of the CPUs that works during a second in which the bench does nothing."""
    whole, work = ticks()
    time.sleep(1)
    whole, work = (b - a for a, b in zip((whole, work), ticks()))
    return work / max(whole, 1)


def busy(before, after):
    """Return a warning if other work had the CPUs. The load average would also count the bench's own work."""
    if max(before, after) <= 0.15:
        return ""
    return "\n\n" + wrap("**Other work had this machine's CPUs meanwhile.** Times here say little and are to be measured "
                         "again on a quiet machine. Counts of the emulated host do not depend on it.")


class Environment:
    """The environment of one part: read at its start, described at its end."""

    def __init__(self, timed=True):
        self.before = others()
        self.timed = timed      # the clock depends on what else runs

    def text(self, *more):
        """Return the description. `more` has this part's own words."""
        after = others()
        words = [f"commit {commit()}", f"{datetime.date.today().isoformat()}", *more]
        machine = [f"{first('/proc/cpuinfo', r'^model name[^:]*:(.*)')}, {os.cpu_count()} CPUs, "
                   f"kernel {os.uname().release}, compiler {version('gcc', '--version')}",
                   f"other work had {100 * self.before:.0f} % of the CPUs before, {100 * after:.0f} % after"]
        return wrap(f"Environment: {'; '.join(words)}. Machine: {'; '.join(machine)}.") + (
            busy(self.before, after) if self.timed else "")


def has_vmx():
    """Return true if this host can replace the emulator: VMX, and a KVM with the series."""
    with open("/proc/cpuinfo") as f:
        return " vmx " in f.read() and os.path.exists("/dev/kvm-wormhole")


def clock():
    """Return the clock of programs in the client VM: units per second, and their name. The
    emulator's clock counts instructions."""
    return (1e9, "nanoseconds") if has_vmx() else (100e6, "instructions")


# --- Text --------------------------------------------------------------------------

def number(x, digits=0):
    return f"{x:,.{digits}f}"


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def spread(values):
    values = sorted(values)
    return values[0], values[len(values) // 2], values[-1]


def table(head, rows):
    """Return a Markdown table that is also readable as plain text."""
    rows = [head] + [[str(c) for c in r] for r in rows]
    width = [max(len(r[i]) for r in rows) for i in range(len(head))]

    def line(r):
        return "| " + " | ".join(c.ljust(w) if i == 0 else c.rjust(w)
                                 for i, (c, w) in enumerate(zip(r, width))) + " |"

    rule = "|" + "|".join("-" * (w + 1) + ("-" if i == 0 else ":") for i, w in enumerate(width)) + "|"
    return "\n".join([line(rows[0]), rule] + [line(r) for r in rows[1:]])


def wrap(text):
    """Return a paragraph in lines of at most 118 columns."""
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > 118:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return "\n".join(lines + [line])


def items(*texts):
    """A list in such lines."""
    return "\n".join(wrap("- " + text).replace("\n", "\n  ") for text in texts)


# --- Figures -----------------------------------------------------------------------

def write_data(name, rows):
    """Write OUT/NAME.dat: columns for gnuplot, with text in quotes."""
    os.makedirs(OUT, exist_ok=True)
    path = os.path.join(OUT, name + ".dat")
    with open(path, "w") as f:
        for row in rows:
            f.write("\t".join(f'"{c}"' if isinstance(c, str) else str(c) for c in row) + "\n")
    return path


def plot(name, script, title, unit="", **numbers):
    """Make docs/figures/NAME.svg with bench/plots/SCRIPT.gp from OUT/NAME.dat. Return the line that shows it.
    `numbers` are variables of the script's own."""
    if not shutil.which("gnuplot"):
        return "No figure: gnuplot is not installed (Debian package gnuplot-nox)."
    figures = os.path.join(results(), "figures")
    os.makedirs(figures, exist_ok=True)
    draw(os.path.join(TOP, "bench/plots", script + ".gp"), f"{figures}/{name}.svg", dat=f"{OUT}/{name}.dat", unit=unit,
         plots=f"{TOP}/bench/plots", **numbers)
    return f"![{title}](figures/{name}.svg)"
