# SPDX-License-Identifier: Apache-2.0
# Plots the median time of each call, natively and over each transport.
set terminal svg size 900,420 background "white"
set output out
set style data histograms
set style fill solid 0.8
set logscale y
set ylabel "microseconds (logarithmic)"
set xtics rotate by -40 scale 0
set grid ytics
set key outside top center horizontal
set rmargin 10
plot "calls.dat" using 2:xtic(1) title "native", "" using 3 title "loopback", "" using 4 title "shm"
