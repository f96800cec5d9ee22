#!/usr/bin/env python3
"""Random schemas, texts drawn under each from random logits over a real vocabulary, and jsonschema as the judge.

    json_schema_texts_test.py PROGRAM [COUNT] [SEED]     COUNT 200, SEED 1
"""
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys

import jsonschema

MODEL = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"  # 151,936 tokens
NAMES = ["id", "name", "tags", "é", "a b", "x-y", "items", "value", 'quo"te', "n"]


class Maker:
    """Schemas of everything that docs/sampling.md says is done."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, p):
        return self.random.random() < p

    def string(self):
        r = self.random
        kind = r.randrange(6)
        if kind == 0:
            return {"type": "string"}
        if kind == 1:
            low = r.randrange(8)
            return {"type": "string", "minLength": low, "maxLength": low + r.randrange(12)}
        if kind == 2:
            return {"type": "string", "format": r.choice(["date", "time", "date-time", "uuid"])}
        if kind == 3:
            return {"type": "string", "pattern": r.choice([
                "^[a-z]{2,5}$", "^[A-Z][a-z]*(-[0-9]+)?$", r"^\d{3}-\d{4}$", "^(foo|bar|[xyz]{3})+$", "^#[0-9a-fA-F]{6}$",
                r"^\w+@\w+\.(com|org)$", "[a-z]{2}[^a-z]", "^[^a-z\"\\\\]{1,4}", r"^(\[[0-9]\]){1,3}$", r"^a.c\/\t?$", "^[A-Z]|[\\]}]$"])}
        if kind == 4:
            return {"enum": r.sample(["red", "green", "blue", "a\"b", "é", ""], r.randint(1, 4))}
        return {"type": "string", "maxLength": r.randrange(6)}

    def number(self):
        r = self.random
        kind = r.choice(["integer", "number"])
        schema = {"type": kind}
        low = r.randint(-2000, 2000)
        if self.chance(0.5):
            schema[r.choice(["minimum", "exclusiveMinimum"])] = low if self.chance(0.7) else low + 0.5
        if self.chance(0.5):
            schema[r.choice(["maximum", "exclusiveMaximum"])] = low + 3 + r.choice([0, 1, 7, 120, 54321])
        if self.chance(0.1):
            schema["multipleOf"] = 1
        return schema

    def leaf(self):
        r = self.random
        kind = r.randrange(8)
        if kind < 3:
            return self.string()
        if kind < 6:
            return self.number()
        if kind == 6:
            return {"type": r.choice(["boolean", "null", ["boolean", "null"], ["integer", "string"]])}
        return {"const": r.choice([1, "one", None, True, [1, "a"], {"k": 2.5}])}

    def object(self, depth):
        r = self.random
        names = r.sample(NAMES, r.randint(1, 4))
        schema = {"type": "object", "properties": {name: self.schema(depth - 1) for name in names}}
        if self.chance(0.7):
            schema["required"] = r.sample(names, r.randint(1, len(names)))
        if self.chance(0.3):
            schema["additionalProperties"] = r.choice([False, {"type": "integer"}, {"type": "string", "maxLength": 3}])
        if self.chance(0.1):
            schema["title"], schema["description"] = "T", "what it is"
        return schema

    def array(self, depth):
        r = self.random
        schema = {"type": "array"}
        if self.chance(0.3):
            schema["prefixItems"] = [self.schema(depth - 1) for _ in range(r.randint(1, 3))]
            if self.chance(0.5):
                schema["items"] = r.choice([False, self.leaf()])
            return schema
        schema["items"] = self.schema(depth - 1)
        if self.chance(0.5):
            schema["minItems"] = r.randrange(3)
        if self.chance(0.7):
            schema["maxItems"] = schema.get("minItems", 0) + r.randrange(4)
        return schema

    def combined(self, depth):
        r = self.random
        kind = r.randrange(4)
        if kind == 0:
            return {"anyOf": [self.schema(depth - 1) for _ in range(r.randint(1, 3))]}
        if kind == 1:
            return {"oneOf": [{"type": "object", "properties": {"kind": {"const": k}, "v": self.leaf()}, "required": ["kind", "v"]}
                              for k in r.sample(["a", "b", "c"], r.randint(1, 3))]}
        if kind == 2:
            parts = [self.object(1) for _ in range(2)]
            for i, part in enumerate(parts):  # one property cannot be required to be two things
                part["properties"] = {f"{name}{i}": value for name, value in part["properties"].items()}
                part["required"] = [f"{name}{i}" for name in part.get("required", [])]
                part.pop("additionalProperties", None)
            return {"allOf": parts}
        return {"allOf": [{"type": ["integer", "string", "null"]}], "anyOf": [self.number(), self.string()]}

    def schema(self, depth):
        if depth <= 0:
            return self.leaf()
        kind = self.random.randrange(10)
        return (self.object(depth) if kind < 4 else self.array(depth) if kind < 6 else
                self.combined(depth) if kind < 8 else self.leaf())

    def document(self):
        schema = self.schema(3) if self.chance(0.8) else self.recursive()
        if self.chance(0.2):
            schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/all", "$defs": {"all": schema}} \
                if "$defs" not in schema else schema
        return schema

    def recursive(self):
        node = {"type": "object", "properties": {"v": self.leaf(), "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}},
                "required": ["v", "next"]}
        if self.chance(0.5):
            node["properties"]["children"] = {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 1}
        return {"$ref": "#/$defs/node", "$defs": {"node": node}}


def format_checker():
    """jsonschema knows dates and UUIDs; times it leaves to packages that are not installed."""
    checker = jsonschema.FormatChecker(["date", "uuid"])
    checker.checks("time", raises=ValueError)(lambda text: datetime.time.fromisoformat(text).tzinfo is not None)
    checker.checks("date-time", raises=ValueError)(lambda text: datetime.datetime.fromisoformat(text).tzinfo is not None)
    return checker


def main():
    program, count, seed = sys.argv[1], int((sys.argv[2:3] or [200])[0]), int((sys.argv[3:4] or [1])[0])
    models = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "minfer/models"
    model = models / MODEL
    if not model.exists():
        print(f"missing: {model} (scripts/fetch-models fetches it)")
        return 1 if os.environ.get("CI") == "true" else 77
    maker = Maker(seed)
    schemas = [maker.document() for _ in range(count)]
    done = subprocess.run([program, model, str(seed)], input="".join(json.dumps(s) + "\n" for s in schemas), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    print(done.stderr.strip())
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and len(lines) == count, (done.returncode, len(lines))
    wrong, tokens, longest = 0, 0, 0
    checker = format_checker()
    for schema, line in zip(schemas, lines):
        try:
            assert "error" not in line, line["error"]
            assert line["ended"], f"no end after {line['tokens']} tokens"
            tokens += line["tokens"]
            longest = max(longest, line["tokens"])
            value = json.loads(line["text"])
            jsonschema.Draft202012Validator.check_schema(schema)
            jsonschema.Draft202012Validator(schema, format_checker=checker).validate(value)
        except Exception as e:  # every kind of it is this one schema's failure
            wrong += 1
            print(f"WRONG: {json.dumps(schema, ensure_ascii=False)}\n  text: {line.get('text', '')[:300]}\n  {type(e).__name__}: {str(e)[:300]}")
    print(f"{count - wrong} of {count} valid; {tokens} tokens, at most {longest}")
    return 1 if wrong else 0


sys.exit(main())
