# SPDX-License-Identifier: Apache-2.0
"""What a program gets when it runs natively and forwarded: its environment, and the server."""
import glob
import os
import shutil
import subprocess
import sys


def capability(parser):
    """Returns the compute capability of the first GPU, as 90."""
    command = 'nvidia-smi', '--query-gpu=compute_cap', '--format=csv,noheader'
    try:
        said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as e:
        parser.error(f'{" ".join(command)}: {e}; without a GPU say --backend softgpu, or name --arch')
    return said.stdout.split()[0].replace('.', '')


class Worlds:
    """What a program gets natively and forwarded, and the server."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        base = dict(os.environ)
        # What softgpu is told holds both ways; nothing else of ours may reach a native program.
        for v in [v for v in base if v.startswith('WORMHOLE_') and not v.startswith('WORMHOLE_SOFTGPU_')]:
            del base[v]
        wheels = sorted(p for s in site_packages(args.python) for p in glob.glob(s + '/nvidia/*/lib'))
        libraries = ':'.join([p for p in args.libraries.split(':') if p] + wheels)
        self.libraries = libraries
        # Programs that nvcc links with the shared runtime find it natively, too.
        nvcc = shutil.which('nvcc')
        toolkit = nvcc and os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))), 'lib64')
        path = [p for p in (libraries, base.get('LD_LIBRARY_PATH'), toolkit) if p]
        self.plain = dict(base, WORMHOLE_DIR=os.path.join(folder, 'server'))
        if path:
            self.plain['LD_LIBRARY_PATH'] = ':'.join(path)
        self.native = dict(self.plain)
        if args.backend == 'softgpu':
            self.softgpu_natively(path)

    def softgpu_natively(self, path):
        """Makes a folder of softgpu's libraries and Wormhole's runtime. What leads programs to the
        forwarding libraries leads them to their neighbours there, wherever it lies."""
        beside = os.path.join(self.folder, 'native')
        os.mkdir(beside)
        build = self.args.build
        for pattern in 'softgpu/lib*.so*', 'client-stubs/libcudart.so*', 'client-stubs/libwormhole-*.so':
            for p in glob.glob(os.path.join(build, pattern)):
                shutil.copy(p, beside)
        self.native.update(LD_LIBRARY_PATH=':'.join([beside] + path),
                           LD_AUDIT=os.path.join(beside, 'libwormhole-audit.so'),
                           LD_PRELOAD=os.path.join(beside, 'libwormhole-preload.so'))
        # softgpu runs PTX alone; CuPy asks for it by these.
        for env in self.native, self.plain:
            env.update(CUPY_COMPILE_WITH_PTX='1', CUPY_ACCELERATORS='')

    def __enter__(self):
        env = dict(self.plain)
        # Workers of root's server are other users, who may be unable to reach the build folder.
        if os.geteuid() == 0 and subprocess.run(['setpriv', '--reuid', '65534', '--clear-groups', 'test', '-r',
                                                 os.path.join(self.args.build, 'server')]).returncode:
            env['WORMHOLE_WORKER_UID'] = 'none'
        command = [self.args.wormhole, 'serve', '--daemon']
        if self.args.backend == 'softgpu':
            command += ['--backend', 'softgpu']
        if self.libraries and self.args.backend == 'driver':
            command += ['--libraries', self.libraries]
        said = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              stdin=subprocess.DEVNULL)
        if said.returncode:
            sys.exit(f'error: {" ".join(command)} does not start:\n{said.stdout}')
        return self

    def __exit__(self, *_):
        subprocess.run([self.args.wormhole, 'stop', '--force'], env=self.plain, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)


def site_packages(python):
    said = subprocess.run([python, '-c', 'import sys; print("\\n".join(sys.path))'], stdout=subprocess.PIPE, text=True)
    return [p for p in said.stdout.splitlines() if p.endswith('-packages')]
