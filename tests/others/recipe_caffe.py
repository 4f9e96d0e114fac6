# SPDX-License-Identifier: Apache-2.0
"""tests of BVLC's Caffe 1.0 on the GPU (github.com/BVLC/caffe): a test is one of its test cases

bench/caffe/build.mk builds it, without cuDNN. WH_CAFFE_BUILT is a folder with what it builds, to
be taken as it is. Of cases that Caffe has for the CPU too, those for the GPU run.
"""
import os
import re
import subprocess

from suite import NotBuilt

NATIVE_RUNS = 3
HERE = os.path.dirname(os.path.abspath(__file__))
MAKEFILE = os.path.join(os.path.dirname(os.path.dirname(HERE)), 'bench', 'caffe', 'build.mk')
PROGRAMS = 'caffe', 'test_caffe', 'digits'
# The headers that the build includes, and the Debian packages that have them.
HEADERS = {
    'google/protobuf/message.h': 'libprotobuf-dev', 'glog/logging.h': 'libgoogle-glog-dev',
    'gflags/gflags.h': 'libgflags-dev', 'boost/shared_ptr.hpp': 'libboost-dev',
    'hdf5/serial/hdf5.h': 'libhdf5-dev', 'lmdb.h': 'liblmdb-dev', 'cblas.h': 'libopenblas-dev',
}
LIBRARIES = {
    'libboost_system.so': 'libboost-system-dev', 'libboost_filesystem.so': 'libboost-filesystem-dev',
    'libboost_thread.so': 'libboost-thread-dev', 'libopenblas.so': 'libopenblas-dev',
}


def missing():
    """Returns the Debian packages that have to be installed."""
    asked = ''.join(f'#if !__has_include(<{h}>)\nmissing {h}\n#endif\n' for h in HEADERS)
    try:
        said = subprocess.run(['g++', '-E', '-P', '-x', 'c++', '-'], input=asked, stdout=subprocess.PIPE, text=True,
                              check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ['g++']
    packages = {HEADERS[h] for h in re.findall(r'missing (\S+)', said)}
    for name, package in LIBRARIES.items():
        # The compiler answers with the name alone where it finds no file.
        found = subprocess.run(['g++', '-print-file-name=' + name], stdout=subprocess.PIPE, text=True).stdout
        if not os.path.isabs(found.strip()):
            packages.add(package)
    return sorted(packages)


def build_caffe(suite):
    """Builds Caffe in the suite's work folder, or takes what is built. Returns the folder of its programs."""
    suite.has('src/caffe/test/test_data', 'name a checkout of BVLC/caffe')
    built = os.environ.get('WH_CAFFE_BUILT')
    if built:
        for name in PROGRAMS:
            if not os.access(os.path.join(built, name), os.X_OK):
                raise NotBuilt(f'{built} has no program {name}')
        return os.path.abspath(built)
    suite.has('tools/caffe.cpp', 'name a checkout of BVLC/caffe')
    lacks = missing()
    if lacks:
        raise NotBuilt('Debian packages are missing; install them by: apt-get install ' + ' '.join(lacks))
    suite.needs('nvcc', 'make', 'protoc')
    made = os.path.join(suite.work, 'build')
    suite.sh('make', '-f', MAKEFILE, f'-j{suite.jobs}', 'CAFFE=' + suite.source, 'O=' + made,
             'CODE=' + ' '.join(suite.code()))
    return made


def cases(said):
    """Yields (name, filter) of each test case that `--gtest_list_tests` prints."""
    instances = {}
    for line in said.splitlines():
        case = re.match(r'(\w+)(/\d+)?\.', line)
        if case:
            instances.setdefault(case[1], []).append(case[2] or '')
    for name, of in instances.items():
        # Four instances are two types on the CPU and then the same two on the GPU.
        wanted = of[2:] if len(of) == 4 else of
        yield name, ':'.join(f'{name}{i}.*' for i in wanted)


def build(suite):
    made = build_caffe(suite)
    program = os.path.join(made, 'test_caffe')
    suite.env['GLOG_minloglevel'] = '2'
    said = suite.sh(program, '--gtest_list_tests', env=dict(suite.worlds.native, GLOG_minloglevel='2'))
    for name, names in cases(said):
        # Caffe's tests read their data from below the folder of its checkout.
        suite.add_command(name, 'sh', '-c', 'cd "$1" && exec "$2" "--gtest_filter=$3"', 'sh', suite.source, program,
                          names)


def mask(line):
    return line


def passed(line):
    # The sum at the end names a failed one again, without a time.
    case = re.match(r'\[ (OK|FAILED) \] \S.* \(# ms\)$', line)
    return case and case[1] == 'OK'
