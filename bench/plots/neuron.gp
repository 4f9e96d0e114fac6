# SPDX-License-Identifier: Apache-2.0
# A bar for each way.
set terminal svg size 600,360 background "white" noenhanced
set output out
set style fill solid 0.85 border -1
set boxwidth 0.5
set yrange [0:*]
set offsets 0, 0, graph 0.1, 0
set grid ytics
set ylabel "nanoseconds of a call"
plot dat skip 1 using 0:2:xtic(1) with boxes notitle, dat skip 1 using 0:2:(sprintf("%.0f", $2)) with labels offset 0,0.8 notitle
