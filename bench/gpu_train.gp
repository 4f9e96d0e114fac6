# SPDX-License-Identifier: Apache-2.0
# Plots the training throughput as a part of the native one.
set terminal svg size 700,380 background "white"
set output out
set style data histograms
set style histogram errorbars linewidth 1
set style fill solid 0.8
set yrange [0:1.25]
set ylabel "images per second / native"
set grid ytics
set key below
plot "train.dat" using 2:3:4:xtic(1) title "native", "" using 5:6:7 title "loopback", \
	"" using 8:9:10 title "shm", \
	0.98 with lines dashtype 2 title "target over loopback", \
	0.95 with lines dashtype 3 title "target over shm"
