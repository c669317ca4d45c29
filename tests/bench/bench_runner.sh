#!/bin/sh
# What a command costs when confined, beside the same command bare and under other tools.
# usage: bench_runner.sh [N]; INTERLOCK_BUILD_ROOT names the build folder.
set -eu
n=${1:-100}
interlock=$INTERLOCK_BUILD_ROOT/interlock
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

measure() {
	name=$1
	shift
	"$@" >/dev/null 2>&1 || { printf '%-24s not here\n' "$name"; return 0; }
	start=$(date +%s%N)
	i=0
	while [ $i -lt "$n" ]; do
		"$@" >/dev/null 2>&1
		i=$((i + 1))
	done
	us=$((($(date +%s%N) - start) / n / 1000))
	[ "$name" = bare ] && bare=$us
	printf '%-24s %6d us  %d.%d x\n' "$name" $us $((us / bare)) $((us * 10 / bare % 10))
}

measure bare /bin/true
measure "interlock run, tier b" "$interlock" run --tier b -- /bin/true
measure "interlock run, tier c" "$interlock" run --tier c -- /bin/true
measure bubblewrap bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev /bin/true
measure firejail firejail --quiet --noprofile --net=none /bin/true
