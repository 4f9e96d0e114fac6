#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Solves small problems by torch.linalg and torch.sparse, or by cupy.linalg and cupyx.scipy.sparse.
Each result is checked by the property that it must have, and kept.

usage: solver_values.py torch|cupy RESULTS.npz
       solver_values.py compare RESULTS.npz RESULTS.npz	values of two runs
"""
import sys

import numpy as np

kept = {}
wrong = 0


def keep(name, residual, *arrays):
    """Keeps a problem's results. The residual is relative, and is 0 for the right answer."""
    global wrong
    for i, a in enumerate(arrays):
        kept[f"{name} {i}"] = a
    precise = any(a.dtype in (np.float64, np.complex128) for a in arrays)
    limit = 1e-9 if precise else 3e-3
    right = residual < limit
    wrong += not right
    print("right" if right else "not right", name, f"{residual:.2e}", flush=True)


def attempt(name, function, *args):
    global wrong
    try:
        function(name, *args)
    except Exception as e:  # the others must run as well
        wrong += 1
        print("not right", name, type(e).__name__, str(e)[:300].replace("\n", " "), flush=True)


def compare(one, other):
    a, b = np.load(one), np.load(other)
    bad = sorted(set(a.files) ^ set(b.files))
    for name in bad:
        print("only in one:", name)
    for name in sorted(set(a.files) & set(b.files)):
        x, y = a[name], b[name]
        loose = x.dtype not in (np.float64, np.complex128)
        # Sums of atomic operations have no fixed order, so they may differ.
        if x.shape != y.shape or x.dtype != y.dtype or \
                not np.allclose(x, y, rtol=1e-3 if loose else 1e-8, atol=1e-4 if loose else 1e-9):
            bad.append(name)
            where = np.abs(x - y).max() if x.shape == y.shape else (x.shape, y.shape)
            print("differs:", name, where)
    print(len(a.files), "arrays,", len(bad), "differ")
    return 1 if bad or not a.files else 0


# --- torch ---------------------------------------------------------------------------------

def with_torch():
    import torch
    torch.backends.cuda.preferred_linalg_library("cusolver")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(3)
    linalg, dev = torch.linalg, "cuda"

    def noise(*shape, dtype):
        return torch.randn(*shape, dtype=dtype).to(dev)

    def host(*tensors):
        return [t.detach().cpu().numpy() for t in tensors]

    def off(x, y):
        return float((x - y).abs().max() / y.abs().max().clamp(min=1))

    def positive(*shape, dtype):
        a = noise(*shape, dtype=dtype)
        return a @ a.mH + shape[-1] * torch.eye(shape[-1], dtype=dtype, device=dev)

    def cholesky(name, shape, dtype):
        a = positive(*shape, dtype=dtype)
        c = linalg.cholesky(a)
        b = noise(*shape[:-1], 3, dtype=dtype)
        x = torch.cholesky_solve(b, c)
        keep(name, max(off(c @ c.mH, a), off(a @ x, b)), *host(c, x))

    def lu(name, shape, dtype):
        a, b = noise(*shape, dtype=dtype), noise(*shape[:-1], 4, dtype=dtype)
        f, pivots = linalg.lu_factor(a)
        x = linalg.lu_solve(f, pivots, b)
        y = linalg.solve(a, b)
        inverse = linalg.inv(a)
        sign, logarithm = linalg.slogdet(a)
        keep(name, max(off(a @ x, b), off(a @ y, b),
                       off(a @ inverse, torch.eye(shape[-1], dtype=dtype, device=dev).expand(*shape))) / 10,
             *host(x, inverse, sign, logarithm))

    def qr(name, shape, dtype):
        a = noise(*shape, dtype=dtype)
        q, r = linalg.qr(a)
        packed, tau = torch.geqrf(a)
        b = noise(*shape[:-1], 2, dtype=dtype)
        keep(name, max(off(q @ r, a), off(torch.ormqr(packed, tau, b, transpose=True)[..., :r.shape[-2], :],
                                          q.mH @ b)), *host(q, r))

    def eigh(name, shape, dtype):
        a = positive(*shape, dtype=dtype)
        w, v = linalg.eigh(a)
        keep(name, max(off(v @ (w.to(dtype).unsqueeze(-1) * v.mH), a),
                       off(linalg.eigvalsh(a), w)), *host(w))

    def eig(name, shape, dtype):
        a = noise(*shape, dtype=dtype)
        w, v = linalg.eig(a)
        z = a.to(w.dtype)
        keep(name, off(z @ v, v * w.unsqueeze(-2)), *host(w.abs().sort().values))

    def svd(name, shape, dtype, driver):
        a = noise(*shape, dtype=dtype)
        u, s, v = linalg.svd(a, full_matrices=False, driver=driver)
        # The approximate solver is only held to what it promises.
        limit = 20 if driver == "gesvda" else 1
        keep(name, off(u @ (s.to(dtype).unsqueeze(-1) * v), a) / limit, *host(s))

    def lstsq(name, shape, dtype):
        a, b = noise(*shape, dtype=dtype), noise(*shape[:-1], 2, dtype=dtype)
        x = linalg.lstsq(a, b).solution
        keep(name, off(a.mH @ (a @ x), a.mH @ b), *host(x))

    def ldl(name, shape, dtype):
        a = noise(*shape, dtype=dtype)
        a = a + a.mT
        b = noise(*shape[:-1], 2, dtype=dtype)
        x = linalg.ldl_solve(*linalg.ldl_factor(a), b)
        keep(name, off(a @ x, b) / 10, *host(x))

    single, double, c64, c128 = torch.float32, torch.float64, torch.complex64, torch.complex128
    for dtype in (single, double, c64, c128):
        word = str(dtype).split(".")[1]
        for shape in ((7, 7), (200, 200), (5, 12, 12)):
            of = f"{word} {'x'.join(map(str, shape))}"
            attempt(f"cholesky {of}", cholesky, shape, dtype)
            attempt(f"lu {of}", lu, shape, dtype)
            attempt(f"eigh {of}", eigh, shape, dtype)
            for driver in ("gesvd", "gesvdj"):
                attempt(f"{driver} {of}", svd, shape, dtype, driver)
        for shape in ((9, 5), (150, 60), (3, 20, 8)):
            of = f"{word} {'x'.join(map(str, shape))}"
            attempt(f"qr {of}", qr, shape, dtype)
            attempt(f"lstsq {of}", lstsq, shape, dtype)
            for driver in ("gesvd", "gesvdj", "gesvda"):
                attempt(f"{driver} {of}", svd, shape, dtype, driver)
        attempt(f"ldl {word}", ldl, (30, 30), dtype)
        attempt(f"eig {word}", eig, (24, 24), dtype)

    # --- Sparse matrices
    def pattern(rows, cols, dtype, density=0.2):
        a = noise(rows, cols, dtype=dtype)
        return a * (torch.rand(rows, cols).to(dev) < density)

    def products(name, layout, dtype):
        a, b = pattern(64, 48, dtype), noise(48, 20, dtype=dtype)
        s = a.to_sparse(layout=layout)
        c = noise(64, 20, dtype=dtype)
        x, y = s @ b, torch.addmm(c, s, b, beta=0.5, alpha=2)
        keep(name, max(off(x, a @ b), off(y, 0.5 * c + 2 * (a @ b)), off(s @ b[:, 0], a @ b[:, 0])), *host(x, y))

    def sampled(name, dtype):
        p, a, b = pattern(40, 30, dtype), noise(40, 16, dtype=dtype), noise(16, 30, dtype=dtype)
        s = torch.sparse.sampled_addmm(p.to_sparse_csr(), a, b, beta=0.25, alpha=3).to_dense()
        keep(name, off(s, 0.25 * p + 3 * (a @ b) * (p != 0)), *host(s))

    def sparse_product(name, dtype):
        a, b = pattern(50, 40, dtype), pattern(40, 30, dtype)
        x = torch.sparse.mm(a.to_sparse_csr(), b.to_sparse_csr()).to_dense()
        y = torch.sparse.mm(a.to_sparse(), b.to_sparse()).to_dense()
        keep(name, max(off(x, a @ b), off(y, a @ b)), *host(x))

    def sparse_sum(name, dtype):
        a, b = pattern(50, 40, dtype), pattern(50, 40, dtype)
        x = torch.add(a.to_sparse_csr(), b.to_sparse_csr(), alpha=2).to_dense()
        keep(name, off(x, a + 2 * b), *host(x))

    def triangular(name, dtype, upper, columns):
        a = pattern(40, 40, dtype) + 8 * torch.eye(40, dtype=dtype, device=dev)
        a = a.triu() if upper else a.tril()
        b = noise(40, columns, dtype=dtype)
        x = torch.triangular_solve(b, a.to_sparse_csr(), upper=upper).solution
        keep(name, off(a @ x, b), *host(x))

    def blocks(name, dtype):
        a = pattern(32, 32, dtype)
        b = noise(32, 8, dtype=dtype)
        x = a.to_sparse_bsr((4, 4)) @ b
        keep(name, off(x, a @ b), *host(x))

    def gradient(name, dtype):
        a = pattern(30, 20, dtype)
        b = noise(20, 6, dtype=dtype).requires_grad_()
        torch.sparse.mm(a.to_sparse(), b).abs().sum().backward()
        x = a @ b
        want = a.mT @ torch.sign(x)
        keep(name, off(b.grad, want), *host(b.grad))

    for dtype in (single, double, c64, c128):
        word = str(dtype).split(".")[1]
        for layout in (torch.sparse_csr, torch.sparse_coo):
            attempt(f"product {layout} {word}", products, layout, dtype)
        attempt(f"sampled product {word}", sampled, dtype)
        attempt(f"sparse product {word}", sparse_product, dtype)
        attempt(f"sparse sum {word}", sparse_sum, dtype)
        attempt(f"blocks {word}", blocks, dtype)
        for upper in (False, True):
            for columns in (1, 5):
                attempt(f"triangular {upper} {columns} {word}", triangular, dtype, upper, columns)
    for dtype in (single, double):
        attempt(f"gradient {dtype}", gradient, dtype)


# --- cupy ----------------------------------------------------------------------------------

def with_cupy():
    import cupy as cp
    import cupyx.lapack
    import cupyx.scipy.linalg as scipy_linalg
    import cupyx.scipy.sparse as sparse
    import cupyx.scipy.sparse.linalg as sparse_linalg
    from cupyx import cusolver, cusparse
    r = np.random.RandomState(5)

    def noise(*shape, dtype):
        a = r.standard_normal(shape)
        if np.dtype(dtype).kind == "c":
            a = a + 1j * r.standard_normal(shape)
        return cp.asarray(a.astype(dtype))

    def host(*arrays):
        return [cp.asnumpy(a) for a in arrays]

    def off(x, y):
        return float(abs(x - y).max() / max(1, float(abs(y).max())))

    def t(a):
        return a.conj().swapaxes(-1, -2)

    def positive(*shape, dtype):
        a = noise(*shape, dtype=dtype)
        return a @ t(a) + shape[-1] * cp.eye(shape[-1], dtype=dtype)

    def dense(name, shape, dtype):
        a, p = noise(*shape, dtype=dtype), positive(*shape, dtype=dtype)
        b = noise(*shape[:-1], 3, dtype=dtype)
        c, x, inverse = cp.linalg.cholesky(p), cp.linalg.solve(a, b), cp.linalg.inv(p)
        w, v = cp.linalg.eigh(p)
        u, s, vh = cp.linalg.svd(a, full_matrices=False)
        worst = max(off(c @ t(c), p), off(a @ x, b) / 10, off(p @ inverse, cp.eye(shape[-1], dtype=dtype)),
                    off(v * w[..., None, :] @ t(v), p), off(u * s[..., None, :] @ vh, a),
                    off(cp.linalg.eigvalsh(p), w))
        keep(name, worst, *host(c, x, inverse, w, s))

    def factors(name, dtype):
        a, b = noise(40, 40, dtype=dtype), noise(40, 2, dtype=dtype)
        x = scipy_linalg.lu_solve(scipy_linalg.lu_factor(a), b)
        tall = noise(60, 20, dtype=dtype)
        q, rr = cp.linalg.qr(tall)
        y = cp.linalg.lstsq(tall, noise(60, 2, dtype=dtype), rcond=None)[0]
        z = cupyx.lapack.gesv(a, cp.array(b, order='F'))
        p = positive(40, 40, dtype=dtype)
        keep(name, max(off(a @ x, b) / 10, off(q @ rr, tall), off(a @ z, b) / 10,
                       off(p @ cupyx.lapack.posv(p, b), b)), *host(x, q, rr, y, z, cp.linalg.det(p / 40)))

    def mixed(name, function, dtype):
        a, b = noise(40, 40, dtype=dtype) + 20 * cp.eye(40, dtype=dtype), noise(40, 2, dtype=dtype)
        x = function(a, b)
        keep(name, off(a @ x, b), *host(x))

    def jacobi(name, dtype):
        a = noise(12, 8, dtype=dtype)
        u, s, v = cusolver.gesvdj(a, full_matrices=False)
        p, many = positive(8, 8, dtype=dtype), noise(4, 12, 6, dtype=dtype)
        w, e = cusolver.syevj(p)
        x, y, z = cusolver.gesvda(many)
        keep(name, max(off(u * s @ t(v), a), off(e * w @ t(e), p), off(x * y[..., None, :] @ t(z), many) / 20),
             *host(s, w, y))

    def matrix(rows, cols, dtype, density=0.2):
        a = noise(rows, cols, dtype=dtype)
        a[cp.asarray(r.random_sample((rows, cols)) > density)] = 0
        return a

    def products(name, form, dtype):
        a, b = matrix(60, 50, dtype), noise(50, 7, dtype=dtype)
        other, more = matrix(50, 30, dtype), matrix(60, 50, dtype)
        s = form(sparse.csr_matrix(a))
        sums = (sparse.csr_matrix(a) + sparse.csr_matrix(more) * 2).toarray()
        product = (s @ form(sparse.csr_matrix(other))).toarray()
        worst = max(off(s @ b, a @ b), off(s @ b[:, 0], a @ b[:, 0]), off(product, a @ other),
                    off(sums, a + 2 * more), off(s.T.toarray(), a.T), off(s.tocsc().toarray(), a),
                    off(s.tocoo().toarray(), a))
        keep(name, worst, *host(s @ b, sums))

    def duplicates(name, dtype):
        rows, cols = r.randint(0, 20, 200), r.randint(0, 20, 200)
        v = noise(200, dtype=dtype)
        s = sparse.coo_matrix((v, (cp.asarray(rows), cp.asarray(cols))), shape=(20, 20))
        want = np.zeros((20, 20), dtype)
        np.add.at(want, (rows, cols), cp.asnumpy(v))
        s.sum_duplicates()
        c = s.tocsr()
        c.sort_indices()
        keep(name, off(c.toarray(), cp.asarray(want)), *host(c.toarray()))

    def system(dtype, n=50):
        return matrix(n, n, dtype) + 10 * cp.eye(n, dtype=dtype)

    def solves(name, dtype):
        a, b = system(dtype), noise(50, dtype=dtype)
        s = sparse.csr_matrix(a)
        x = sparse_linalg.spsolve(s, b)
        # The cuSOLVER function behind lsqr is for real matrices.
        y = x if a.dtype.kind == "c" else sparse_linalg.lsqr(s, b)[0]
        # These are functions of cuSOLVER, called by name.
        z = cusolver.csrlsvqr(s, b)
        low = sparse.csr_matrix(cp.tril(a))
        w = sparse_linalg.spsolve_triangular(low, b, lower=True)
        keep(name, max(off(a @ x, b), off(a @ y, b), off(a @ z, b), off(cp.tril(a) @ w, b)), *host(x, y, z, w))

    def iterates(name, dtype):
        a = system(dtype)
        p, b = a @ t(a), noise(50, dtype=dtype)
        x = sparse_linalg.cg(sparse.csr_matrix(p), b, maxiter=2000)[0]
        y = sparse_linalg.gmres(sparse.csr_matrix(a), b, maxiter=2000)[0]
        w = sparse_linalg.eigsh(sparse.csr_matrix(p), k=3, return_eigenvectors=False)
        keep(name, max(off(p @ x, b), off(a @ y, b)) / 1e5, *host(cp.sort(w)))

    def incomplete(name, dtype):
        # The factor of a triangular matrix is known.
        a = cp.triu(system(dtype))
        s = sparse.csr_matrix(a)
        cusparse.csrilu02(s)
        keep(name, off(s.toarray(), a), *host(s.toarray()))

    for dtype in (np.float32, np.float64, np.complex64, np.complex128):
        word = np.dtype(dtype).name
        for shape in ((7, 7), (120, 120), (4, 10, 10)):
            attempt(f"dense {word} {'x'.join(map(str, shape))}", dense, shape, dtype)
        attempt(f"factors {word}", factors, dtype)
        attempt(f"jacobi {word}", jacobi, dtype)
        attempt(f"gesv {word}", mixed, cusolver.gesv, dtype)
        attempt(f"gels {word}", mixed, cusolver.gels, dtype)
        for form in ("tocsr", "tocsc"):
            attempt(f"products {form} {word}", products, lambda s, f=form: getattr(s, f)(), dtype)
        attempt(f"duplicates {word}", duplicates, dtype)
        attempt(f"solves {word}", solves, dtype)
        attempt(f"incomplete {word}", incomplete, dtype)
    attempt("iterates float64", iterates, np.float64)


def main(argv):
    if len(argv) == 4 and argv[1] == "compare":
        return compare(argv[2], argv[3])
    if len(argv) != 3 or argv[1] not in ("torch", "cupy"):
        sys.exit(__doc__)
    with_torch() if argv[1] == "torch" else with_cupy()
    np.savez(argv[2], **kept)
    print(len(kept), "arrays,", wrong, "problems not right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
