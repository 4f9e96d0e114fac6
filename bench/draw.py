#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a picture: draw.py SCRIPT OUT [VARIABLE=TEXT...] runs gnuplot's script with these variables and writes an SVG.

gnuplot starts a group anew for each tick and grid line, most of them empty, and defines marks and filters that
nothing uses. What is left here draws the same, with an element a line.
"""
import os
import subprocess
import sys
import xml.etree.ElementTree as ET

SVG, LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
GROUP, TITLE, DEFS = (f"{{{SVG}}}{name}" for name in ("g", "title", "defs"))
TEXTS = {f"{{{SVG}}}{name}" for name in ("text", "tspan", "title", "desc")}


def is_empty(e):
    """Does it draw nothing?"""
    if e.tag in TEXTS:
        return not "".join(e.itertext()).strip()
    return e.tag == GROUP and all(c.tag == TITLE or is_empty(c) for c in e)


def may_join(a, b):
    return a.tag == b.tag == GROUP and a.attrib == b.attrib and "id" not in a.attrib


def squeeze(e):
    kept = []
    for c in e:
        if c.tag in TEXTS:
            kept += [] if is_empty(c) else [c]
            continue
        squeeze(c)
        if is_empty(c):
            continue
        if kept and may_join(kept[-1], c):
            kept[-1].extend(c)
        else:
            kept.append(c)
    e[:] = kept
    if "d" in e.attrib:
        e.set("d", " ".join(e.get("d").split()))


def drop_unused(root):
    """Leaves of the definitions those that something names."""
    for defs in root.iter(DEFS):
        while True:
            named = " ".join(v for e in root.iter() for k, v in e.attrib.items() if k != "id") + " "
            unused = [d for d in defs if not any(f"#{d.get('id')}{end}" in named for end in " )'")]
            if not unused:
                break
            for d in unused:
                defs.remove(d)


def lay_out(e):
    """An element a line; a text, and what has one child alone, is one line with it."""
    e.tail = "\n"
    if e.tag in TEXTS or not len(e):
        return
    for c in e:
        lay_out(c)
    e.text = "\n"
    if len(e) == 1 and (e[0].tag in TEXTS or not len(e[0])):
        e.text, e[0].tail = "", ""


def squeezed(text):
    """The picture, of gnuplot's."""
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", LINK)
    root = ET.fromstring(text)
    squeeze(root)
    drop_unused(root)
    lay_out(root)
    return ET.tostring(root, encoding="unicode")


def draw(script, out, folder=None, **variables):
    """Runs gnuplot's script in the folder; raises what subprocess.run() and open() do."""
    words = "; ".join(f"{k}='{v}'" if isinstance(v, str) else f"{k}={v}" for k, v in {**variables, "out": out}.items())
    subprocess.run(["gnuplot", "-e", words, script], cwd=folder, check=True)
    with open(out, encoding="utf-8") as f:
        picture = squeezed(f.read())
    with open(out + ".new", "w", encoding="utf-8") as f:
        f.write(picture)
    os.replace(out + ".new", out)


if __name__ == "__main__":
    draw(*sys.argv[1:3], **dict(w.split("=", 1) for w in sys.argv[3:]))
