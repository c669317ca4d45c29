#!/bin/sh
# Takes each protection out of the product in turn and expects the escapes to be noticed.
set -eu
root=${INTERLOCK_SOURCE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
for mutation in seccomp landlock_fs landlock_net landlock_scope descriptors environment; do
	meson setup "$work/$mutation" "$root" -Dmutation=$mutation -Dwerror=false >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
	ninja -C "$work/$mutation" tests/sandbox/test_sandbox_escape >"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
	if "$work/$mutation/tests/sandbox/test_sandbox_escape" >"$work/log" 2>&1 </dev/null; then
		echo "without $mutation nothing escaped: no test notices that it is gone"
		bad=1
	else
		echo "without $mutation: $(tail -n 1 "$work/log")"
	fi
done
exit $bad
