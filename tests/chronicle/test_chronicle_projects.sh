#!/bin/sh
# Real work on a real project, taken back by the real command: afterwards the tree is as it was, and
# `git status` agrees.
set -eu
interlock=$INTERLOCK_BUILD_ROOT/interlock
snapshot=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work" GIT_CONFIG_NOSYSTEM=1 GIT_OPTIONAL_LOCKS=0
tree=$work/tree
store=$work/store
mkdir -p "$tree/src/deep/er" "$tree/bin"
cd "$tree"
for i in 1 2 3 4 5 6 7 8 9; do
	printf 'line %s\nfoo bar\n' $i >"src/file$i.c"
	printf 'foo %s\n' $i >"src/deep/er/f$i"
done
printf '#!/bin/sh\necho foo\n' >bin/tool
chmod 755 bin/tool
ln -s src/file1.c link
printf '*.o\n/out/\n' >.gitignore
git init -q .
git -c user.name=t -c user.email=t@t add -A
git -c user.name=t -c user.email=t@t commit -qm one
# Work that is not committed is what an undo must not lose.
echo "not committed" >>src/file2.c
echo "untracked" >notes.txt
mkdir out
echo "built" >out/a.o
chmod 600 src/file3.c
touch -d '2001-02-03 04:05:06.789' src/file4.c

describe() {
	(cd "$tree" && find . -printf '%p %y %m %U:%G %T@ %s %l\n' | LC_ALL=C sort &&
		find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
}
status() {
	(cd "$tree" && git status --porcelain)
}
fail() {
	echo "$1"
	exit 1
}
describe >"$work/before"
status >"$work/status-before"

taken_back() { # command...
	"$snapshot" "$store" "$tree" "$@" >"$work/id" 2>"$work/said" || { cat "$work/said"; fail "no snapshot of: $*"; }
	id=$(cat "$work/id")
	describe >"$work/after"
	cmp -s "$work/before" "$work/after" && fail "nothing was changed by: $*"
	"$interlock" chronicle --dir "$store" show "$id" >"$work/show"
	[ "$(wc -l <"$work/show")" -gt 1 ] || fail "no change was recorded of: $*"
	"$interlock" chronicle --dir "$store" undo >"$work/undo" || fail "undo failed after: $*"
	describe >"$work/back"
	diff "$work/before" "$work/back" || fail "the tree is not as before: $*"
	status | diff "$work/status-before" - || fail "git status does not agree: $*"
	"$interlock" chronicle --dir "$store" redo >"$work/redo" || fail "redo failed after: $*"
	describe >"$work/again"
	diff "$work/after" "$work/again" || fail "redo does not bring back: $*"
	"$interlock" chronicle --dir "$store" undo >"$work/undo" || fail "the second undo failed after: $*"
	describe | diff "$work/before" - || fail "the second undo is not as before: $*"
}

taken_back git reset -q --hard
taken_back git clean -qfdx
taken_back sh -c 'find src -type f -exec sed -i s/foo/baz/ {} +'
taken_back rm -rf src
taken_back sh -c 'for i in 1 2 3; do echo half >src/gen$i.c; done; exit 1'
taken_back sh -c 'git checkout -q -b other && git mv src/file5.c moved.c && git -c user.name=t -c user.email=t@t commit -qam two'
taken_back sh -c 'rm link && mkdir link && echo x >link/x && rm -rf bin && echo file >bin'
taken_back sh -c 'chmod -R go-rwx src && touch src/file1.c && mv src/file6.c "a b" && truncate -s 5M sparse'

# The commands that show: they agree with what happened.
id=$("$snapshot" "$store" "$tree" sh -c 'echo more >>src/file1.c; printf "a\0b" >blob' 2>/dev/null)
"$interlock" chronicle --dir "$store" diff "$id" | grep -q '^+more$' || fail "diff does not show the line"
"$interlock" chronicle --dir "$store" diff "$id" blob | grep -q 'binary, 0 bytes → 3 bytes' || fail "diff does not summarise binary"
[ "$("$interlock" chronicle --dir "$store" diff "$id" blob | grep -c file1)" = 0 ] || fail "diff PATH shows other paths"
[ "$("$interlock" chronicle --dir "$store" cat "$id" src/file1.c --to after | tail -1)" = more ] || fail "cat of the after side"
[ "$("$interlock" chronicle --dir "$store" cat "$id" src/file1.c | tail -1)" = "foo bar" ] || fail "cat of the before side"
[ "$("$interlock" chronicle --dir "$store" history blob | wc -l)" = 1 ] || fail "history of one path"
"$interlock" chronicle --dir "$store" list --json | python3 -c 'import json,sys
rows = [json.loads(line) for line in sys.stdin]
assert len(rows) > 20 and rows[-1]["changes"] == 2 and rows[-1]["session"] == "shell", rows[-1]' || fail "list --json"
[ -z "$("$interlock" chronicle --dir "$store" list --session other)" ] || fail "list --session"
[ -z "$("$interlock" chronicle --dir "$store" list --since 2099-01-01T00:00:00Z)" ] || fail "list --since"
"$interlock" chronicle --dir "$store" stats | grep -q '^snapshots  33$' || fail "stats"

# What the user changed since is not overwritten, unless that is said; one path alone comes back.
echo "the user's" >>src/file1.c
if "$interlock" chronicle --dir "$store" rollback "$id" >"$work/out" 2>&1; then fail "a conflict was not seen"; fi
grep -q src/file1.c "$work/out" || fail "the conflict is not named"
grep -q "the user's" src/file1.c || fail "the user's line is lost"
"$interlock" chronicle --dir "$store" rollback "$id" blob >/dev/null || fail "one path alone"
[ ! -e blob ] || fail "the path is still there"
"$interlock" chronicle --dir "$store" rollback "$id" --dry-run --force >/dev/null || fail "dry run"
grep -q "the user's" src/file1.c || fail "a dry run changed something"
"$interlock" chronicle --dir "$store" rollback "$id" --force >/dev/null || fail "force"
describe | diff "$work/before" - || fail "force does not bring back"

# Left out is said, and kept out of the way.
id=$("$snapshot" "$store" "$tree" --exclude out rm -rf out 2>/dev/null)
"$interlock" chronicle --dir "$store" show "$id" | grep -q 'left out   out: excluded' || fail "what was left out is not said"
if "$interlock" chronicle --dir "$store" rollback "$id" >"$work/out" 2>&1; then fail "an impossible rollback succeeded"; fi
grep -q 'was left out' "$work/out" || fail "it does not say why"

"$interlock" chronicle --dir "$store" verify || fail "verify"
