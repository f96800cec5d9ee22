#!/usr/bin/env python3
"""Runs the shell blocks of README.md and docs/*.md that stand under a line <!-- tested -->, as a reader would.

    readme_test.py --minfer BINARY

Each block runs in one shell in an empty folder, with the binary on the PATH under its name and the checkout's scripts/
beside it. A command that fails, fails the test. Skipped (exit 77) where the model that they use is not cached.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^<!-- tested -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minfer", type=pathlib.Path, required=True)
    minfer = parser.parse_args().minfer.resolve()
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    model = cache / "minfer" / "models" / "smollm2-135m-instruct-q4_1.gguf"
    if not model.exists():
        print(f"missing: {model} (scripts/fetch-models fetches it)")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)

    n_run, failed = 0, []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            n_run += 1
            with tempfile.TemporaryDirectory(prefix="minfer-docs-") as folder:
                os.symlink(minfer, pathlib.Path(folder) / "minfer")
                os.symlink(ROOT / "scripts", pathlib.Path(folder) / "scripts")
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, text=True, capture_output=True,
                                      env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"))
            if done.returncode != 0:
                failed.append(f"{page.name}: exit {done.returncode}\n{block}\n{done.stdout}{done.stderr}")
    print("\n".join(failed))
    print(f"{n_run} blocks run, {len(failed)} failed")
    sys.exit(1 if failed or n_run == 0 else 0)


if __name__ == "__main__":
    main()
