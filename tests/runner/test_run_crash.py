#!/usr/bin/env python3
"""200 runs at once, killed at random: nothing of them is left, as process, file or mount."""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

INTERLOCK = os.path.join(os.environ["INTERLOCK_BUILD_ROOT"], "interlock")
EXEC = os.path.join(os.environ["INTERLOCK_BUILD_ROOT"], "interlock-exec")
N = 200


def private_directories():
    return [os.path.join("/tmp", d) for d in os.listdir("/tmp") if d.startswith("interlock-run-")]


def survivors(word):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if word in f.read().split(b"\0"):
                    found.append(pid)
        except OSError:
            pass
    return found


def main():
    top = os.path.realpath(tempfile.mkdtemp(prefix="crash-"))
    word = f"6{os.getpid()}.5"
    seed = int(os.environ.get("SEED", "1"))
    chance = random.Random(seed)
    os.environ["HOME"] = top
    mounts = open("/proc/self/mounts").read()
    before = set(private_directories())
    runs = []
    for i in range(N):
        workspace = os.path.join(top, f"ws{i}")
        os.mkdir(workspace)
        tier = "bc"[i % 2]
        runs.append((tier, subprocess.Popen(
            [INTERLOCK, "run", "--tier", tier, "--", "sh", "-c", f"echo x >$TMPDIR/x; (setsid sleep {word} &); sleep {word}"],
            cwd=workspace, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)))
        if chance.random() < 0.3:
            chance.choice(runs)[1].kill()
    time.sleep(chance.random())
    chance.shuffle(runs)
    for _, run in runs:
        run.kill()
        run.wait()
    deadline = time.monotonic() + 3
    while (survivors(word.encode()) or survivors(EXEC.encode())) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = survivors(word.encode()) + survivors(EXEC.encode())
    # A runner killed between making its directory and its first process leaves an empty one.
    kept = [d for d in set(private_directories()) - before if os.listdir(d)]
    moved = open("/proc/self/mounts").read() != mounts
    shutil.rmtree(top, ignore_errors=True)
    print(f"{N} runs, seed {seed}: {len(left)} survivors, {len(kept)} directories with files, mounts {'changed' if moved else 'as before'}")
    return 1 if left or kept or moved else 0


if __name__ == "__main__":
    sys.exit(main())
