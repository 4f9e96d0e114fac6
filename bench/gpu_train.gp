# SPDX-License-Identifier: Apache-2.0
# Training throughput, as a part of the native one.
set terminal svg size 700,380 background "white"
set output out
set style data histograms
set style fill solid 0.8
set yrange [0:1.15]
set ylabel "images per second / native"
set grid ytics
plot "train.dat" using 2:xtic(1) title "native", "" using 3 title "loopback", "" using 4 title "shm", \
	0.95 with lines dashtype 2 title "target over shm"
