#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks files against the rules of the Container Device Interface's specification 0.5.0 for their
members."""
import json
import re
import sys

LABEL = r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?"


def members(path, o, must, may=()):
    assert isinstance(o, dict), f"{path} is no object"
    assert set(must) <= set(o), f"{path} lacks {set(must) - set(o)}"
    assert set(o) <= set(must) | set(may), f"{path} has {set(o) - set(must) - set(may)}"


def mount(path, m):
    members(path, m, ("hostPath", "containerPath"), ("options", "type"))
    assert m["hostPath"].startswith("/") and m["containerPath"].startswith("/"), f"{path}: relative"
    assert all(isinstance(o, str) for o in m.get("options", [])), f"{path}: options"


def hook(path, h):
    members(path, h, ("hookName", "path"), ("args", "env", "timeout"))
    assert h["hookName"] in ("prestart", "createRuntime", "createContainer", "startContainer",
                             "poststart", "poststop"), f"{path}: hookName"
    assert h["path"].startswith("/"), f"{path}: relative"
    assert all(isinstance(a, str) for a in h.get("args", [])), f"{path}: args"


def edits(path, e):
    members(path, e, (), ("env", "deviceNodes", "mounts", "hooks"))
    assert all(re.fullmatch(r"[^=]+=.*", v) for v in e.get("env", [])), f"{path}: env"
    for i, m in enumerate(e.get("mounts", [])):
        mount(f"{path}.mounts[{i}]", m)
    for i, h in enumerate(e.get("hooks", [])):
        hook(f"{path}.hooks[{i}]", h)


def check(path):
    with open(path, encoding="utf-8") as f:
        spec = json.load(f)
    members(path, spec, ("cdiVersion", "kind", "devices"), ("containerEdits",))
    assert spec["cdiVersion"] == "0.5.0", f"{path}: version"
    assert re.fullmatch(f"{LABEL}/{LABEL}", spec["kind"]), f"{path}: kind"
    assert spec["devices"], f"{path}: no devices"
    for d in spec["devices"]:
        members(path, d, ("name", "containerEdits"))
        assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?", d["name"]), f"{path}: name"
        edits(path, d["containerEdits"])


for name in sys.argv[1:]:
    try:
        check(name)
    except AssertionError as e:
        print(e)
