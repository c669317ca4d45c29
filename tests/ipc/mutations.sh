#!/bin/sh
# Leaves out one protection of the product after the other, and expects that a test falls each time.
# usage: mutations.sh [NAME ...]; without names all of them.
set -u
root=${INTERLOCK_SOURCE_ROOT:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
# mutation: the test that must notice
table='frame_limit:tests/ipc/test_ipc_connection
token_uid:tests/ipc/test_ipc_token
token_single_use:tests/ipc/test_ipc_connection
peer_pid:tests/ipc/test_ipc_connection
role_table:tests/ipc/test_ipc_connection
files_grant:tests/agent/test_files
files_sandbox:tests/agent/test_files
agent_sandbox:tests/agent/test_agent'
meson setup "$work/build" "$root" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for row in $table; do
	name=${row%%:*}
	test=${row#*:}
	[ $# -eq 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
	meson configure "$work/build" -Dmutation="$name" >"$work/log" 2>&1 &&
		ninja -C "$work/build" "$test" interlock-files interlock-agent >"$work/log" 2>&1 ||
		{ echo "$name: does not build"; tail -20 "$work/log"; bad=1; continue; }
	if INTERLOCK_SOURCE_ROOT=$root INTERLOCK_BUILD_ROOT=$work/build timeout 60 "$work/build/$test" >"$work/log" 2>&1; then
		echo "$name: $test does not notice"
		bad=1
	else
		echo "$name: noticed"
	fi
done
exit $bad
