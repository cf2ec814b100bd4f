"""compile_fail.py SOURCE REGEX COMPILER ARGS...: the source compiles, and with SHERD_MISUSE defined it
fails with a message that matches."""

import re
import subprocess
import sys


def compiles(command):
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode == 0, result.stdout + result.stderr


def main():
    source, pattern, *command = sys.argv[1:]
    ok, output = compiles([*command, source])
    if not ok:
        print(f"{source} does not compile even in its right form:\n{output}")
        return 1
    ok, output = compiles([*command, "-DSHERD_MISUSE", source])
    if ok:
        print(f"{source} compiles although it misuses the interface")
        return 1
    print(output)
    if not re.search(pattern, output):
        print(f"the message does not match {pattern!r}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
