#!/bin/sh
# The whole way: manager, engine, confined agent; ordinary work is done, the dangerous steps are refused, the edit is
# taken back and the record verifies. Then the same with another transcript and a policy that denies the edit.
set -eu
root=$INTERLOCK_SOURCE_ROOT
build=$INTERLOCK_BUILD_ROOT
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAILED: $*"
	cat "$work/out"
	exit 1
}

sh "$root/examples/demo/run.sh" "$build" >"$work/out" 2>&1 || fail "the demonstration"
grep -q 'PROT-CREDENTIALS' "$work/out" || fail "the private key was not protected by name"
grep -q 'PROT-VITAL' "$work/out" || fail "the delete of the home was not refused"
[ "$(grep -c '      status    denied' "$work/out")" -eq 3 ] || fail "three steps should be denied"
[ "$(grep -c '      status    executed' "$work/out")" -eq 5 ] || fail "five steps should be executed"
[ "$(grep -c '^snapshot_taken' "$work/out")" -eq 3 ] || fail "the edit and both commands should be snapshotted"
grep -q 'taken back as' "$work/out" || fail "the edit was not taken back"
grep -q '^consistent' "$work/out" || fail "the record does not verify"

# Another transcript: what was allowed above is refused by a rule of the workspace itself.
project=$work/ring
cp -R "$root/examples/demo/project" "$project"
git -C "$project" init -q
cat >"$project/interlock.yaml" <<'END'
version: 1
deny:
  - name: no-edits
    actions: [write_file]
    reason: nothing is edited here
END
cat >"$work/transcript.json" <<'END'
[{"propose": {"type": "write_file", "payload": {"path": "README.md", "content": "x"}}},
 {"expect": {"status": "denied"}},
 {"propose": {"type": "read_file", "payload": {"path": "README.md"}}},
 {"expect": {"status": "executed"}}]
END
export XDG_STATE_HOME="$work/state" XDG_CONFIG_HOME="$work/config"
before=$(cksum <"$project/README.md")
"$build/interlock" start -d --trust "$project" >"$work/out" 2>&1 || fail "start with a policy of the workspace"
"$build/interlock" replay "$work/transcript.json" "$project" >"$work/out" 2>&1 || fail "the other transcript"
grep -q 'no-edits' "$work/out" || fail "the verdict does not name the rule"
"$build/interlock" stop "$project" >>"$work/out" 2>&1 || fail "stop"
[ "$before" = "$(cksum <"$project/README.md")" ] || fail "the denied edit happened"
