#!/usr/bin/env python3
"""Calls that escaped, hung or wrongly failed in the reference runner, in both tiers, as the
user who runs the tests and (as root) as an ordinary user too."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

SECRET = "TOP-SECRET-OUTSIDE"
# Ordinary calls: what they must answer. Names are the rows' own.
WANT = {
    "git range ok": (0, None),
    "head -n1": (0, "hello"),
    "dev null false pos": (1, "0"),
    "dotdot grep pattern false pos": (0, "hello"),
    "exe slash": (0, "Linux"),
    "cwd abs ws": (0, "Linux"),
    "grep nomatch exit 1": (1, None),
    "bash -c": (0, "x"),
    "node default mem": (0, "2"),
    "url ok": (0, None),
    "a.ts:10:5": (0, None),
    "data url": (0, None),
    "url blocked": (126, None),
    "host:port": (126, None),
    "user@host": (126, None),
    "--host=evil": (126, None),
    "ip literal url": (126, None),
    "decimal ip": (126, None),
    "ipv6 url": (126, None),
    "empty cmd": (127, None),
    "C ws=/ reads shadow": (126, None),
    "C strict node 256MB": (0, "1"),
}


def make_workspace(top, scripts, user):
    workspace = os.path.join(top, "ws")
    for name in ("", "inside", "sub"):
        os.mkdir(os.path.join(workspace, name))
    with open(os.path.join(top, "secret.txt"), "w") as f:
        f.write(SECRET + "\n")
    with open(os.path.join(workspace, "f.txt"), "w") as f:
        f.write("hello\n")
    os.symlink(os.path.join(top, "newfile_outside"), os.path.join(workspace, "dangling"))
    for name in os.listdir(scripts):
        text = open(os.path.join(scripts, name)).read()
        text = text.replace("@OUTSIDE@", top).replace("@WS@", workspace)
        with open(os.path.join(workspace, name.replace(".secret", "")), "w") as f:
            f.write(text)
    subprocess.run(["tar", "-cf", "a.tar", "f.txt"], cwd=workspace, check=True)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "f.txt"], ["commit", "-q", "-m", "one"]):
        subprocess.run(git + command, cwd=workspace, check=True)
    if user is not None:
        subprocess.run(["chown", "-R", f"{user}:{user}", top], check=True)
    return workspace


def command_of(case, tier, workspace, top):
    def there(text):
        return text.replace("@WS@", workspace).replace("@OUTSIDE@", top)

    call = case["input"]
    words = [os.path.join(os.environ["INTERLOCK_BUILD_ROOT"], "interlock"), "run", "--tier", tier]
    words += ["--workspace", there(case.get("ws", workspace)), "--timeout", f"{case['exec_timeout_ms']}ms"]
    words += ["--net", {"none": "open"}.get(case["egress"], case["egress"])]
    for host in case["allowed_hosts"] + ["." + s.strip(".") for s in case["allowed_suffixes"]]:
        words += ["--allow-host", host]
    if "cpu" in case:
        words += ["--cpu", f"{case['cpu']}ms"]
    words += ["--memory", "256M", "--"]
    cwd = os.path.join(workspace, there(call.get("cwd", ".")))
    return words + [there(call["command"])] + [there(a) for a in call["args"]], cwd


def run_case(case, tier, workspace, top, user):
    words, cwd = command_of(case, tier, workspace, top)
    if user is not None:
        words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] + words
    start = time.monotonic()
    done = subprocess.run(words, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                          env={**os.environ, "HOME": top}, timeout=60)
    seconds = time.monotonic() - start
    wrong = []
    if SECRET.encode() in done.stdout + done.stderr or b"root:" in done.stdout:
        wrong.append("a secret came back")
    if set(os.listdir(top)) - {"ws", "secret.txt", ".cache"}:
        wrong.append(f"written outside: {os.listdir(top)}")
    if seconds > case["exec_timeout_ms"] / 1000 + 1:
        wrong.append(f"took {seconds:.1f} s")
    status, text = WANT.get(case["name"], (None, None))
    strict_b = tier == "b" and case["egress"] == "strict"
    if strict_b:
        status, text = 126, None
    if status is not None and done.returncode != status:
        wrong.append(f"status {done.returncode}, not {status}: {done.stderr[-200:]!r}")
    if text is not None and text.encode() not in done.stdout:
        wrong.append(f"{text!r} is not in {done.stdout[-200:]!r}")
    return wrong


def main():
    corpus = os.path.join(os.environ["INTERLOCK_SOURCE_ROOT"], "..", "shared", "corpus")
    path = os.path.join(corpus, "runner_cases.jsonl")
    if not os.path.exists(path):
        print("skipped: the corpus is not here")
        return 77
    cases = [json.loads(line) for line in open(path)]
    if "--quick" in sys.argv:
        cases = [c for c in cases if not any(a.endswith(".sh") for a in c["input"]["args"])]
    failed = ran = 0
    for user in [None, 1000] if os.geteuid() == 0 and "--quick" not in sys.argv else [None]:
        for tier in ("b", "c"):
            for case in cases:
                if any("\0" in a for a in case["input"]["args"]):
                    continue  # no command line can carry it
                if shutil.which("node") is None and "node" in case["name"]:
                    continue
                top = os.path.realpath(tempfile.mkdtemp(prefix="cases-"))
                os.chmod(top, 0o755)
                try:
                    workspace = make_workspace(top, os.path.join(corpus, "runner_scripts"), user)
                    wrong = run_case(case, tier, workspace, top, user)
                finally:
                    shutil.rmtree(top, ignore_errors=True)
                ran += 1
                if wrong:
                    failed += 1
                    print(f"FAILED user={user} tier={tier} {case['name']}: {'; '.join(wrong)}")
    print(f"{ran} runs, {failed} failed")
    return 1 if failed or ran < 2 * len(cases) - 10 else 0


if __name__ == "__main__":
    sys.exit(main())
