#!/usr/bin/env python3
"""An agent of others: joins with a token made for it, proposes, and reads what became of it.

    token=$(interlock token create --role agent)        # one use, expiring
    INTERLOCK_AGENT_TOKEN=$token ./agent.py /path/to/agent.sock FILE [FILE ...]

It counts the words of files that it may not open itself: the engine reads them, if the policy lets it.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from interlock_client import Client, Refused  # noqa: E402


def count_words(engine, path):
    result = engine.propose("read_file", {"path": path}, wait=False)
    if result["status"] != "executed":
        return "%s: %s" % (path, result["status"])
    return "%s: %d words" % (path, len(result["content"].split()))


def main(argv):
    if len(argv) < 3:
        print(__doc__.strip(), file=sys.stderr)
        return 64
    token = os.environ.pop("INTERLOCK_AGENT_TOKEN", "")
    try:
        with Client.connect(argv[1], "agent", token, "word-counter") as engine:
            for path in argv[2:]:
                print(count_words(engine, path))
    except Refused as e:
        print("refused: %s" % e, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
