# SPDX-License-Identifier: Apache-2.0
"""XGBoost with device="cuda": training, prediction, and its error without code for the device."""
import numpy as np
import xgboost as xgb

from client import test

X = np.arange(4000, dtype=np.float32).reshape(1000, 4) % 37
Y = X[:, 0] * 2 + X[:, 1]
OPTIONS = {"device": "cuda", "tree_method": "hist", "max_depth": 3, "nthread": 1}


@test
def built_with_cuda():
    return xgb.build_info()["USE_CUDA"], xgb.build_info()["CUDA_VERSION"]


@test
def training_and_prediction():
    model = xgb.train(OPTIONS, xgb.DMatrix(X, Y), num_boost_round=5)
    return [round(float(v), 3) for v in model.predict(xgb.DMatrix(X[:5]))]


@test
def quantile_matrix():
    m = xgb.QuantileDMatrix(X, Y, max_bin=16)
    return m.num_row(), round(float(xgb.train(OPTIONS | {"max_bin": 16}, m, num_boost_round=2).predict(m).sum()), 1)
