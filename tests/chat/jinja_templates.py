#!/usr/bin/env python3
"""Every template with every conversation, in Jinja2 and in minfer; errors by type and message.

    jinja_templates.py BATCH-PROGRAM CONVERSATIONS.json TEMPLATE.jinja ...
"""
import json
import sys

import jinja_oracle


def main():
    minfer = jinja_oracle.Minfer(sys.argv[1])
    conversations = json.load(open(sys.argv[2], encoding="utf-8"))
    names = [(path, name) for path in sys.argv[3:] for name in conversations]
    programs = [(open(path, encoding="utf-8").read(), conversations[name]) for path, name in names]
    failures = 0
    for number, wanted, found in jinja_oracle.compare(programs, minfer):
        failures += 1
        print(f"{names[number]}:\n  jinja2 {wanted!r}\n  minfer {found!r}")
    print(f"{len(sys.argv) - 3} templates, {len(conversations)} conversations, {failures} differ")
    return failures > 0 or minfer.close() != 0


if __name__ == "__main__":
    sys.exit(main())
