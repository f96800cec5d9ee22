"""Both engines side by side: Jinja2 in this process, set up as tests/fixtures/render_chat.py sets it up, and minfer in
one that lives as long as the test (tests/chat/jinja_batch.cpp)."""
import json
import os
import re
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures"))
import render_chat  # noqa: E402

# What minfer refuses by name, and Jinja2 does not: nothing is compared there.
REFUSALS = ("StepLimit", "OutputLimit", "minfer's templates", "does not fit 64 bits", "does not fit the 64 bits",
            "values nested more than", "nested more than 200 deep")
# Jinja2 folds an expression of constants before it runs, by rules of its own: there, and only there, a slice of what
# has no slices is undefined and no error.
# And what it folds away, it does not look at: a filter that is none, such as the "int.b" of "n|int.b", goes unnoticed.
FOLDED = re.compile(r"object is not subscriptable|unhashable type: 'slice'|No (filter|test) named '\w+\.")
# A constant that is infinite or NaN it writes into its Python program as a name, which is not defined there:
# {{ "nan"|float and x }} is an error. minfer computes with the number.
CONSTANTS = re.compile(r"NameError: name '(nan|inf)' is not defined")
# Where an object lies in memory, and which of the parts of an output is no text.
ACCIDENTS = re.compile(r"(?<=0x)[0-9a-f]{12}|(?<=sequence item )\d+", re.IGNORECASE)


class Minfer:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def render(self, programs):
        """The text, or {"error": ...}, of each (template, context)."""
        def write():
            for template, context in programs:
                self.process.stdin.write(json.dumps({"template": template, "context": context}).encode() + b"\n")
            self.process.stdin.flush()

        writer = threading.Thread(target=write)
        writer.start()
        results = []
        for template, context in programs:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"minfer died of {template!r} with {context!r}")
            reply = json.loads(line)
            results.append(reply["text"] if "text" in reply else {"error": reply["error"]})
        writer.join()
        return results

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def jinja2_result(environment, template, context):
    try:
        return environment.from_string(template).render(**context)
    except Exception as e:  # any failure of the template is a result here
        return {"error": f"{type(e).__name__}: {e}"}


def agree(wanted, found):
    """Whether Jinja2's result and minfer's are one: the text, or the type and the message of the error."""
    if wanted == found:
        return True
    texts = [x["error"] if isinstance(x, dict) else x for x in (wanted, found)]
    if type(wanted) is type(found) and ACCIDENTS.sub("", texts[0]) == ACCIDENTS.sub("", texts[1]):
        return True
    if isinstance(wanted, dict) and (wanted["error"].startswith("MemoryError") or CONSTANTS.fullmatch(wanted["error"])):
        return True
    if isinstance(found, dict) and (FOLDED.search(found["error"]) or any(r in found["error"] for r in REFUSALS)):
        return True
    if isinstance(wanted, dict) and isinstance(found, dict):
        types = {x["error"].split(":")[0] for x in (wanted, found)}
        # Python's own SyntaxError speaks of the code that Jinja2 wrote, RecursionError of its stack, and some errors of
        # the function within Jinja2 that is called.
        of_calls = " after *" in wanted["error"] or "got multiple values for keyword" in wanted["error"]
        return len(types) == 1 and (types <= {"SyntaxError", "RecursionError"} or of_calls)
    return False


def compare(programs, minfer, environment=None):
    """(number, jinja2's result, minfer's) of each (template, context) where the two differ."""
    environment = environment or render_chat.environment()
    for number, (program, found) in enumerate(zip(programs, minfer.render(programs))):
        wanted = jinja2_result(environment, *program)
        if not agree(wanted, found):
            yield number, wanted, found
