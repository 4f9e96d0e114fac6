# SPDX-License-Identifier: Apache-2.0
# A bar for each call and way, divided into what it is spent on; dat's first line has the heads.
set terminal svg size 1000,480 background "white" noenhanced
set output out
set style data histograms
set style histogram rowstacked
set style fill solid 0.85 border -1
set boxwidth 0.7
set grid ytics
set key outside top center horizontal autotitle columnhead
set ylabel "instructions (emulated, not cycles)"
set xtics rotate by 30 right scale 0
plot for [i=2:5] dat using i:xtic(1)
