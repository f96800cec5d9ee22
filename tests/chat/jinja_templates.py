#!/usr/bin/env python3
"""Every template with every conversation, in Jinja2 and in minfer; errors by type and message.

    jinja_templates.py [--own] BATCH-PROGRAM CONVERSATIONS.json TEMPLATE.jinja ...

--own: templates named error_* end in errors, and all others give text.
"""
import json
import os
import sys

import jinja_oracle


def main():
    own = sys.argv[1] == "--own"
    program, conversations_path, *templates = sys.argv[2:] if own else sys.argv[1:]
    minfer = jinja_oracle.Minfer(program)
    conversations = json.load(open(conversations_path, encoding="utf-8"))
    names = [(path, name) for path in templates for name in conversations]
    programs = [(open(path, encoding="utf-8").read(), conversations[name]) for path, name in names]
    failures = 0
    if own:
        for (path, name), found in zip(names, minfer.render(programs)):
            if os.path.basename(path).startswith("error_") != isinstance(found, dict):
                failures += 1
                print(f"{path} with {name}: {found!r}")
    for number, wanted, found in jinja_oracle.compare(programs, minfer):
        failures += 1
        print(f"{names[number]}:\n  jinja2 {wanted!r}\n  minfer {found!r}")
    print(f"{len(templates)} templates, {len(conversations)} conversations, {failures} failures")
    return failures > 0 or minfer.close() != 0


if __name__ == "__main__":
    sys.exit(main())
