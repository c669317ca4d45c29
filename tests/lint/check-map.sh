#!/bin/sh
# The map in docs/ARCHITECTURE.md against the tree: every folder of the table exists, every folder with C files
# is in the table, and every file that the docs name exists.
set -eu
root=${INTERLOCK_SOURCE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$root"
bad=0
map=docs/ARCHITECTURE.md
rules=tests/lint/include-rules.txt
for folder in $(sed -n 's/^| `\([a-z/]*\)\/` |.*/\1/p' "$map"); do
	[ -d "$folder" ] || { echo "$map names $folder/, which is not there"; bad=1; }
	grep -q "^$folder:" "$rules" || { echo "$map names $folder/, $rules does not"; bad=1; }
done
for folder in $(sed -n 's/^\([a-z/]*\):.*/\1/p' "$rules"); do
	grep -q "^| \`$folder/\` |" "$map" || { echo "$rules names $folder, $map does not"; bad=1; }
done
for folder in $(git ls-files '*.c' 2>/dev/null | grep -v '^tests/\|^examples/' | sed 's|/[^/]*$||' | sort -u); do
	grep -q "^$folder:" "$rules" || { echo "$folder has C files and no rule"; bad=1; }
done
for file in $(sed -n 's/[^`]*`\([a-z_]*\/[a-z_./-]*\.[a-z]*\)`/\1\n/gp' "$map" README.md | grep '^[a-z_]*/[a-z_./-]*\.[a-z]*$'); do
	[ -e "$file" ] || { echo "the docs name $file, which is not there"; bad=1; }
done
exit $bad
