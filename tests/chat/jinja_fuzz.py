#!/usr/bin/env python3
"""Programs from a grammar, rendered by Jinja2 and by minfer, which must agree: in the text, or in the error.

    jinja_fuzz.py BATCH-PROGRAM [--count 3000] [--seed 1] [--keep-going]

A program depends on its seed and number alone: --seed S --only N renders one again, and shows it.
"""
import argparse
import random
import resource
import sys

import jinja_oracle
import render_chat

NAMES = ["a", "b", "c", "xs", "ys", "d", "e", "s", "t", "n", "f", "messages", "ns", "m", "flag", "nothing"]
KEYS = ["role", "content", "a", "b", "c", "name", "items", "x y", "_p", "0"]
WORDS = ["", "a", "b", "Hello", "hello world", "user", "assistant", "  pad \n", "äöü", "ß", "日本語", "x,y,z", "1", "42",
         "3.5", "-7", "UPPER", "<b>&\"'", "tab\there", "line1\nline2\n", "aXbXc", "a-b c_d", "😀", "ﬁ", "0x1F", "1_000",
         "%s and %d", "{} {0}", "don't", "\\n", "é\u0301", "Straße", "ÇA", "nan", "inf", " ", "\n"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "sequence",
         "iterable", "callable", "odd", "even", "lower", "upper", "true", "false", "escaped", "filter", "test"]
TESTS1 = ["eq", "ne", "lt", "gt", "le", "ge", "in", "sameas", "divisibleby", "equalto", "==", "!=", "<", ">="]
FILTERS = ["upper", "lower", "trim", "length", "first", "last", "list", "string", "int", "float", "abs", "title",
           "capitalize", "reverse", "sort", "unique", "sum", "min", "max", "join", "tojson", "items", "default", "round",
           "escape", "e", "safe", "count", "wordcount", "dictsort", "urlencode", "striptags", "pprint", "center", "indent",
           "d", "forceescape", "filesizeformat", "xmlattr", "truncate", "wordwrap", "urlize"]
METHODS = ["upper", "lower", "strip", "lstrip", "rstrip", "title", "capitalize", "split", "rsplit", "splitlines",
           "isdigit", "isalpha", "isupper", "islower", "isspace", "isalnum", "swapcase", "casefold", "istitle",
           "isnumeric", "isdecimal", "isidentifier", "isprintable", "isascii",
           "items", "keys", "values", "copy", "bit_length", "is_integer", "append", "pop", "clear", "nosuch"]


class Generator:
    def __init__(self, seed, number):
        self.r = random.Random(f"{seed}/{number}")
        self.loops = 0
        self.budget = 40

    def pick(self, *choices):
        return self.r.choice(choices)

    def chance(self, p):
        return self.r.random() < p

    # The context: what JSON holds.
    def json(self, depth=0):
        k = self.r.randrange(10 if depth < 3 else 6)
        if k == 0:
            return self.pick(None, True, False)
        if k <= 2:
            return self.pick(0, 1, 2, 3, -1, 7, 10, 255, 1000)
        if k == 3:
            return self.pick(0.0, 1.0, 0.5, -2.5, 1e16, 1e-5, 3.14159, 2.675, 100.0, 1e22, 123456789.125)
        if k <= 5:
            return self.r.choice(WORDS)
        if k <= 7:
            return [self.json(depth + 1) for _ in range(self.r.randrange(5))]
        return {self.r.choice(KEYS): self.json(depth + 1) for _ in range(self.r.randrange(5))}

    def context(self):
        c = {n: self.json() for n in NAMES if n not in ("ns", "m", "nothing") and self.chance(0.8)}
        if self.chance(0.5):
            c["xs"] = [self.json(2) for _ in range(self.r.randrange(6))]
        if self.chance(0.5):
            c["s"] = self.r.choice(WORDS)
        if self.chance(0.5):
            c["d"] = {self.r.choice(KEYS): self.json(1) for _ in range(4)}
        if self.chance(0.5):
            c["n"] = self.pick(0, 1, 2, 5, -3, 17)
        c["messages"] = [{"role": self.pick("system", "user", "assistant", "tool"), "content": self.json(2)}
                         for _ in range(self.r.randrange(5))]
        return c

    # Expressions.
    def quoted(self, text):
        q = self.pick("'", '"')
        text = text.replace("\\", "\\\\").replace(q, "\\" + q)
        return q + (text.replace("\n", "\\n") if self.chance(0.8) else text) + q

    def literal(self):
        k = self.r.randrange(9)
        if k <= 2:
            return self.quoted(self.r.choice(WORDS))
        if k <= 4:
            return self.pick("0", "1", "2", "3", "10", "1_000", "0x1f", "0b11", "0o17", "7")
        if k == 5:
            return self.pick("1.5", "0.0", "2e3", "1e-7", "3.14", "1_0.5", "1e16", "2.5")
        if k == 6:
            return self.pick("true", "false", "none", "True", "False", "None")
        if k == 7:
            return "'" + self.pick("\\t", "\\x41", "\\u00e9", "\\101", "\\q", "\\'", "a\\\nb", "\\U0001F600") + "'"
        return self.pick("[]", "{}", "()", "''")

    def args(self, depth, most=2):
        parts = [self.expr(depth + 1) for _ in range(self.r.randrange(most + 1))]
        if self.chance(0.1):
            parts.append(self.pick("a", "width", "default", "attribute", "reverse", "x") + "=" + self.expr(depth + 1))
        if self.chance(0.03):
            parts.append("*" + self.expr(depth + 1))
        if self.chance(0.03):
            parts.append("**" + self.pick("d", "{'a': 1}", "{}"))
        return "(" + ", ".join(parts) + ")"

    def known_call(self, depth):
        """A filter or method with arguments of the kinds that it wants."""
        e = lambda: self.expr(depth + 1)
        w = lambda: self.quoted(self.r.choice(WORDS))
        i = lambda: self.pick("0", "1", "2", "3", "-1", "-2", "5", "10", "n", "100")
        key = lambda: self.quoted(self.r.choice(KEYS))
        return self.pick(
            lambda: f"({e()})|replace({w()}, {w()})",
            lambda: f"({e()})|replace({w()}, {w()}, {i()})",
            lambda: f"({e()})|join({w()})",
            lambda: f"messages|map(attribute={key()})|list",
            lambda: f"messages|map(attribute={key()}, default={e()})|join('|')",
            lambda: f"({e()})|map({self.quoted(self.r.choice(FILTERS))})|list",
            lambda: f"({e()})|select({self.quoted(self.r.choice(TESTS))})|list",
            lambda: f"({e()})|reject({self.quoted(self.r.choice(TESTS1))}, {e()})|list",
            lambda: f"messages|selectattr('role', 'equalto', {w()})|list|length",
            lambda: f"messages|rejectattr({key()})|list",
            lambda: f"messages|groupby('role')",
            lambda: f"messages|sort(attribute='role')|map(attribute='role')|list",
            lambda: f"messages|unique(attribute='role')|list",
            lambda: f"({e()})|default({e()}, {self.pick('true', 'false')})",
            lambda: f"({e()})|batch({i()}, {e()})|list",
            lambda: f"({e()})|slice({i()})|list",
            lambda: f"({e()})|round({i()}, {self.pick(chr(39)+'common'+chr(39), chr(39)+'ceil'+chr(39), chr(39)+'floor'+chr(39))})",
            lambda: f"({e()})|indent({i()}, {self.pick('true', 'false')}, {self.pick('true', 'false')})",
            lambda: f"({e()})|tojson(indent={i()})",
            lambda: f"({e()})|tojson(separators=(',', ':'), sort_keys=true)",
            lambda: f"({e()})|tojson(ensure_ascii=true)",
            lambda: f"({e()})|center({i()})",
            lambda: f"({e()})|truncate({i()}, {self.pick('true', 'false')}, {w()}, {i()})",
            lambda: f"({e()})|wordwrap({i()})",
            lambda: f"({e()})|int({i()}, {self.pick('2', '8', '10', '16', '0')})",
            lambda: f"({e()})|dictsort({self.pick('true', 'false')}, {self.pick(chr(39)+'key'+chr(39), chr(39)+'value'+chr(39))}, {self.pick('true', 'false')})",
            lambda: f"({e()})|trim({w()})",
            lambda: f"({e()})|attr({key()})",
            lambda: f"({e()})|sum(start={e()})",
            lambda: f"({e()})|min(case_sensitive=true)",
            lambda: f"({e()})|filesizeformat({self.pick('true', 'false')})",
            lambda: f"{w()}|format({e()})",
            lambda: f"{self.quoted(self.pick('%s', '%5d|', '%-6s|', '%.2f', '%05.1f', '%x', '%r', '%(a)s', '%%', '%+d', '%e', '%g', '%c', '%i', '%#o'))} % ({e()})",
            lambda: f"{self.quoted(self.pick('{}', '{:>5}|', '{:05d}', '{:.2f}', '{!r}', '{0}{0}', '{:,}', '{:<8}|', '{:^7}|', '{a}', '{0[a]}', '{:x}', '{:e}', '{:%}', '{:g}', '{:+}', '{:s}', '{:_b}', '{:.3}'))}.format({e()})",
            lambda: f"({e()}).split({w()}, {i()})",
            lambda: f"({e()}).rsplit({w()}, {i()})",
            lambda: f"({e()}).split(None, {i()})",
            lambda: f"({e()}).rsplit(None, {i()})",
            lambda: f"({e()}).strip({w()})",
            lambda: f"({e()}).find({w()}, {i()})",
            lambda: f"({e()}).rfind({w()}, {i()}, {i()})",
            lambda: f"({e()}).index({w()})",
            lambda: f"({e()}).count({w()})",
            lambda: f"({e()}).count({e()})",
            lambda: f"({e()}).startswith({w()})",
            lambda: f"({e()}).endswith(({w()}, {w()}), {i()})",
            lambda: f"({e()}).replace({w()}, {w()}, {i()})",
            lambda: f"({e()}).partition({w()})",
            lambda: f"({e()}).rpartition({w()})",
            lambda: f"({e()}).removeprefix({w()})",
            lambda: f"({e()}).removesuffix({w()})",
            lambda: f"({e()}).ljust({i()}, {w()})",
            lambda: f"({e()}).rjust({i()})",
            lambda: f"({e()}).center({i()}, '*')",
            lambda: f"({e()}).zfill({i()})",
            lambda: f"({e()}).expandtabs({i()})",
            lambda: f"({e()}).join({e()})",
            lambda: f"({e()}).get({key()}, {e()})",
            lambda: f"({e()}).get({e()})",
            lambda: f"({e()}).splitlines({self.pick('true', 'false')})",
            lambda: f"range({i()}, {i()})|list",
            lambda: f"range({i()})",
            lambda: f"range({i()}, {i()}, {i()})|list",
            lambda: f"dict({e()}, a={e()})",
            lambda: f"dict(a={e()}, b={e()})",
            lambda: f"namespace(a={e()}).a",
            lambda: f"strftime_now({self.quoted(self.pick('%Y-%m-%d', '%H:%M', '%d %b %Y', '%A %j', '%y%%', '', '%f', '%e'))})",
            lambda: f"cycler({e()}, {e()}).next()",
            lambda: f"({e()})|map(attribute={i()})|list",
            lambda: f"({e()})|xmlattr",
        )()

    def expr(self, depth=0):
        self.budget -= 1
        if depth > 4 or self.budget < 0:
            return self.r.choice(NAMES) if self.chance(0.5) else self.literal()
        e = lambda: self.expr(depth + 1)
        k = self.r.randrange(34)
        if k <= 4:
            return self.r.choice(NAMES)
        if k <= 7:
            return self.literal()
        if k == 8:
            return f"({e()} {self.pick('+', '-', '*', '/', '//', '%')} {e()})"
        if k == 9:
            return f"{e()} {self.pick('==', '!=', '<', '>', '<=', '>=')} {e()}"
        if k == 10:
            return f"({e()} {self.pick('in', 'not in')} {e()})"
        if k == 11:
            return f"({e()} {self.pick('and', 'or')} {e()})"
        if k == 12:
            return f"not {e()}"
        if k == 13:
            return f"({e()} if {e()} else {e()})" if self.chance(0.8) else f"({e()} if {e()})"
        if k == 14:
            return f"{e()} ~ {e()}"
        if k == 15:
            return f"[{', '.join(e() for _ in range(self.r.randrange(4)))}]"
        if k == 16:
            return "{" + ", ".join(f"{self.quoted(self.r.choice(KEYS)) if self.chance(0.8) else self.pick('1', '1.0', 'true', 's', 'n', '(1, 2)', 'd')}: {e()}"
                                   for _ in range(self.r.randrange(4))) + "}"
        if k == 17:
            return f"({e()}, {e()})"
        if k == 18:
            return f"{e()}.{self.pick('role', 'content', 'a', 'b', 'items', 'name', 'nosuch', '0', '_p', '__class__')}"
        if k == 19:
            return f"({e()})[{e()}]"
        if k == 20:
            part = lambda: self.pick("", "", "0", "1", "2", "-1", "-2", "n", "none")
            return f"({e()})[{part()}:{part()}{':' + self.pick('', '1', '-1', '2', '-2', 'n') if self.chance(0.4) else ''}]"
        if k <= 22:
            return f"({e()})|{self.r.choice(FILTERS)}{self.args(depth) if self.chance(0.25) else ''}"
        if k == 23:
            return f"({e()} is {'not ' if self.chance(0.3) else ''}{self.r.choice(TESTS)})"
        if k == 24:
            return f"({e()} is {self.r.choice([t for t in TESTS1 if t.isalpha()])} {self.pick('a', 'n', '2', 'xs', 'none', chr(39) + 'a' + chr(39))})"
        if k == 25:
            return f"({e()}).{self.r.choice(METHODS)}{self.args(depth, 1) if self.chance(0.3) else '()'}"
        if k == 26:
            return f"-{e()}" if self.chance(0.8) else f"+{e()}"
        if k == 27 and self.loops:
            return "loop." + self.pick("index", "index0", "first", "last", "length", "revindex", "revindex0", "previtem",
                                       "nextitem", "cycle('a', 'b')", "changed(n)", "depth", "depth0", "nosuch",
                                       "cycle()", "changed(loop.index // 2)")
        if k == 28:
            return f"m{self.args(depth)}"
        if k == 29:
            return f"{e()} < {e()} {self.pick('<', '<=', '==')} {e()}"
        if k == 30:
            return self.pick("ns.a", "ns.b", "ns.x")
        if k == 31 and self.chance(0.3):
            return f"({self.pick('2', '3', 'n', '1.5', '-1')} ** {self.pick('2', '3', '-1', '0.5', 'n', '0')})"
        return self.known_call(depth)

    # Statements.
    def open(self, block=True):
        s = self.pick("", "", "", "-", "+")
        return ("{%" if block else "{{") + s + self.pick(" ", " ", "")

    def close(self, block=True):
        if not block:
            return " " + self.pick("", "", "-") + "}}"
        return " " + self.pick("", "", "", "-", "+") + "%}"

    def tag(self, text):
        return self.open() + text + self.close()

    def data(self):
        return self.pick("", " ", "\n", "text", "\n  ", "  \n\n", "a b\n", "\t", "é", "{", "}}", "% }", "\r\n", "'\"")

    def statement(self, depth):
        self.budget -= 1
        if depth > 3 or self.budget < 0:
            return self.data()
        body = lambda d=1: self.block(depth + d)
        k = self.r.randrange(26)
        if k <= 5:
            return self.open(False) + self.expr() + self.close(False)
        if k <= 8:
            target = self.pick("a", "b", "c", "t", "x", "ns.a", "ns.b", "a, b", "loop")
            if target == "loop" and self.chance(0.8):
                target = "x"
            value = self.expr() if target != "a, b" else self.pick(f"{self.expr()}, {self.expr()}", self.expr())
            return self.tag(f"set {target} = {value}")
        if k <= 11:
            text = self.tag(f"if {self.expr()}") + body()
            if self.chance(0.3):
                text += self.tag(f"elif {self.expr()}") + body()
            if self.chance(0.4):
                text += self.tag("else") + body()
            return text + self.tag("endif")
        if k <= 15:
            target = self.pick("x", "x", "a", "b", "message", "k, v", "(x, y)", "b, (c, e)")
            iterable = self.pick("xs", "messages", "range(3)", "d.items()", "d", "s", "ys", "d|dictsort",
                                 "range(n)", "[1, 2, 3]", "messages|selectattr('role')", self.expr(2))
            head = f"for {target} in {iterable}"
            if self.chance(0.2):
                head += f" if {self.expr(2)}"
            recursive = self.chance(0.1)
            self.loops += 1
            text = self.tag(head + (" recursive" if recursive else "")) + body()
            if recursive and self.chance(0.7):
                text += self.open(False) + self.pick("loop(x)", "loop([])", "loop(xs) if loop.depth < 3",
                                                     "loop(x) if x is iterable and x is not string") + self.close(False)
            if self.chance(0.15):
                text += self.tag(f"if {self.expr(2)}") + self.tag(self.pick("break", "continue")) + self.tag("endif")
                text += body()
            self.loops -= 1
            if self.chance(0.2):
                text += self.tag("else") + body()
            return text + self.tag("endfor")
        if k == 16:
            return self.tag(f"set {self.pick('a', 'b', 't', 'x')}{self.pick('', ' | upper', ' | trim | length')}") + body() + self.tag("endset")
        if k == 17:
            params = self.pick("", "x", "x, y", "x, y=1", "a=none, b='q'", "x=a", "caller=none")
            inside = self.pick("", "{{ caller() }}", "{{ varargs }}", "{{ kwargs }}", "{{ x }}", "{{ caller is defined }}")
            return self.tag(f"macro m({params})") + inside + body() + self.tag("endmacro")
        if k == 18:
            return self.tag(f"call{self.pick('', '(x)', '(x, y=2)')} m{self.args(2)}") + body() + self.tag("endcall")
        if k == 19:
            return self.tag(f"filter {self.pick('upper', 'trim', 'title', 'indent(2)', 'replace(' + chr(39) + 'a' + chr(39) + ', n)', 'length', 'upper|lower', 'e')}") + body() + self.tag("endfilter")
        if k == 20:
            return self.tag(f"with {self.pick('x = 1', 'a = b, b = a', 'x = ' + self.expr(2), '')}") + body() + self.tag("endwith")
        if k == 21:
            return self.open() + "raw" + self.pick(" %}", " -%}") + self.pick("{{ x }}", "{% if %}", "  text \n", "") + self.pick("{% endraw %}", "{%- endraw -%}", "{% endraw -%}\n  ")
        if k == 22:
            return "{#" + self.pick("", "-", "+") + self.pick(" c ", " {{ x }} \n", "") + self.pick("", "-", "+") + "#}"
        if k == 23:
            return self.tag("generation") + body() + self.tag("endgeneration")
        if k == 24 and self.chance(0.3):
            return self.open(False) + f"raise_exception({self.expr(2)})" + self.close(False)
        if k == 25 and self.chance(0.3):
            return self.pick(self.tag("break"), self.tag("nosuch"), "{{ }}", "{% if %}", "{{ a b }}", "{{ (a }}", "{% set 1 = 2 %}",
                             "{{ a|nosuch }}", "{{ a is nosuch }}", "{% endfor %}", "{{ 'x }}", "{# x", "{{ a", "{% for %}",
                             "{{ a.1.b }}", "{{ a ! b }}", "{% else %}", "{{ f(a b) }}", "{{ f(x=1, 2) }}",
                             "{% print a, b %}", "{% include 'x' %}", "{% block q %}{{ a }}{% endblock %}",
                             "{% extends 'x' %}", "{% set a.b.c = 1 %}", "{% autoescape true %}{{ s }}{% endautoescape %}",
                             "{{ {'a': 1}.a.b }}", "{% set x %}", "{{ [1, 2 }}", "{% macro q(a=1, b) %}{% endmacro %}")
        return self.data()

    def block(self, depth):
        return "".join(self.pick(self.data(), self.statement(depth)) if i % 2 else self.statement(depth)
                       for i in range(self.r.randrange(1, 4)))

    def program(self):
        text = "{% set ns = namespace(a=1, b='z') %}" if self.chance(0.5) else ""
        if self.chance(0.3):
            text += "{% macro m(x, y=2) %}" + self.pick("[{{ x }}{{ y }}]", "{{ x|upper }}{{ caller() if caller }}",
                                                        "{{ varargs }}{{ kwargs }}", "{{ x }}{% set a = 9 %}{{ a }}") + "{% endmacro %}"
        return text + "".join(self.statement(0) + self.data() for _ in range(self.r.randrange(1, 7)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep-going", action="store_true")
    given = parser.parse_args()
    minfer = jinja_oracle.Minfer(given.program)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # Jinja2 bounds no text that a program makes
    environment = render_chat.environment()
    differ = 0
    numbers = range(given.count) if given.only is None else [given.only]
    for start in range(0, len(numbers), 500):
        part = numbers[start:start + 500]
        generators = [Generator(given.seed, number) for number in part]
        programs = [(g.program(), g.context()) for g in generators]
        if given.only is not None:
            print(f"{programs[0][1]!r}\n{programs[0][0]}")
        for i, wanted, found in jinja_oracle.compare(programs, minfer, environment):
            differ += 1
            template, context = programs[i]
            print(f"#{part[i]} {template!r}\n  context {context!r}\n  jinja2 {wanted!r}\n  minfer {found!r}", flush=True)
        if differ and not given.keep_going:
            break
    print(f"seed {given.seed}: {given.count} programs, {differ} differ")
    return differ > 0 or minfer.close() != 0


if __name__ == "__main__":
    sys.exit(main())
