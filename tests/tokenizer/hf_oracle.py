#!/usr/bin/env python3
"""What HuggingFace's `tokenizers` makes of the corpus, for huggingface_test.cpp.

    hf_oracle.py model MODELS-DIR PRE OUT.gguf OUT.records   ids and texts by the tokenizer.json of MODELS-DIR
    hf_oracle.py parts OUT.records                           cuts of each pre-tokenizer, and normal form C

records.h describes the records.
"""
import json
import pathlib
import struct
import sys
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

import corpus

WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
         r"|\s+(?!\S)|\s+")


def known_to_oracle():
    """The characters that `tokenizers` and this Python know alike. The first's normalizer is of Unicode 9: it leaves
    marks that are younger in their places."""
    nfc = normalizers.NFC().normalize_str

    def same(c):
        composed = chr(c)
        texts = [composed, unicodedata.normalize("NFD", composed)]
        if unicodedata.combining(composed):
            texts += [s for mark in "\u0301\u0323\u0334\u0345" for s in ("q" + mark + composed, "q" + composed + mark)]
        return all(nfc(s) == unicodedata.normalize("NFC", s) for s in texts)

    return [c for c in corpus.assigned() if same(c)]


class Records:
    def __init__(self, path):
        self.file = open(path, "wb")

    def write(self, letter, *fields):
        self.file.write(letter.encode())
        for f in fields:
            if isinstance(f, int):
                self.file.write(struct.pack("<I", f))
            elif isinstance(f, (str, bytes)):
                b = f.encode() if isinstance(f, str) else f
                self.file.write(struct.pack("<I", len(b)) + b)
            else:
                self.file.write(struct.pack(f"<I{len(f)}I", len(f), *f))


def write_gguf(tok, config, pre, path):
    import gguf
    w = gguf.GGUFWriter(path, "llama")
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre(pre)
    by_id = {v: k for k, v in tok["model"]["vocab"].items()}
    added = {t["id"]: t for t in tok["added_tokens"]}
    tokens, types = [], []
    for i in range(max([*by_id, *added]) + 17):
        if i in added:
            tokens.append(added[i]["content"])
            types.append(gguf.TokenType.CONTROL if added[i]["special"] else gguf.TokenType.USER_DEFINED)
        else:
            tokens.append(by_id.get(i, f"[PAD{i}]"))
            types.append(gguf.TokenType.NORMAL if i in by_id else gguf.TokenType.UNUSED)
    w.add_token_list(tokens)
    w.add_token_types(types)
    w.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in tok["model"]["merges"]])
    ids = {t: i for i, t in enumerate(tokens)}
    if config["bos_token"]:
        w.add_bos_token_id(ids[config["bos_token"]])
    w.add_eos_token_id(ids[config["eos_token"]])
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()


def model(source, pre, gguf_path, records_path):
    source = pathlib.Path(source)
    tok = json.loads((source / "tokenizer.json").read_text())
    write_gguf(tok, json.loads((source / "tokenizer_config.json").read_text()), pre, gguf_path)
    t = tokenizers.Tokenizer.from_file(str(source / "tokenizer.json"))
    out = Records(records_path)
    specials = [a["content"] for a in tok["added_tokens"]]
    texts = corpus.strings(specials[:4] + specials[-14:], known_to_oracle(), seed=len(specials), n_generated=2400)
    texts += ["<" + s for s in specials] + [s[:-1] + " " + s for s in specials] + [s + s for s in specials]
    texts.append("".join(specials) + " ".join(specials))
    for as_text, add in ((False, True), (True, False)):
        t.encode_special_tokens = as_text
        for text, e in zip(texts, t.encode_batch(texts, add_special_tokens=add)):
            out.write("E", int(add), int(not as_text), text, e.ids)
    r = corpus.Random(7)
    n = t.get_vocab_size()
    lists = [[r.below(n) for _ in range(1 + r.below(12))] for _ in range(3000)]
    # Tokens of one or two bytes that are no whole characters, so that ill-formed UTF-8 is common.
    odd = [i for token, i in tok["model"]["vocab"].items() if len(token) <= 2 and any(ord(c) > 0xA0 for c in token)]
    lists += [[r.pick(odd) for _ in range(1 + r.below(12))] for _ in range(3000)]
    for skip in (False, True):
        for ids, text in zip(lists, t.decode_batch(lists, skip_special_tokens=skip)):
            out.write("D", int(not skip), ids, text)


def parts(records_path):
    out = Records(records_path)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    cutters = {
        "qwen2": pre_tokenizers.Split(Regex(WORDS % ""), "isolated"),
        "llama-bpe": pre_tokenizers.Split(Regex(WORDS % "{1,3}"), "isolated"),
        "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level]),
        "gpt-2": byte_level,
    }
    known = known_to_oracle()
    if len(corpus.assigned()) - len(known) > 120:
        sys.exit("the normalizer knows fewer characters than it did")
    texts = corpus.strings([], known, seed=3, n_generated=500)
    everyone = corpus.assigned()
    for at in range(0, len(everyone), 4096):  # each character between letters, between signs and digits, before spaces
        texts.append("".join(f"a{c}a!{c}1{c}1 {c}\n" for c in map(chr, everyone[at:at + 4096])))
    for name, cutter in cutters.items():
        for text in texts:
            byte_at = [0]
            for c in text:
                byte_at.append(byte_at[-1] + len(c.encode()))
            out.write("S", name, text, [byte_at[end] for _, (_, end) in cutter.pre_tokenize_str(text)])
    nfc = normalizers.NFC()
    r = corpus.Random(11)
    marks = [c for c in known if unicodedata.combining(chr(c))]
    texts = texts[:2000] + ["".join("x" + chr(c) for c in known[at:at + 4096]) for at in range(0, len(known), 4096)]
    texts += ["".join(chr(r.pick(known)) + "".join(chr(r.pick(marks)) for _ in range(r.below(5))) for _ in range(40))
              for _ in range(2000)]
    for text in texts:
        out.write("N", text, nfc.normalize_str(text))


if __name__ == "__main__":
    {"model": model, "parts": parts}[sys.argv[1]](*sys.argv[2:])
