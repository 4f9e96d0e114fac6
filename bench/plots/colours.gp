# SPDX-License-Identifier: Apache-2.0
# The other scripts load this: colours that also differ in brightness, and letters that are
# readable at a page's width.
set linetype 1 linecolor rgb "#4477aa" linewidth 2 pointtype 7
set linetype 2 linecolor rgb "#ee6677" linewidth 2 pointtype 5
set linetype 3 linecolor rgb "#ddaa33" linewidth 2 pointtype 9
set linetype 4 linecolor rgb "#228833" linewidth 2 pointtype 11
set linetype 5 linecolor rgb "#aa3377" linewidth 2 pointtype 13
set linetype 6 linecolor rgb "#66ccee" linewidth 2 pointtype 6
set linetype 7 linecolor rgb "#333333" linewidth 2 pointtype 4
set linetype 8 linecolor rgb "#999999" linewidth 2 pointtype 8
letters = "sans,14"
