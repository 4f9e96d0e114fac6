#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The test promises that bench/draw.py leaves of gnuplot's picture all that is drawn, in its order and as it was, and
nothing else; and that the pictures of the documents are such.
"""
import glob
import os
import sys
import xml.etree.ElementTree as ET

BUILD = os.environ.get("WH_BUILD") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
TOP = os.environ.get("WH_TOP") or os.path.dirname(BUILD)
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(TOP, "bench"), os.path.join(TOP, "tests/bench")]
from draw import squeezed                                           # noqa: E402
from points import ok                                               # noqa: E402

GNUPLOT = """<?xml version="1.0" encoding="utf-8"  standalone="no"?>
<svg width="900" height="700" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
<title>Gnuplot</title>
<g id="gnuplot_canvas">
<defs>
	<path id='gpPt1' d='M-1,-1 L1,1'/>
	<circle id='gpPt5' cx='0' cy='0' r='1'/>
	<use xlink:href='#gpPt5' id='gpPt6' fill='currentColor'/>
	<use xlink:href='#gpPt5' id='gpPt15' fill='red'/>
	<path id='gpPt7' d='M0,0 L1,1'/>
	<filter id='textbox'><feFlood flood-color='#FFFFFF'/></filter>
	<filter id='greybox'><feFlood flood-color='grey'/></filter>
</defs>
<g color="black" stroke-width="1.00">
</g>
<g color="gray" stroke-width="0.50">
	<path d='M1,2 L3,4
		M5,6 L7,8  '/></g>
<g color="black" stroke-width="1.00">
	<path d='M1,1 L2,2  '/>	<g transform="translate(3,4)" fill="black">
		<text> 0.5 <tspan dy="1">k</tspan></text>
	</g>
	<g transform="translate(5,6)" fill="black">
		<text></text>
	</g>
</g>
<g color="red" stroke-width="1.00">
</g>
<g color="black" stroke-width="1.00">
	<g id="gnuplot_plot_1" ><title>one</title>
	<use xlink:href='#gpPt6' transform='translate(1,2)'/>
	</g>
	<g id="gnuplot_plot_2" ><title>none</title>
	</g>
	<text filter="url(#textbox)">b</text>
</g>
</g>
</svg>
"""


def drawn(e, outer=()):
    """Each element that is drawn, with its own attributes and those of all that it is in."""
    name = e.tag.split("}")[1]
    here = (*outer, *sorted((k, " ".join(v.split())) for k, v in e.attrib.items()))
    if name in ("defs", "title", "desc"):
        return []
    if name == "text":
        return [(name, here, ET.tostring(e, encoding="unicode").strip())] if "".join(e.itertext()).strip() else []
    if name in ("g", "svg"):
        return [x for c in e for x in drawn(c, here)]
    return [(name, here)]


def defined(text):
    return [d.get("id") for defs in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}defs") for d in defs]


print("TAP version 13\n1..6")
got = squeezed(GNUPLOT)
ok(drawn(ET.fromstring(got)) == drawn(ET.fromstring(GNUPLOT)), "all_that_is_drawn_stays_as_it_was", got)
ok(defined(got) == ["gpPt5", "gpPt6", "textbox"], "definitions_that_something_uses_stay_alone", defined(got))
ok("none" not in got and 'color="red"' not in got and "<text />" not in got, "what_draws_nothing_goes", got)
ok(got.count('color="black"') == 1, "groups_of_one_kind_that_follow_each_other_are_one", got)
ok(squeezed(got) == got, "what_is_squeezed_stays_as_it_is", squeezed(got))
pictures = glob.glob(os.path.join(TOP, "bench/plots/*.svg")) + glob.glob(os.path.join(TOP, "docs/figures/*.svg"))
raw = [p for p in pictures if squeezed(open(p, encoding="utf-8").read()) != open(p, encoding="utf-8").read()]
ok(pictures and not raw, "pictures_of_the_documents_are_squeezed", raw)
