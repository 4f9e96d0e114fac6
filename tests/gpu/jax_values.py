#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what people do with JAX, in the same form as torch_values.py.

usage: jax_values.py [WORD...]  only tests with a word in their names
"""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# Without this XLA chooses its kernels by how long they take, and values differ from run to run.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_autotune_level=0 --xla_gpu_deterministic_ops=true"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.experimental import sparse  # noqa: E402

from values import bits_of, main, rough_of, test  # noqa: E402


def rnd(*shape, dtype=np.float32):
    return jnp.asarray(np.random.standard_normal(shape).astype(dtype))


def bits(*arrays):
    return bits_of(np.asarray(a) for a in arrays)


def rough(*arrays):
    return rough_of(np.asarray(a) for a in arrays)


@test
def runs_on_the_gpu():
    return jax.devices()[0].platform + f" {len(jax.devices())}"


@test
def elementwise_and_reductions():
    x = rnd(1000, 30)
    return bits(jnp.exp(x) + 2 * x, x.sum(0), x.argmax(), jnp.where(x > 0, x, 0))


@test
def matmul():
    return bits(rnd(64, 48) @ rnd(48, 32), jnp.einsum("bij,bjk->bik", rnd(4, 8, 9), rnd(4, 9, 7)),
                rnd(128, 128).astype(jnp.bfloat16) @ rnd(128, 128).astype(jnp.bfloat16))


@test
def jit_and_grad():
    @jax.jit
    def loss(w, x):
        return jnp.mean(jnp.tanh(x @ w) ** 2)
    return rough(jax.grad(loss)(rnd(32, 16), rnd(8, 32)))


@test
def sparse_products():
    a = np.random.standard_normal((60, 40)) * (np.random.random_sample((60, 40)) < 0.1)
    a = sparse.CSR.fromdense(jnp.asarray(a.astype(np.float32)))
    return rough(a @ rnd(40), a @ rnd(40, 3), a.todense())


@test
def vmap_and_scan():
    y = jax.vmap(lambda a, b: jnp.dot(a, b))(rnd(20, 8), rnd(20, 8))
    c, z = lax.scan(lambda c, x: (c * 0.9 + x, c), jnp.zeros(4), rnd(50, 4))
    return bits(y, c, z)


@test
def convolution():
    return rough(lax.conv_general_dilated(rnd(2, 3, 16, 16), rnd(4, 3, 3, 3), (1, 1), "SAME"))


@test
def fft():
    z = rnd(8, 64) + 1j * rnd(8, 64)
    return bits(jnp.fft.fft(z), jnp.fft.irfft(jnp.fft.rfft(rnd(4, 50))), jnp.fft.fft2(z))


@test
def decompositions():
    a = rnd(24, 24)
    p = a @ a.T + 24 * jnp.eye(24)
    return rough(jnp.linalg.cholesky(p), jnp.linalg.eigvalsh(p), jnp.linalg.svd(a, compute_uv=False),
                 jnp.linalg.qr(a)[1], jnp.linalg.solve(p, rnd(24)))


@test
def sorting():
    x = rnd(10000)
    return bits(jnp.sort(x), jnp.argsort(x), lax.top_k(x, 20)[0])


@test
def random_numbers():
    k = jax.random.PRNGKey(7)
    return bits(jax.random.normal(k, (1000,)), jax.random.randint(k, (100,), 0, 50), jax.random.permutation(k, 100))


@test
def training():
    def loss(p, x, y):
        h = jax.nn.relu(x @ p[0])
        return jnp.mean((h @ p[1] - y) ** 2)
    step = jax.jit(lambda p, x, y: jax.tree.map(lambda w, g: w - 0.1 * g, p, jax.grad(loss)(p, x, y)))
    p = (rnd(16, 32) / 4, rnd(32, 2) / 6)
    for _ in range(5):
        p = step(p, rnd(8, 16), rnd(8, 2))
    return rough(*p)


@test
def transfers():
    x = np.arange(1 << 20, dtype=np.float32)
    y = jax.device_put(x)
    empty = jax.device_put(np.zeros(0, np.float32))
    return bits(y + 1, empty)


if __name__ == "__main__":
    main(lambda: np.random.seed(1234))
