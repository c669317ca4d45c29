#!/bin/sh
# Each protection is taken out of the library in turn: the test that is there for it must fail, and pass with it.
set -eu
cd "$INTERLOCK_SOURCE_ROOT"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
base="arena buf clock errors files hash json mp_read mp_write num utf8 value"
sources=$(for name in $base; do echo "base/$name.c"; done; ls chronicle/*.c; echo tests/chronicle/world.c tests/chronicle/mutate.c)
flags=$(pkg-config --cflags --libs libcrypto jansson libsodium cmocka; pkg-config --libs msgpack-c 2>/dev/null || pkg-config --libs msgpack)

# built OUTPUT TEST [MUTATION]
built() {
	wrap=
	[ "$2" = racy ] && wrap="-Wl,--wrap=fstat,--wrap=fstatat"
	# shellcheck disable=SC2086 # words
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -w -I. ${3:+-DMUTATION_CHRONICLE_$3} -o "$work/$1" \
		"tests/chronicle/test_chronicle_$2.c" $sources $wrap $flags
}
for test in racy snapshot tamper; do
	built "$test" "$test"
	"$work/$test" >"$work/said" 2>&1 || { cat "$work/said"; echo "$test fails though nothing is left out"; exit 1; }
done
while read -r mutation test; do
	built mutant "$test" "$mutation"
	if "$work/mutant" >"$work/said" 2>&1; then
		echo "without $mutation, $test still passes"
		exit 1
	fi
	grep -q FAILED "$work/said" || { cat "$work/said"; echo "$test did not fail but broke without $mutation"; exit 1; }
done <<END
RACY racy
CONFLICT snapshot
RETENTION snapshot
BENEATH snapshot
HEAD tamper
HASH tamper
END
