#!/bin/sh
# A confined agent at work, shown from its own events and record: ./dev run [DIR]
#
# With DIR, the transcript is played there; otherwise in a fresh copy of the small project beside this script.
set -eu
build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
interlock=$build/interlock
transcript=${INTERLOCK_TRANSCRIPT:-$here/transcript.json}
work=
if [ $# -gt 0 ]; then
	project=$(cd "$1" && pwd)
else
	work=$(mktemp -d "${TMPDIR:-/tmp}/interlock-demo-XXXXXX")
	project=$work/ring
	cp -R "$here/project" "$project"
	git -C "$project" init -q
	git -C "$project" -c user.name=demo -c user.email=demo@localhost add -A
	git -C "$project" -c user.name=demo -c user.email=demo@localhost commit -qm "A ring buffer"
	# State of its own, so that a demonstration leaves nothing behind.
	export XDG_STATE_HOME="$work/state" XDG_CONFIG_HOME="$work/config"
fi
finish() {
	"$interlock" stop "$project" >/dev/null 2>&1 || true
	[ -z "$work" ] || rm -rf "$work"
}
trap finish EXIT INT TERM

step() { printf '\n== %s\n' "$*"; }

step "start the manager, the engine and the confined agent for $project"
"$interlock" start -d --trust "$project"
"$interlock" status "$project"

step "what the agent does (each line comes from an event of the engine)"
"$interlock" replay "$transcript" "$project"

cd "$project"
step "what was changed:"
git --no-pager diff --stat || true
"$interlock" chronicle list

step "stop, take the edit back and verify the record"
"$interlock" stop "$project"
last=$("$interlock" chronicle list | awk '/write_file/ { id = $1 } END { print id }')
"$interlock" chronicle rollback "$last"
git --no-pager diff --stat
state=$(find "${XDG_STATE_HOME:-$HOME/.local/state}/interlock" -maxdepth 2 -name audit -type d | head -n 1)
"$interlock" audit verify
echo "the record is in $state"
