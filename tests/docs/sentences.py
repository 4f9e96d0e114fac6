#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the sentences of Markdown files that have more than 30 words.

sentences.py FILE...

Code blocks, tables, headings and comments are left out; a list's item ends a sentence. A span of
code and a link are one word each. The exit status is 1 if there is such a sentence.
"""
import re
import sys

MOST = 30
# A full stop in these ends no sentence.
ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|No|Fig)\.", re.I)


def paragraphs(path):
    """Yields (first line's number, text) of each paragraph and item of a list."""
    start, text, fenced = 0, [], False
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if line.startswith("```"):
                fenced = not fenced
                continue
            item = re.match(r"\s*([-*]|\d+\.)\s+", line)
            indented = re.match(r"    (?! *([-*]|\d+\.)\s)", line) and not text
            other = fenced or not line.strip() or indented or line.startswith(("|", "#", "<!"))
            if (other or item) and text:
                yield start, " ".join(text)
                text = []
            if other:
                continue
            if not text:
                start = number
            text.append(line[item.end():] if item else line.strip())
    if text:
        yield start, " ".join(text)


def sentences(text):
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = ABBREVIATIONS.sub(lambda m: m.group(1), text)
    return re.split(r"(?<=[.!?])[)*\"']*\s+", text)


def main():
    found = 0
    for path in sys.argv[1:]:
        for line, text in paragraphs(path):
            for s in sentences(text):
                words = [w for w in s.split() if re.search(r"\w", w)]
                if len(words) > MOST:
                    print(f"{path}:{line}: {len(words)} words: {' '.join(words[:12])} ...")
                    found += 1
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
