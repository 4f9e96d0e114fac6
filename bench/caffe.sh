#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds BVLC's Caffe 1.0 with CUDA 13, runs its tests, trains LeNet and times AlexNet's layers,
# natively and over shm (caffe/caffe.py).
# usage: bench/caffe.sh CAFFE=FOLDER [OPTION...]	--help lists the options
exec "${PYTHON:-/usr/bin/python3}" -B "$(dirname "$0")/caffe/caffe.py" "$@"
