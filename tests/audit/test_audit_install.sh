#!/bin/sh
# The example builds with what is installed alone, and runs; the library exports il_* and the part of
# base/ that its header names, nothing of its inside.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
meson install -C "$INTERLOCK_BUILD_ROOT" --no-rebuild --quiet --destdir "$work/root" >/dev/null
pc=$(find "$work/root" -name interlock-audit.pc)
[ -n "$pc" ] || { echo "no interlock-audit.pc was installed"; exit 1; }
PKG_CONFIG_PATH=$(dirname "$pc")
PKG_CONFIG_SYSROOT_DIR=$work/root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
libdir=$(dirname "$(find "$work/root" -name libinterlock-audit.so)")
# shellcheck disable=SC2046 # words
${CC:-cc} -Wall -Wextra -Werror -o "$work/app" "$INTERLOCK_SOURCE_ROOT/examples/audit_app.c" \
	$(pkg-config --cflags interlock-audit) -L"$libdir" $(pkg-config --libs interlock-audit)
[ "$(wc -l <"$INTERLOCK_SOURCE_ROOT/examples/audit_app.c")" -lt 40 ] || { echo "the example is too long"; exit 1; }
said=$(LD_LIBRARY_PATH=$libdir "$work/app" "$work/record")
case $said in
"consistent, not anchored, "*) ;;
*) echo "the example said: $said"; exit 1 ;;
esac
exported=$(nm -D --defined-only "$libdir/libinterlock-audit.so" | awk '{ print $3 }')
for name in il_audit_open il_audit_append il_audit_verify value_map arena_init; do
	echo "$exported" | grep -qx "$name" || { echo "$name is not exported"; exit 1; }
done
if echo "$exported" | grep -E '^(line_|merkle_|segment_|stream_|head_|audit_|anchor_)'; then
	echo "the inside of the library is exported"
	exit 1
fi
