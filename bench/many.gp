# SPDX-License-Identifier: Apache-2.0
# Turns many.dat into many.svg: the cost of tenants of one server, and of all servers
# together, over their number.
set terminal svg size 1200,720 background "white"
set output out
set multiplot layout 2,3
set grid
set key top left
set xlabel "tenants of one server"
set yrange [0:*]
set ylabel "MiB of the server's (PSS)"
plot dat index 1 using 1:($2 / 1048576) with linespoints notitle
set ylabel "descriptors"
plot dat index 1 using 1:3 with linespoints notitle
set ylabel "wake-ups a second at rest"
set yrange [-1:10]
plot dat index 1 using 1:4 with linespoints notitle
set yrange [0:*]
set xlabel "tenants of all servers"
set ylabel "MiB of all servers"
plot dat index 0 using 1:($2 / 1048576) with linespoints notitle
set ylabel "descriptors of all servers"
plot dat index 0 using 1:3 with linespoints notitle
set ylabel "wake-ups a second at rest"
set yrange [-1:10]
plot dat index 0 using 1:4 with linespoints notitle
