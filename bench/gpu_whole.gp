# SPDX-License-Identifier: Apache-2.0
# Plots the time of trainings as long as the Wormhole paper's.
set terminal svg size 700,330 background "white"
set output out
set style data histograms
set style fill solid 0.8
set yrange [0:*]
set ylabel "seconds"
set grid ytics
set key below
plot "whole.dat" using 2:xtic(1) title "native", "" using 3 title "loopback", "" using 4 title "shm"
