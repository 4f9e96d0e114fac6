#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes products of a matrix in which two of each four numbers are 0, by torch and cuSPARSELt, and
prints the name of each and a sum of its result's bits."""
import hashlib
import sys

import torch
from torch.sparse import SparseSemiStructuredTensor, to_sparse_semi_structured


def show(name, x):
    a = x.detach().float().cpu().numpy().copy()
    print(name, a.shape, hashlib.sha256(a.tobytes()).hexdigest()[:16], flush=True)


def main():
    if not torch.backends.cusparselt.is_available():
        sys.exit("this torch has no cuSPARSELt")
    print("cuSPARSELt", torch.backends.cusparselt.version())
    torch.manual_seed(1)
    SparseSemiStructuredTensor._FORCE_CUTLASS = False
    for dtype in (torch.float16, torch.bfloat16, torch.int8):
        mask = torch.tensor([0, 0, 1, 1]).tile((128, 64)).bool().cuda()
        a = (torch.randint(-4, 5, (128, 256)) if dtype == torch.int8 else torch.randn(128, 256)).to(dtype).cuda() * mask
        b = (torch.randint(-4, 5, (128, 256)) if dtype == torch.int8 else torch.randn(128, 256)).to(dtype).cuda()
        sparse = to_sparse_semi_structured(a)
        product = torch.mm(sparse, b.t())
        show(f"product of {dtype}", product)
        print("as the dense one:", torch.allclose(product.float(), a.float() @ b.float().t(), rtol=1e-2, atol=1e-1))
    layer = torch.nn.Linear(256, 128).half().cuda()
    x = torch.randn(64, 256).half().cuda()
    mask = torch.tensor([0, 0, 1, 1]).tile((128, 64)).bool().cuda()
    layer.weight = torch.nn.Parameter(to_sparse_semi_structured(layer.weight.detach() * mask))
    with torch.inference_mode():
        show("layer with a bias", layer(x))
        for _ in range(100):
            y = layer(x)
    show("and a hundred times more", y)
    a = (torch.randn(128, 256).half().cuda() * mask)
    packed = torch._cslt_compress(a)
    b = torch.randn(256, 64).half().cuda()
    show("with alpha", torch._cslt_sparse_mm(packed, b, alpha=torch.full((128,), 2.0).cuda()))
    best = torch._cslt_sparse_mm_search(packed, b)
    print("search finds an algorithm:", int(best) >= 0)
    show("by its number", torch._cslt_sparse_mm(packed, b, alg_id=int(best)))


main()
