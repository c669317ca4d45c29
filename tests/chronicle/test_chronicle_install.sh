#!/bin/sh
# The example builds with what is installed alone, and runs; the library exports il_* and the part of
# base/ that its header names, nothing of its inside.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
meson install -C "$INTERLOCK_BUILD_ROOT" --no-rebuild --quiet --destdir "$work/root" >/dev/null
pc=$(find "$work/root" -name interlock-chronicle.pc)
[ -n "$pc" ] || { echo "no interlock-chronicle.pc was installed"; exit 1; }
export PKG_CONFIG_PATH="$(dirname "$pc")" PKG_CONFIG_SYSROOT_DIR="$work/root"
libdir=$(dirname "$(find "$work/root" -name libinterlock-chronicle.so)")
# shellcheck disable=SC2046 # words
${CC:-cc} -Wall -Wextra -Werror -o "$work/app" "$INTERLOCK_SOURCE_ROOT/examples/chronicle_app.c" \
	$(pkg-config --cflags interlock-chronicle) -L"$libdir" $(pkg-config --libs interlock-chronicle)
mkdir "$work/tree"
echo "the first line" >"$work/tree/file"
cp -a "$work/tree/file" "$work/kept"
said=$(LD_LIBRARY_PATH=$libdir "$work/app" "$work/store" "$work/tree" file)
case $said in
*"changed: file (15 "*"taken back: "*) ;;
*) echo "the example said: $said"; exit 1 ;;
esac
cmp "$work/kept" "$work/tree/file"
exported=$(nm -D --defined-only "$libdir/libinterlock-chronicle.so" | awk '{ print $3 }')
for name in il_chronicle_open il_chronicle_begin il_chronicle_rollback value_map arena_init; do
	echo "$exported" | grep -qx "$name" || { echo "$name is not exported"; exit 1; }
done
if echo "$exported" | grep -E '^(store_|record_|segment_|head_|capture_|apply_|book_|index_)'; then
	echo "the inside of the library is exported"
	exit 1
fi
