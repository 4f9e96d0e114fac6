#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compare what PyTorch does by cuSOLVER, cuBLAS, cuSPARSE and cuDNN with what it does on the CPU.

Usage: torch_libraries.py linalg|sparse|dnn. The exit status is 0 if all agree. Each operation is judged by values that
do not depend on signs or on the order of equal things.
"""
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(1)
A = torch.randn(20, 20)
B = torch.randn(20, 3)
P = A @ A.T + 20 * torch.eye(20)
SPARSE = A * (A > 0.5)
X = torch.randn(2, 4, 9, 10)
W = torch.randn(6, 4, 3, 3)


def batch(m):
    return m.expand(3, *m.shape).contiguous()


def gradients(f, *inputs):
    inputs = [t.detach().requires_grad_() for t in inputs]
    y = f(*inputs)
    (y * y).sum().backward()
    return (y.detach(), *(t.grad for t in inputs))


def eigenvectors(m):
    w, v = torch.linalg.eigh(m)
    return w, v @ torch.diag(w) @ v.T


def decomposed(m):
    u, s, v = torch.linalg.svd(m, full_matrices=False)
    return s, u * s @ v


def normalised(x, w, b):
    return F.batch_norm(x, torch.zeros_like(w), torch.ones_like(w), w, b, training=True)


LINALG = {
    "cholesky": (torch.linalg.cholesky, P),
    "a batch of cholesky": (torch.linalg.cholesky, batch(P)),
    "a solution by cholesky": (lambda p, b: torch.cholesky_solve(b, torch.linalg.cholesky(p)), P, B),
    "an inverse by cholesky": (lambda p: torch.cholesky_inverse(torch.linalg.cholesky(p)), P),
    "qr": (lambda a: tuple(torch.linalg.qr(a)), A),
    "eigenvectors": (eigenvectors, P),
    "a batch of eigenvalues": (torch.linalg.eigvalsh, batch(P)),
    "svd": (decomposed, A),
    "svd of a tall matrix": (decomposed, torch.randn(30, 7)),
    "lu": (lambda a: torch.linalg.lu_factor(a)[0], A),
    "a solution": (torch.linalg.solve, A, B),
    "a batch of solutions": (torch.linalg.solve, batch(A), batch(B)),
    "an inverse": (torch.linalg.inv, P),
    "least squares": (lambda a, b: torch.linalg.lstsq(a, b).solution, P, B),
    "a triangle": (lambda p, b: torch.linalg.solve_triangular(p.triu(), b, upper=True), P, B),
}
OF_SPARSE = {
    "csr times a vector": (lambda s, b: s.to_sparse_csr() @ b[:, 0], SPARSE, B),
    "csr times a matrix": (lambda s, b: s.to_sparse_csr() @ b, SPARSE, B),
    "coo times a matrix": (lambda s, b: torch.sparse.mm(s.to_sparse(), b), SPARSE, B),
    "a product of two sparse ones": (lambda s: torch.sparse.mm(s.to_sparse(), s.to_sparse()).to_dense(), SPARSE),
    "a sampled product": (lambda s, b: torch.sparse.sampled_addmm(s.to_sparse_csr(), b, b.T.contiguous()).to_dense(),
                          SPARSE, B),
}
DNN = {
    "a convolution": (lambda x, w: gradients(lambda x, w: F.conv2d(x, w, padding=1), x, w), X, W),
    "groups and steps": (lambda x, w: gradients(lambda x, w: F.conv2d(x, w, stride=2, dilation=2, padding=2, groups=2),
                                                x, w), X, torch.randn(6, 2, 3, 3)),
    "a transposed convolution": (lambda x, w: gradients(lambda x, w: F.conv_transpose2d(x, w, stride=2), x, w),
                                 X, torch.randn(4, 5, 3, 3)),
    "a volume": (lambda x, w: gradients(lambda x, w: F.conv3d(x, w, padding=1), x, w),
                 torch.randn(1, 2, 4, 5, 6), torch.randn(3, 2, 3, 3, 3)),
    "batch normalisation": (lambda *a: gradients(normalised, *a), X, torch.randn(4), torch.randn(4)),
}


def differs(name, f, *inputs):
    """Return whether device and CPU disagree, after saying so."""
    there = f(*(t.cuda() for t in inputs))
    here = f(*inputs)
    if isinstance(here, torch.Tensor):
        there, here = (there,), (here,)
    for got, want in zip(there, here):
        most = (got.cpu() - want).abs().max().item()
        if not most <= 1e-4 * max(1, want.abs().max().item()):
            print(f"{name}: off by {most}")
            return True
    return False


def main():
    tests = {"linalg": LINALG, "sparse": OF_SPARSE, "dnn": DNN}[sys.argv[1]]
    if sys.argv[1] == "dnn" and not torch.backends.cudnn.is_available():
        sys.exit("PyTorch finds no cuDNN")
    sys.exit(any([differs(name, *test) for name, test in tests.items()]))


main()
