# SPDX-License-Identifier: Apache-2.0
"""What a recipe works with. A recipe is recipe_NAME.py with

    build(suite)    makes suite.out, a folder of programs as tests/gpu/samples.py takes them
    mask(line)      returns the line without what is free to change, or None to leave it out
    passed(line)    whether the line says that a case of theirs passed, or failed; None for others (optional)
    failure(lines)  says how a test failed that ended with status 0; or None (optional)
    NATIVE_RUNS     how often a program that differs runs natively, to see what changes there too

Its first line of documentation is what `run.py --help` prints. A recipe has no code of the suite.
"""
import os
import re
import shlex
import shutil
import subprocess

ANSI = re.compile(r'\x1b\[[0-9;]*m')


class NotBuilt(Exception):
    """Says why a suite has no tests to run, and what would help."""


class Suite:
    def __init__(self, args, name, work, recipe, worlds):
        self.name, self.source, self.recipe, self.worlds = name, args.folders[name], recipe, worlds
        self.backend, self.arch, self.python, self.jobs = args.backend, args.arch, args.python, args.jobs
        self.words = args.only.split()
        self.env = {}         # variables that its programs get both ways
        self.left_out = []    # a sentence for each test that did not build
        self.work = os.path.join(work, name)
        self.out, self.runs = os.path.join(self.work, 'out'), os.path.join(self.work, 'runs')
        os.makedirs(self.work, exist_ok=True)
        for p in self.out, self.runs:
            shutil.rmtree(p, ignore_errors=True)
            os.makedirs(p)

    def wanted(self, name):
        return not self.words or any(w in name for w in self.words)

    def needs(self, *tools):
        for t in tools:
            if not shutil.which(t):
                raise NotBuilt(f'{t} is not installed; the recipe builds with it')

    def has(self, path, what):
        """Returns the path of a file of the suite."""
        p = os.path.join(self.source, path)
        if not os.path.exists(p):
            raise NotBuilt(f'{p} is not there; {what}')
        return p

    def sh(self, *command, cwd=None, env=None):
        """Runs a command of the build and returns its output; its last lines say why it failed."""
        said = subprocess.run(command, cwd=cwd or self.work, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
        if said.returncode:
            last = '\n'.join(said.stdout.splitlines()[-8:])
            raise NotBuilt(f'status {said.returncode} of: {shlex.join(command)}\n{last}')
        return said.stdout

    def code(self):
        """Returns nvcc's options: softgpu takes PTX alone."""
        code = f'compute_{self.arch}' if self.backend == 'softgpu' else f'[compute_{self.arch},sm_{self.arch}]'
        return [f'-gencode=arch=compute_{self.arch},code={code}']

    def add(self, name, path):
        """Takes a program as a test."""
        if self.wanted(name):
            os.makedirs(os.path.join(self.out, name), exist_ok=True)
            shutil.copy(path, os.path.join(self.out, name, name))

    def add_command(self, name, *command):
        """Takes a command as a test."""
        if self.wanted(name):
            folder = os.path.join(self.out, name)
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, name), 'w') as f:
                f.write(f'#!/bin/sh\nexec {shlex.join(command)}\n')
            os.chmod(os.path.join(folder, name), 0o755)


def without_colours(line):
    return ANSI.sub('', line)
