#!/bin/sh
# The systemd unit as systemd reads it (any word of systemd-analyze is a fault: it exits 0 on unknown keys) and the
# launchd plist as a property list.
set -eu
unit=$1
plist=$2
python3 - "$plist" <<'END'
import plistlib, sys
with open(sys.argv[1], "rb") as f:
    p = plistlib.load(f)
assert p["ProgramArguments"][1:] == ["start"], p
assert p["Label"] == "org.interlock.engine", p
END
if ! command -v systemd-analyze >/dev/null 2>&1; then
	echo "systemd-analyze is not here; only the plist was checked"
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The program need not be installed for its unit to be checked.
sed 's|^ExecStart=[^ ]*|ExecStart=/bin/true|; /^Documentation=/d' "$unit" >"$work/interlock@tmp.service"
mkdir -m 0700 "$work/run"
said=$(XDG_RUNTIME_DIR="$work/run" SYSTEMD_LOG_LEVEL=warning systemd-analyze --user verify "$work/interlock@tmp.service" 2>&1 || true)
if [ -n "$said" ]; then
	echo "$said"
	exit 1
fi
