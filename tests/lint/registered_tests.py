"""The tests that ctest knows are those in tests/registered_tests.txt: none has silently gone.
Run as a program it writes that list anew: registered_tests.py ROOT BUILD_FOLDER."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

LIST = "tests/registered_tests.txt"


def registered(build):
    output = subprocess.run(["ctest", "-N"], cwd=build, capture_output=True, text=True,
                            check=True).stdout
    return set(re.findall(r"^\s*Test\s+#\d+: (\S+)", output, re.M))


def succeeds(*command):
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def can_make_nodes():
    """Whether this user may make the namespaces that tests/cluster needs, as its CMakeLists.txt asks."""
    return succeeds("unshare", "--mount", "--uts", "--net", "--pid", "--fork", "true")


def has_slurm():
    """Whether the programs are there that tests/cluster/CMakeLists.txt looks for."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    return all(shutil.which(program, path=path)
               for program in ("munged", "slurmctld", "slurmd", "sbatch", "srun"))


def can_mount():
    """Whether this user may mount in a namespace of their own, as tests/e2e/full_disk.cmake asks."""
    return succeeds("unshare", "--mount", "--map-root-user", "mount", "-t", "tmpfs", "none", "/tmp")


def check(root):
    now = registered(os.environ["SHERD_BUILD_FOLDER"])
    listed = set((root / LIST).read_text(encoding="utf-8").split())
    if not can_mount():
        listed = {name for name in listed if not name.startswith("mount.")}
    if not can_make_nodes():
        listed = {name for name in listed if not name.startswith("cluster.")}
    if not has_slurm():
        listed = {name for name in listed if not name.startswith("cluster.slurm_")}
    advice = f"Try: python3 tests/lint/registered_tests.py . {os.environ['SHERD_BUILD_FOLDER']}"
    problems = [f"{name} is listed in {LIST} but not registered" for name in sorted(listed - now)]
    problems += [f"{name} is registered but not listed in {LIST}" for name in sorted(now - listed)]
    print(f"{len(now)} tests registered, {len(listed)} listed")
    return problems + [advice] if problems else []


if __name__ == "__main__":
    names = sorted(registered(sys.argv[2]))
    (Path(sys.argv[1]) / LIST).write_text("\n".join(names) + "\n", encoding="utf-8")
    print(f"{LIST}: {len(names)} tests")
