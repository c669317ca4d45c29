#!/bin/sh
# Each protection of the record taken out of the product: the test that guards it must fail.
set -eu
cd "$INTERLOCK_SOURCE_ROOT"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
base=$(ls base/arena.c base/buf.c base/clock.c base/errors.c base/files.c base/hash.c base/json.c base/num.c base/utf8.c base/value.c)

# built NAME MUTATION: the test with the sources of the library, one protection missing
built() {
	# shellcheck disable=SC2046,SC2086 # words
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -w -I. ${2:+-DMUTATION_$2} -o "$work/$1" "tests/audit/test_audit_$1.c" \
		audit/*.c $base $(pkg-config --cflags --libs cmocka jansson libcrypto libsodium) -lpthread
}

expect_pass() {
	built "$1" ""
	"$work/$1" >"$work/out" 2>&1 || { echo "$1 fails with every protection in place"; cat "$work/out"; exit 1; }
}

expect_fail() {
	built "$1" "$2"
	if timeout 60 "$work/$1" >"$work/out" 2>&1; then
		echo "$1 passes without $2"
		exit 1
	fi
}

expect_pass damage
expect_fail damage AUDIT_MAC
expect_fail damage AUDIT_RATCHET
expect_fail damage AUDIT_ANCHOR
expect_fail damage AUDIT_HASH
expect_pass log
expect_fail log AUDIT_LOCK
expect_pass crash
expect_fail crash AUDIT_TAIL
