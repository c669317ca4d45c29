#!/bin/sh
# Fails on any #include between folders that include-rules.txt does not list.
set -eu
root=${INTERLOCK_SOURCE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
rules=${1:-$root/tests/lint/include-rules.txt}
cd "$root"
bad=0
folders=$(sed -n 's/^\([a-z/]*\):.*/\1/p' "$rules")
for folder in $folders; do
	allowed="$folder $(sed -n "s|^$folder:||p" "$rules")"
	for file in $(find "$folder" -maxdepth 1 -name '*.[ch]'); do
		for included in $(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$file"); do
			case $included in
			*/*) ;;
			*)
				echo "$file: #include \"$included\" lacks its folder"
				bad=1
				continue
				;;
			esac
			from=${included%/*}
			case " $allowed " in
			*" $from "*) ;;
			*)
				echo "$file: includes $included, but $folder may include only: $allowed"
				bad=1
				;;
			esac
		done
	done
done
# A local that is released by itself must hold "nothing" from its first line on.
if grep -rnE 'auto_[a-z]+ [a-z_ ]+\*? ?[a-z_]+;$' --include='*.c' . | grep -v '^./build'; then
	echo "a local that releases itself is not initialised"
	bad=1
fi
exit $bad
