# SPDX-License-Identifier: Apache-2.0
"""Builds NVIDIA's CUDA samples for samples_test.sh.

build_samples.py SOURCE WORK OUT [CMAKE OPTION...]

SOURCE is a checkout of https://github.com/NVIDIA/cuda-samples at v13.0, which is left as it is;
WORK is for the build. OUT becomes the folder that WH_SAMPLES names: OUT/NAME has NAME, linked
with the shared runtime, for each third sample NAME-static as well, its data, and in `args` the
arguments of each run. The script needs nvcc, cmake and ninja. A sample is left out if this
machine lacks what it needs (OpenGL, Vulkan, MPI, NPP, ...). Samples that draw are not wanted
(GRAPHICS). WH_ARCH is the device's architecture (90).
"""
import json
import os
import re
import shutil
import subprocess
import sys

GRAPHICS = ('EGLStream_CUDA_CrossGPU EGLStream_CUDA_Interop Mandelbrot SobelFilter bicubicTexture bilateralFilter '
            'boxFilter fluidsGL imageDenoising marchingCubes nbody oceanFFT particles postProcessGL randomFog '
            'recursiveGaussian simpleCUDA2GL simpleGL smokeParticles volumeFiltering volumeRender').split()
# No data are sources, papers, and what was left of earlier runs.
NO_DATA = re.compile(r'(^|/)(\.|CMake|cmake_|Makefile)|'
                     r'\.(cpp|c|h|hpp|hxx|cuh|inl|txt|md|cmake|docx?|pdf|xls|vsd|gif|png|svg|json|ninja|o|JPG|flo)$')
KINDS = {'': 'shared', '-static': 'static'}


def output(*command, cwd=None):
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=True).stdout


def configure(source, tree, build, options):
    """Configures one architecture, without line information, which would be most of a program."""
    shutil.copytree(source, tree, ignore=shutil.ignore_patterns('.git', 'doc'))
    arch = os.environ.get('WH_ARCH', '90')
    for path, _, names in os.walk(tree):
        if 'CMakeLists.txt' in names:
            with open(path + '/CMakeLists.txt', 'r+') as f:
                text = re.sub(r'(CMAKE_CUDA_ARCHITECTURES) [0-9 ]+\)', rf'\1 {arch})', f.read())
                # NVIDIA's wheels have no static cuFFT, which the callbacks need.
                text = text.replace(' -lineinfo', '').replace('add_subdirectory(simpleCUFFT_callback)', '')
                f.seek(0)
                f.truncate()
                f.write(text)
    # A release build would have no assertions, and one sample is about them.
    optimize = [f'-DCMAKE_{language}_FLAGS=-O2' for language in ('C', 'CXX', 'CUDA')]
    subprocess.run(['cmake', '-G', 'Ninja', '-S', tree, '-B', build, *optimize,
                    '-DCMAKE_CUDA_RUNTIME_LIBRARY=Shared', *options], check=True)


def build_all(build):
    """Builds all and returns the paths under build of the programs that could be built."""
    targets = output('ninja', '-t', 'targets', 'all', cwd=build)
    made = re.findall(r'^(Samples/[^:]*): \S*_EXECUTABLE_LINKER', targets, re.M)
    wanted = [m for m in made if os.path.basename(m) not in GRAPHICS]
    subprocess.run(['ninja', '-k', '0', f'-j{os.environ.get("JOBS", os.cpu_count())}', *wanted], cwd=build)
    return [m for m in wanted if os.path.exists(os.path.join(build, m))]


def copy_data(folder, to, program):
    for path, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if f not in ('CMakeFiles', 'doc', '.vscode')]
        for n in names:
            name = os.path.relpath(os.path.join(path, n), folder)
            kernels = n.endswith('.cu') and 'nvrtc' in program
            if n == program or NO_DATA.search(name) or (n.endswith('.cu') and not kernels):
                continue
            os.makedirs(os.path.dirname(os.path.join(to, name)), exist_ok=True)
            shutil.copy(os.path.join(path, n), os.path.join(to, name))


def link_static(build, program, to):
    """Links the same objects with the other runtime."""
    link = [c for c in output('ninja', '-t', 'commands', '-s', program, cwd=build).split(' && ')
            if f' -o {program} ' in c][0]
    link = re.sub(r'\S*libcudart\.so\S*|-lcudart\b', '-lcudart_static -lrt -ldl -lpthread', link)
    lib = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(shutil.which('nvcc')))), 'lib64')
    subprocess.run(link.replace(f' -o {program} ', f' -L{lib} -o {to} '), shell=True, cwd=build, check=True)


def write_args(known, path):
    runs = known.get('runs') or ([known] if 'args' in known else [])
    if runs:
        with open(path, 'w') as f:
            f.writelines(' '.join(r['args']) + '\n' for r in runs)


def main():
    source, work, out = (os.path.abspath(p) for p in sys.argv[1:4])
    tree, build = work + '/source', work + '/build'
    if not os.path.exists(build + '/build.ninja'):
        configure(source, tree, build, sys.argv[4:])
    with open(source + '/test_args.json') as f:
        known = json.load(f)
    of_kind = {k: 0 for k in KINDS.values()}
    for program in build_all(build):
        name, folder = os.path.basename(program), os.path.dirname(program)
        to = os.path.join(out, name)
        os.makedirs(to)
        copy_data(os.path.join(tree, folder), to, name)
        copy_data(os.path.join(build, folder), to, name)
        shutil.copy(os.path.join(build, program), to)
        write_args(known.get(name, {}), to + '/args')
        of_kind['shared'] += 1
        if of_kind['shared'] % 3 == 0 and 'libcudart.so' in output('readelf', '-d', f'{to}/{name}'):
            link_static(build, program, f'{to}/{name}-static')
            of_kind['static'] += 1
        # Symbols must stay, because a static runtime is redirected by the symbol table.
        built = [f'{to}/{name}{s}' for s in KINDS]
        subprocess.run(['strip', '--strip-debug', *filter(os.path.exists, built)], check=True)
    print(', '.join(f'{n} {k}' for k, n in of_kind.items()))


main()
