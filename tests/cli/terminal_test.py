#!/usr/bin/env python3
"""minfer --cnv in a real terminal, tmux's: editing, history, pasting, new window sizes, Ctrl-C, colours; and
Ctrl-C where whoever reads what minfer writes is slow.

    terminal_test.py --minfer BINARY --tiny WRITE_TINY_FILE

Skipped (exit 77) where there is no tmux.
"""
import argparse
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

WAIT = 30  # seconds until something that should appear is given up


class Terminal:
    """One window of a tmux server of its own."""

    servers = 0

    def __init__(self, folder, command, size=(80, 24), environment=()):
        # A server that was told to end still answers at its socket for a moment.
        Terminal.servers += 1
        self.socket = str(folder / f"tmux{Terminal.servers}")
        self.folder = folder
        environment = {"TERM": "xterm-256color", "XDG_STATE_HOME": str(folder / "state"), "LC_ALL": "C.UTF-8",
                       "HOME": str(folder), **dict(environment)}
        words = " ".join(f"{name}={value}" for name, value in environment.items())
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]),
                  f"env -u NO_COLOR {words} {command}; echo status=$?; sleep 1000")

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"tmux {words}: {done.stderr}")
        return done.stdout

    def screen(self, escapes=False):
        return self.tmux("capture-pane", "-p", "-J", *(["-e"] if escapes else []), "-S", "-500")

    def wait_for(self, pattern, escapes=False):
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            screen = self.screen(escapes)
            if re.search(pattern, screen, re.MULTILINE):
                return screen
            time.sleep(0.05)
        raise AssertionError(f"no {pattern!r} in\n{self.screen(escapes)}")

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def paste(self, text):
        (self.folder / "paste").write_text(text, encoding="utf-8")
        self.tmux("load-buffer", str(self.folder / "paste"))
        self.tmux("paste-buffer", "-p")

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)


class Talk(Terminal):
    def __init__(self, folder, minfer, model, options="-n 4 --greedy", **more):
        super().__init__(folder, f"{minfer} --cnv {model} -t 1 --ignore-eos {options}", **more)
        self.n_saved = 0
        self.wait_for(r"/help lists commands")
        self.wait_for_prompt()

    def wait_for_prompt(self):
        """Keys that come while a reply does would be the terminal's own to interpret."""
        self.wait_for(r"^> *$(?![\s\S]*\S)")

    def messages(self):
        """What the user is on record with."""
        self.n_saved += 1
        path = self.folder / f"saved{self.n_saved}.json"
        self.wait_for_prompt()
        self.type(f"/save {path}")
        self.keys("Enter")
        end = time.monotonic() + WAIT
        while not path.exists():
            if time.monotonic() > end:
                raise AssertionError(f"nothing was saved:\n{self.screen()}")
            time.sleep(0.05)
        self.wait_for_prompt()
        return [m["content"] for m in json.loads(path.read_text(encoding="utf-8"))["messages"] if m["role"] == "user"]

    def leave(self):
        self.wait_for_prompt()
        self.keys("C-d")
        self.wait_for(r"^status=0")


def expect(found, wanted):
    if found != wanted:
        raise AssertionError(f"found {found!r}, expected {wanted!r}")


def editing(folder, minfer, model):
    talk = Talk(folder, minfer, model)
    talk.type("helo")
    talk.keys("Left", "l", "Enter")
    talk.type("one two three")
    talk.keys("C-a", "C-k")
    talk.type("żółć 漢字x")
    talk.keys("BSpace", "Home")
    talk.type("→ ")
    talk.keys("Enter")
    talk.keys("Up", "Up")
    talk.keys("End")
    talk.type(" again")
    talk.keys("Enter")
    talk.keys("C-r")
    talk.type("żó")
    talk.keys("Enter", "Enter")
    expect(talk.messages()[:3], ["hello", "→ żółć 漢字", "hello again"])
    talk.leave()
    return talk


def history(folder, minfer, model):
    first = Talk(folder, minfer, model)
    first.type("remember me")
    first.keys("Enter")
    first.wait_for(r"stopped after 4 tokens")
    first.leave()
    first.close()
    path = folder / "state" / "minfer" / "history"
    expect(oct(path.stat().st_mode & 0o777), "0o600")
    second = Talk(folder, minfer, model)
    second.keys("Up", "Enter")
    expect(second.messages(), ["remember me"])
    second.leave()
    return second


def pasting(folder, minfer, model):
    talk = Talk(folder, minfer, model, "-n 4 --greedy --n-ctx 20000")
    lines = [f"line {i}: " + "words " * (i % 9) for i in range(200)]
    talk.type("look at ")
    talk.paste("\n".join(lines) + "\n")
    talk.wait_for(r"> look at \[200 lines pasted\]")
    talk.type(" please")
    talk.keys("Enter")
    talk.wait_for(r"stopped after 4 tokens")
    talk.paste("one line")
    talk.wait_for(r"> one line")
    talk.keys("Enter")
    expect(talk.messages(), ["look at " + "\n".join(lines) + " please", "one line"])
    talk.leave()
    return talk


def blocks(folder, minfer, model):
    talk = Talk(folder, minfer, model)
    for line in ['"""first', "second", 'third"""']:
        talk.type(line)
        talk.keys("Enter")
    talk.wait_for(r"^\. third")
    talk.type('"""given up')
    talk.keys("Enter")
    talk.wait_for(r"^\. *$")
    talk.keys("C-c")
    talk.wait_for(r"Ctrl-C again leaves")
    expect(talk.messages(), ["first\nsecond\nthird"])
    talk.leave()
    return talk


def resizing(folder, minfer, model):
    talk = Talk(folder, minfer, model)
    text = "a line that is rather long, so that it takes more than one row of a narrow window, twice"
    talk.type(text)
    for columns, rows in [(40, 10), (100, 30), (30, 8), (80, 24)]:
        talk.resize(columns, rows)
        time.sleep(0.2)
    talk.type("!")
    talk.wait_for(re.escape(f"> {text}!"))
    talk.keys("Enter")
    expect(talk.messages(), [text + "!"])
    talk.leave()
    return talk


def control_c(folder, minfer, model):
    talk = Talk(folder, minfer, model, "-n 0 --n-ctx 1000000 --temp 3 --top-k 0")
    talk.type("given up")
    talk.wait_for(r"^> given up")  # a signal's key throws away what the program has not read yet
    talk.keys("C-c")
    talk.wait_for(r"Ctrl-C again leaves")
    talk.type("go on")
    talk.keys("Enter")
    time.sleep(0.7)
    talk.keys("C-c")
    talk.wait_for_prompt()
    expect(talk.messages(), ["go on"])
    talk.type("go on")
    talk.keys("Enter")
    time.sleep(0.7)
    talk.keys("C-c")
    talk.wait_for_prompt()
    talk.type("and given up again, which leaves nothing but the line")
    talk.wait_for(r"nothing but the line")
    talk.keys("C-c")
    talk.wait_for(r"the line\^C\n\(Ctrl-C again leaves\)\n>")
    talk.keys("C-c")
    talk.wait_for(r"^status=130")
    return talk


def suspended(folder, minfer, model):
    talk = Terminal(folder, "bash --norc -i")
    talk.type(f"PS1='shell: '; {minfer} --cnv {model} -t 1 --ignore-eos -n 4 --greedy")
    talk.keys("Enter")
    talk.wait_for(r"^> *$(?![\s\S]*\S)")
    talk.type("before ")
    talk.wait_for(r"^> before")
    talk.keys("C-z")
    talk.wait_for(r"^shell: *$(?![\s\S]*\S)")
    talk.type("fg")
    talk.keys("Enter")
    talk.wait_for(r"before")
    time.sleep(0.3)
    talk.type("after")
    talk.keys("Enter")
    talk.wait_for(r"stopped after 4 tokens")
    talk.type(f"/save {folder}/saved.json")
    talk.keys("Enter")
    talk.wait_for(r"saved 1 turn")
    expect(json.loads((folder / "saved.json").read_text())["messages"][0]["content"], "before after")
    return talk


def colours(folder, minfer, model):
    talk = Talk(folder, minfer, model)
    talk.type("what is typed has no colour")
    talk.wait_for(r"\x1b\[32m(\x1b\[49m)?>\x1b\[0m(\x1b\[\d+m)* what is typed", escapes=True)
    talk.keys("C-u")
    talk.leave()
    talk.close()
    for environment, options in [({"NO_COLOR": "1"}, ""), ({}, "--color off"), ({"TERM": "dumb"}, "")]:
        plain = Talk(folder, minfer, model, f"-n 4 {options}", environment=environment)
        plain.type("hello")
        plain.keys("Enter")
        if "\x1b" in plain.wait_for(r"stopped after 4 tokens", escapes=True):
            raise AssertionError(f"colours with {environment} {options}:\n{plain.screen(True)!r}")
        plain.leave()
        plain.close()
    piped = subprocess.run([minfer, "--cnv", str(model), "-t", "1", "-n", "4"], input="hello\n", capture_output=True,
                           text=True, errors="replace", check=True, env={"TERM": "xterm", "HOME": str(folder)})
    expect("\x1b" in piped.stdout + piped.stderr, False)
    return talk


def slow_reader(folder, minfer, model):
    """Ctrl-C while a write waits for whoever reads it ends in order, and nothing is lost."""
    readable, writable = os.pipe()
    fcntl.fcntl(writable, fcntl.F_SETPIPE_SZ, 4096)
    words = [minfer, model, "hello", "-t", "1", "-n", "0", "--n-ctx", "100000", "--ignore-eos", "--temp", "3"]
    with subprocess.Popen(words, stdout=writable, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        os.close(writable)
        waiting = 0
        for _ in range(20 * WAIT):
            before, waiting = waiting, struct.unpack("i", fcntl.ioctl(readable, termios.FIONREAD, b"0000"))[0]
            if waiting > 2048 and waiting == before:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        found = b""
        while piece := os.read(readable, 1 << 16):
            found += piece
        os.close(readable)
        errors = process.stderr.read().decode(errors="replace")
        expect((process.wait(), "cannot write" in errors, len(found) >= waiting > 2048), (130, False, True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minfer", type=pathlib.Path, required=True)
    parser.add_argument("--tiny", type=pathlib.Path, required=True)
    parser.add_argument("--only", help="run the scene of this name")
    arguments = parser.parse_args()
    if not shutil.which("tmux"):
        print("missing: tmux (scripts/bootstrap installs it)")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    failed = 0
    for scene in [editing, history, pasting, blocks, resizing, control_c, suspended, slow_reader, colours]:
        if arguments.only and scene.__name__ != arguments.only:
            continue
        with tempfile.TemporaryDirectory(prefix="minfer-terminal-", ignore_cleanup_errors=True) as name:
            folder = pathlib.Path(name)
            model = folder / "model.gguf"
            subprocess.run([arguments.tiny, model], check=True)
            start = time.monotonic()
            try:
                scene(folder, arguments.minfer.resolve(), model)
                print(f"{scene.__name__}: {time.monotonic() - start:.1f} s", flush=True)
            except AssertionError as e:
                failed += 1
                print(f"{scene.__name__} failed: {e}", flush=True)
            finally:
                for socket in folder.glob("tmux*"):
                    subprocess.run(["tmux", "-S", socket, "kill-server"], capture_output=True, check=False)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
