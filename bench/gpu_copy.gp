# SPDX-License-Identifier: Apache-2.0
# Plots copy bandwidth over sizes, with one picture for each direction and kind of memory.
set terminal svg size 900,700 background "white"
set output out
set logscale x 2
set logscale y
set format x "2^{%L}"
set grid
set key bottom right
files = system("ls copy_*.dat")
set multiplot layout 2,2
do for [f in files] {
	set title system("basename ".f." .dat | sed 's/copy_//; s/_/ /g'")
	set xlabel "bytes"
	set ylabel "GB/s"
	plot f using 1:2 with linespoints title "native", "" using 1:3 with linespoints title "loopback", \
		"" using 1:4 with linespoints title "shm"
}
unset multiplot
