#!/usr/bin/env python3
"""HTML's character references, as striptags resolves them: every name, whole, cut short and run on, and numbers.

    jinja_references.py BATCH-PROGRAM
"""
import html.entities
import sys

import jinja_oracle


def main():
    minfer = jinja_oracle.Minfer(sys.argv[1])
    references = []
    for name in sorted(html.entities.html5):
        bare = name.rstrip(";")
        references += [f"&{bare};", f"&{bare}", f"&{bare}x;", f"&{bare[:-1]};", f"&{bare}&{name}"]
    numbers = [*range(0x200), 0xd7ff, 0xd800, 0xdfff, 0xe000, 0xfdcf, 0xfdd0, 0xfdef, 0xfdf0, 0xfffd, 0xfffe, 0xffff,
               0x10000, 0x1fffe, 0x1ffff, 0x10fffd, 0x10fffe, 0x10ffff, 0x110000, 2**31, 2**32 + 65, 2**64 + 65, 10**30]
    for n in numbers:
        references += [f"&#{n};", f"&#x{n:x};", f"&#X{n:X}g", f"&#{n:09}"]
    references += ["&", "&;", "&#", "&#;", "&#x", "&#x;", "&#xg;", "&#-1;", "&é;", "&amp\u00e9;", "&" + "é" * 33 + ";",
                   "&" + "a" * 40 + ";", "&&amp;", "&am&p;", "&lt<b>;", "&CounterClockwiseContourIntegral;!"]
    programs = [("{{ text|striptags }}", {"text": " ".join(references[at:at + 20])})
                for at in range(0, len(references), 20)]
    failures = 0
    for number, wanted, found in jinja_oracle.compare(programs, minfer):
        failures += 1
        print(f"{programs[number][1]['text']!r}:\n  jinja2 {wanted!r}\n  minfer {found!r}")
    print(f"{len(references)} references, {failures} of {len(programs)} texts differ")
    return failures > 0 or minfer.close() != 0


if __name__ == "__main__":
    sys.exit(main())
