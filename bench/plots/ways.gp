# SPDX-License-Identifier: Apache-2.0
# A group for each call, a bar for each way; dat's first line has the ways.
set terminal svg size 1000,420 background "white" noenhanced
set output out
set style data histograms
set style histogram clustered gap 1.5
set style fill solid 0.85 border -1
set logscale y
set yrange [1:200000]
set grid ytics
set key outside top center horizontal autotitle columnhead
set ylabel "nanoseconds (logarithmic)"
plot for [i=2:6] dat using i:xtic(1)
