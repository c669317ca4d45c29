#!/usr/bin/env python3
"""What `interlock run` promises, by looking: limits, ends, armed files, what leaks in."""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

INTERLOCK = os.path.join(os.environ["INTERLOCK_BUILD_ROOT"], "interlock")
TIERS = os.environ.get("TIERS", "b c").split()


def processes(word):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if word in f.read().split(b"\0"):
                    found.append(pid)
        except OSError:
            pass
    return found


class Run(unittest.TestCase):
    def setUp(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="run-"))
        self.workspace = os.path.join(self.top, "ws")
        os.mkdir(self.workspace)
        os.environ["HOME"] = self.top
        self.addCleanup(shutil.rmtree, self.top, True)

    def run_it(self, tier, *words, options=(), **more):
        done = subprocess.run([INTERLOCK, "run", "--tier", tier, *options, "--", *words],
                              cwd=self.workspace, capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, **more)
        return done

    def sh(self, tier, script, options=(), **more):
        return self.run_it(tier, "sh", "-c", script, options=options, **more)

    def each(self):
        for tier in TIERS:
            with self.subTest(tier=tier):
                yield tier

    def test_exit_statuses_say_what_happened(self):
        for tier in self.each():
            self.assertEqual(self.sh(tier, "exit 7").returncode, 7)
            self.assertEqual(self.sh(tier, "kill -TERM $$").returncode, 128 + 15)
            self.assertEqual(self.run_it(tier, "no-such-program").returncode, 127)
            self.assertEqual(self.run_it(tier, "/etc/passwd").returncode, 126)
            self.assertEqual(self.sh(tier, "sleep 9", options=["--timeout", "300ms"]).returncode, 124)
            self.assertEqual(self.sh(tier, "true", options=["--interpreters", "deny"]).returncode, 126)
            self.assertEqual(self.sh(tier, "true", options=["--allow-exec", "ls"]).returncode, 126)

    def test_nothing_survives_the_death_of_the_runner(self):
        for tier in self.each():
            word = f"4{os.getpid()}.{tier == 'b':d}"
            run = subprocess.Popen([INTERLOCK, "run", "--tier", tier, "--", "sh", "-c",
                                    f"setsid sleep {word} & (sleep {word} &) ; sleep {word}"],
                                   cwd=self.workspace)
            deadline = time.monotonic() + 10
            while len(processes(word.encode())) < 3 and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual(len(processes(word.encode())), 3)
            run.kill()
            run.wait()
            deadline = time.monotonic() + 1
            while processes(word.encode()) and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual(processes(word.encode()), [])

    def test_a_daemon_does_not_outlive_the_command(self):
        for tier in self.each():
            word = f"5{os.getpid()}.{tier == 'b':d}"
            start = time.monotonic()
            done = self.sh(tier, f"setsid sleep {word} & sleep {word} & echo hi")
            self.assertEqual(done.stdout, "hi\n")
            self.assertLess(time.monotonic() - start, 5)
            self.assertEqual(processes(word.encode()), [])

    def test_limits_hold_for_the_whole_tree(self):
        spin = "for i in 1 2 3; do sh -c 'while :; do :; done' & done; wait"
        eat = "for i in 1 2 3 4; do python3 -c 'x=b\"a\"*60000000; import time; time.sleep(9)' & done; wait"
        many = "for i in 1 2 3 4 5 6 7 8 9; do sleep 9 & done; wait"
        for tier in self.each():
            for script, option, name in ((spin, ["--cpu", "400ms"], "cpu"), (eat, ["--memory", "128M"], "memory"),
                                         (many, ["--pids", "5"], "processes")):
                done = self.sh(tier, script, options=[*option, "--timeout", "6s"])
                self.assertEqual(done.returncode, 125, done.stderr)
                self.assertIn(f"limit of {name}", done.stderr)

    def test_output_is_cut_at_its_limit(self):
        for tier in self.each():
            done = self.sh(tier, "yes", options=["--output-limit", "64K"])
            self.assertEqual(len(done.stdout), 65536)
            self.assertIn("limit of output", done.stderr)
            done = self.sh(tier, "head -c 3000000 /dev/zero | tr '\\0' x")
            self.assertEqual(len(done.stdout), 3000000)

    def test_armed_files_are_as_before(self):
        subprocess.run(["git", "init", "-q"], cwd=self.workspace, check=True)
        config = os.path.join(self.workspace, ".git/config")
        before = open(config).read()
        for tier in self.each():
            done = self.sh(tier, "echo '[core] fsmonitor=x' >>.git/config; mv .git .git2;"
                                 "mkdir -p .git/hooks; echo evil >.git/hooks/pre-commit;"
                                 "echo evil >.git/config; echo evil >.envrc; echo ok >file; exit 0",
                           options=["--json", os.path.join(self.top, "json")])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(open(config).read(), before)
            self.assertFalse(os.path.exists(os.path.join(self.workspace, ".git/hooks/pre-commit")))
            self.assertFalse(os.path.exists(os.path.join(self.workspace, ".envrc")))
            self.assertTrue(os.path.exists(os.path.join(self.workspace, "file")))
            self.assertIn("removed: .envrc", json.load(open(os.path.join(self.top, "json")))["violated"])
            shutil.rmtree(os.path.join(self.workspace, ".git2"), True)

    @unittest.skipUnless("c" in TIERS, "needs namespaces")
    def test_present_armed_files_cannot_be_written_at_all(self):
        with open(os.path.join(self.workspace, ".envrc"), "w") as f:
            f.write("before\n")
        self.assertIn("Read-only", self.sh("c", "echo after >.envrc").stderr)
        self.assertIn("before", self.sh("c", "rm -f .envrc; cat .envrc").stdout)

    @unittest.skipUnless("c" in TIERS, "needs namespaces")
    def test_a_hidden_place_is_empty_and_tier_b_refuses_it(self):
        os.mkdir(os.path.join(self.workspace, "private"))
        with open(os.path.join(self.workspace, "private/key"), "w") as f:
            f.write("KEY")
        self.assertNotIn("KEY", self.sh("c", "cat private/key", options=["--hide", "private"]).stdout)
        self.assertEqual(self.sh("b", "true", options=["--hide", "private"]).returncode, 126)

    def test_nothing_of_ours_leaks_in(self):
        fd = os.open("/etc/passwd", os.O_RDONLY)
        os.set_inheritable(fd, True)
        os.environ["SOME_TOKEN"] = "LEAKED"
        self.addCleanup(os.environ.pop, "SOME_TOKEN")
        self.addCleanup(os.close, fd)
        for tier in self.each():
            done = self.sh(tier, f"env; ls /proc/self/fd; cat <&{fd}; cat /proc/$PPID/environ", pass_fds=[fd])
            self.assertNotIn("LEAKED", done.stdout)
            self.assertNotIn("root:", done.stdout)

    def test_sockets_of_the_machine_are_out_of_reach(self):
        path = os.path.join(self.top, "sock")
        local = socket.socket(socket.AF_UNIX)
        local.bind(path)
        local.listen()
        os.chmod(path, 0o777)
        abstract = socket.socket(socket.AF_UNIX)
        abstract.bind(b"\0run-" + self.top.encode())
        abstract.listen()
        tcp = socket.create_server(("127.0.0.1", 0))
        for s in (local, abstract, tcp):
            self.addCleanup(s.close)
            s.setblocking(False)
        script = ("import socket\n"
                  f"for f, a in ((1, {path!r}), (1, {chr(0) + 'run-' + self.top!r}), (2, ('127.0.0.1', {tcp.getsockname()[1]}))):\n"
                  "    try:\n        socket.socket(f).connect(a)\n        print('REACHED', a)\n"
                  "    except OSError as e:\n        print('NOT-REACHED', e)\n")
        for tier in self.each():
            done = self.run_it(tier, "python3", "-c", script)
            self.assertEqual(done.stdout.count("NOT-REACHED"), 3, done.stdout + done.stderr)
            for s in (local, abstract, tcp):
                self.assertRaises(BlockingIOError, s.accept)

    def test_no_new_rights_inside(self):
        for path in ("/usr/x", "/etc/x"):  # there only when a protection is missing
            self.addCleanup(lambda p=path: os.path.exists(p) and os.remove(p))
        for tier in self.each():
            done = self.sh(tier, "unshare -Ur true; mount -t tmpfs x /tmp; grep -E 'CapEff|CapBnd|NoNewPrivs' "
                                 "/proc/self/status; touch /usr/x /etc/x")
            self.assertIn("NoNewPrivs:\t1", done.stdout)
            self.assertIn("CapEff:\t0000000000000000", done.stdout)
            self.assertFalse(os.path.exists("/usr/x") or os.path.exists("/etc/x"))
            self.assertIn("unshare", done.stderr)

    def test_too_wide_workspaces_are_refused(self):
        for tier in self.each():
            for place in ("/", "/usr", "/tmp", self.top):
                self.assertEqual(self.sh(tier, "true", options=["--workspace", place]).returncode, 126)

    def test_hosts_are_refused_where_nothing_enforces_them(self):
        done = self.sh("b", "true", options=["--allow-host", "example.org"])
        self.assertEqual(done.returncode, 126)
        self.assertIn("EgressDenied", done.stderr)

    def serve(self):
        with open(os.path.join(self.top, "page"), "w") as f:
            f.write("PAGE")
        server = subprocess.Popen([sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"],
                                  cwd=self.top, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.kill)
        return int(server.stdout.readline().split(" port ")[1].split()[0])

    @unittest.skipUnless("c" in TIERS, "needs namespaces")
    def test_only_the_listed_address_is_reached(self):
        port = self.serve()
        attestation = os.path.join(self.top, "json")

        def get(url, *hosts, proxy=()):
            options = ["--net", "strict", "--json", attestation]
            for host in hosts:
                options += ["--allow-host", host]
            return self.run_it("c", "curl", "-s", "-m", "9", *proxy, url, options=options).stdout

        listed = f"127.0.0.1:{port}"
        socks = ["-x", "socks5h://127.0.0.1:3128"]
        self.assertEqual(get(f"http://127.0.0.1:{port}/page", listed), "PAGE")
        self.assertEqual(get(f"http://127.0.0.1:{port}/page", listed, proxy=["-p"]), "PAGE")
        self.assertEqual(get(f"http://0x7f.1:{port}/page", listed, proxy=socks), "PAGE")
        self.assertEqual(get(f"http://localhost:{port}/page", listed, f"localhost:{port}"), "PAGE")
        self.assertTrue(json.load(open(attestation))["connections"][0]["allowed"])
        for proxy in ([], ["-p"], socks, ["--noproxy", "*"]):
            for url in ("http://127.0.0.1", "http://2130706433", "http://[::ffff:127.0.0.1]", "http://localhost"):
                with self.subTest(proxy=proxy, url=url):
                    self.assertNotIn("PAGE", get(f"{url}:{port}/page", "example.org", proxy=proxy))
                    self.assertNotIn("PAGE", get(f"{url}:{port}/page", f"localhost:{port}", proxy=proxy))
            self.assertNotIn("PAGE", get(f"http://127.0.0.1:{port}/page", proxy=proxy))

    def test_links_out_of_the_workspace_lead_nowhere(self):
        with open(os.path.join(self.top, "outside"), "w") as f:
            f.write("OUTSIDE")
        os.symlink("../outside", os.path.join(self.workspace, "link"))
        os.symlink("../new", os.path.join(self.workspace, "dangling"))
        for tier in self.each():
            done = self.sh(tier, "cat link; echo x >link; echo x >dangling; cat ../outside; exit 0")
            self.assertNotIn("OUTSIDE", done.stdout)
            self.assertEqual(open(os.path.join(self.top, "outside")).read(), "OUTSIDE")
            self.assertFalse(os.path.exists(os.path.join(self.top, "new")))

    def test_nothing_is_left_behind(self):
        before = {n for n in os.listdir("/tmp") if n.startswith("interlock-")}
        for tier in self.each():
            self.sh(tier, "mkdir -p $TMPDIR/a/b; echo x >$TMPDIR/a/b/c; chmod 0 $TMPDIR/a")
        # Other runs on this machine have directories here too; theirs go when they end, what was left behind stays.
        left = {n for n in os.listdir("/tmp") if n.startswith("interlock-run-")} - before
        for _ in range(150):
            left = {n for n in left if os.path.exists(os.path.join("/tmp", n))}
            if not left:
                break
            time.sleep(0.1)
        self.assertEqual(left, set())


if __name__ == "__main__":
    unittest.main(warnings="ignore")
