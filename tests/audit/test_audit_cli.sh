#!/bin/sh
# `interlock audit` as a person uses it, on a record made by the installed example.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/interlock"
ln -s "$INTERLOCK_SOURCE_ROOT/audit" "$work/interlock/audit"
${CC:-cc} -o "$work/app" "$INTERLOCK_SOURCE_ROOT/examples/audit_app.c" -I"$INTERLOCK_SOURCE_ROOT" -I"$work" \
	-L"$INTERLOCK_BUILD_ROOT/audit" -linterlock-audit
LD_LIBRARY_PATH=$INTERLOCK_BUILD_ROOT/audit "$work/app" "$work/record" >/dev/null
audit() { "$INTERLOCK_BUILD_ROOT/interlock" audit "$@" --dir "$work/record"; }
fail() { echo "$*"; exit 1; }
status() { set +e; "$@" >"$work/out" 2>&1; got=$?; set -e; }

audit key >"$work/key" 2>/dev/null || fail "key"
status audit key
[ $got = 1 ] || fail "the key was given out twice"
[ ! -e "$work/record/verification.key" ] || fail "the key is still there"
audit verify | grep -q '^consistent, not anchored$' || fail "verify without a key"
audit verify --key "$work/key" | grep -q '^intact$' || fail "verify with the key"
audit verify --key "$work/key" --json | grep -q '"status":0,"anchored":true,"entries":4' || fail "verify --json"
audit --verify | grep -q '^consistent' || fail "the reference's --verify"
[ "$(audit list --json | wc -l)" = 4 ] || fail "list"
[ "$(audit list --json --lines 1 | grep -c '"event":"Checkpoint"')" = 1 ] || fail "the newest comes first"
[ "$(audit --type 5 --json | grep -c '"event":"ActionExecuted"')" = 1 ] || fail "the reference's --type"
[ "$(audit --session example --json | wc -l)" = 1 ] || fail "the reference's --session"
[ "$(audit list --since 2000-01-01 --until 2000-01-02 --json 2>/dev/null | wc -l)" = 0 ] || fail "list --until"
audit show 2 | grep -q '"what":"lamp on"' || fail "show"
cmp -s "$work/record/00000001.jsonl" - <<END || fail "export gives the entries as they are"
$(audit export)
END
audit export --format csv | head -1 | grep -q '^seq,time,event' || fail "export --format csv"
audit stats --json | grep -q '"ActionExecuted":1' || fail "stats"
audit prune --before 2000-01-01 | grep -q 'nothing is that old' || fail "prune"
status audit show 999
[ $got = 1 ] || fail "an entry that is not there: exit $got"
status audit list --bogus 1
[ $got = 64 ] || fail "an unknown option: exit $got"
status audit list --since yesterday
[ $got = 64 ] || fail "a date that is none: exit $got"
status "$INTERLOCK_BUILD_ROOT/interlock" audit verify --dir "$work/nowhere"
[ $got = 2 ] || fail "no record: exit $got"
sed -i 's/lamp on/lamp 0n/' "$work/record/00000001.jsonl"
status audit verify
[ $got = 1 ] || fail "an edited record: exit $got"
grep -q '^BROKEN: edit at 00000001.jsonl:2' "$work/out" || fail "the damage is not named: $(cat "$work/out")"
