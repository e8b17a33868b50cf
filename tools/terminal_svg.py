#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A terminal's text as a picture: terminal_svg.py TITLE < text > picture.svg. The text may have colours (SGR codes), as
`cyclade --color always` prints them."""
import html
import re
import sys

COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#56d4dd", "90": "#8b949e", "2": "#8b949e"}
WIDTH, HEIGHT, TOP = 8.4, 18, 44  # of a character of 14 px; of the window's bar


def spans(line):
    """(first column, text, style) of each piece."""
    at, style = 0, ""
    for part in re.split(r"(\x1b\[[\d;]*m)", line):
        code = re.fullmatch(r"\x1b\[([\d;]*)m", part)
        if not code:
            if part.strip():
                yield at, part, style
            at += len(part)
            continue
        for word in code[1].split(";"):
            if word in ("", "0"):
                style = ""
            elif word == "1":
                style += ' font-weight="bold"'
            elif word in COLOURS and "fill=" not in style:
                style += ' fill="%s"' % COLOURS[word]


def main():
    lines = sys.stdin.read().rstrip("\n").split("\n")
    width = 32 + WIDTH * max(len(re.sub(r"\x1b\[[\d;]*m", "", x)) for x in lines)
    height = TOP + HEIGHT * len(lines) + 12
    print('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="ui-monospace, Menlo, Consolas, '
          'DejaVu Sans Mono, monospace" font-size="14" fill="#e6edf3" xml:space="preserve">' % (width, height, width, height))
    print('<rect width="100%" height="100%" rx="8" fill="#0d1117"/>')
    for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        print('<circle cx="%d" cy="18" r="6" fill="%s"/>' % (22 + 20 * i, colour))
    print('<text x="%d" y="23" text-anchor="middle" fill="#8b949e">%s</text>' % (width // 2, html.escape(sys.argv[1])))
    for i, line in enumerate(lines):
        for at, text, style in spans(line):
            print('<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>' % (16 + WIDTH * at, TOP + HEIGHT * i + 12, WIDTH * len(text), style, html.escape(text.replace(" ", "\u00a0"))))
    print("</svg>")


main()
