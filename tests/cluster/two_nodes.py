#!/usr/bin/env python3
"""Runs a program under mpirun on two nodes made of this machine.

Each node is a network, host-name and mount namespace: its own address, its own /dev/shm and /tmp, and
between them one cable, so that MPI sees two hosts and every byte they exchange crosses an interface that
can be limited and counted. Needs root, iproute2 and util-linux. Everything lives in one process namespace
below this script and ends with it, however it ends.

  two_nodes.py [--ranks-per-node 2] [--rate 1gbit] [--count] [--share DIR] -- PROGRAM ARGUMENTS

--rate   limits each direction, in the units of tc (1gbit, 100mbit)
--count  prints at the end, as one JSON line, the bytes that crossed the cable in each direction
--share  a folder below /tmp that both nodes see; those the command line names are shared anyway
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys

NODES = ["n0", "n1"]
INSIDE = "SHERD_TWO_NODES_INSIDE"  # set for the copy of this script that runs inside
STATE = "/mnt"  # covered by a file system of the rig's own
ADDRESS = "10.83.0.{}"
TOOLS = ["ip", "tc", "unshare", "nsenter", "setpriv", "mount", "mpirun"]

NODE_SETUP = r"""
set -e
state=$1 name=$2; shift 2
mkdir "$state/$name.tmp"
hostname "$name"
mount --bind "$state/hosts" /etc/hosts
mount -t tmpfs tmpfs /dev/shm
mount --bind /tmp "$state/$name.tmp"
mount -t tmpfs tmpfs /tmp
for folder; do
  mkdir -p "$folder"
  mount --bind "$state/$name.tmp/${folder#/tmp/}" "$folder"
done
ip link set lo up
echo ready
exec sleep infinity
"""

AGENT = r"""#!/bin/sh
# mpirun's way to start its daemon on a node: AGENT NODE COMMAND...
node=$1; shift
exec nsenter --target "$(cat "{state}/$node.pid")" --mount --uts --net -- sh -c "$*"
"""


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ranks-per-node", type=int, default=2)
    parser.add_argument("--rate")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--share", action="append", default=[])
    parser.add_argument("program", nargs="+", metavar="-- PROGRAM")
    return parser.parse_args(arguments)


def missing_tools():
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def shared_folders(options):
    """The first folder below /tmp of everything the command names."""
    folders = set()
    for name in [os.getcwd(), *options.share, *options.program]:
        path = os.path.abspath(name)
        if path.startswith("/tmp/") and os.path.exists(path):
            folders.add("/".join(path.split("/")[:3]))
    return sorted(folder for folder in folders if os.path.isdir(folder))


def on_node(pid, *command):
    return ["nsenter", "--target", str(pid), "--mount", "--uts", "--net", "--", *command]


def start_node(state, name, folders):
    node = subprocess.Popen(
        ["unshare", "--mount", "--uts", "--net", "sh", "-c", NODE_SETUP, "node", state, name, *folders],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if node.stdout.readline().strip() != "ready":
        raise RuntimeError(f"node {name} could not be made")
    with open(f"{state}/{name}.pid", "w") as file:
        file.write(str(node.pid))
    return node.pid


def connect(pids, rate):
    subprocess.run(["ip", "link", "add", "cable0", "netns", str(pids[0]), "type", "veth",
                    "peer", "name", "cable0", "netns", str(pids[1])], check=True)
    for index, pid in enumerate(pids):
        address = ADDRESS.format(index + 1) + "/24"
        subprocess.run(on_node(pid, "ip", "address", "add", address, "dev", "cable0"), check=True)
        if rate:
            # a short queue, as a switch has: in a long one acknowledgements wait behind the data
            subprocess.run(on_node(pid, "tc", "qdisc", "add", "dev", "cable0", "root", "tbf", "rate", rate,
                                   "burst", "256kb", "latency", "5ms"), check=True)
    for pid in pids:
        subprocess.run(on_node(pid, "ip", "link", "set", "cable0", "up"), check=True)


def sent_bytes(pid):
    answer = subprocess.run(on_node(pid, "ip", "-json", "-statistics", "link", "show", "cable0"),
                            check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)[0]["stats64"]["tx"]["bytes"]


def mpirun(state, ranks_per_node, program):
    hosts = ",".join(f"{name}:{ranks_per_node}" for name in NODES)
    settings = {"plm_rsh_agent": f"{state}/agent", "plm": "rsh", "oob_tcp_if_include": "cable0",
                "btl_tcp_if_include": "cable0", "btl": "self,vader,tcp", "pml": "ob1",
                "hwloc_base_binding_policy": "none", "rmaps_base_oversubscribe": "1"}
    command = ["mpirun", "--allow-run-as-root", "--host", hosts, "-n", str(ranks_per_node * len(NODES))]
    for name, value in settings.items():
        command += ["--mca", name, value]
    return command + program


def run_inside(options, state):
    """The first process of the namespace: when it ends, the kernel ends all others."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", state], check=True)
    with open(f"{state}/hosts", "w") as file:
        file.write("127.0.0.1 localhost\n")
        file.writelines(f"{ADDRESS.format(i + 1)} {name}\n" for i, name in enumerate(NODES))
    with open(f"{state}/agent", "w") as file:
        file.write(AGENT.replace("{state}", state))
    os.chmod(f"{state}/agent", 0o755)
    folders = shared_folders(options)
    pids = [start_node(state, name, folders) for name in NODES]
    connect(pids, options.rate)
    before = [sent_bytes(pid) for pid in pids]
    # cd: what a process has open as its folder does not change with the mounts
    command = ["sh", "-c", 'cd "$1"; shift; exec "$@"', "sh", os.getcwd(),
               *mpirun(state, options.ranks_per_node, options.program)]
    code = subprocess.run(on_node(pids[0], *command)).returncode
    if options.count:
        sent = [sent_bytes(pid) - first for pid, first in zip(pids, before)]
        print(json.dumps({"cluster": "two_nodes", "n0_to_n1_bytes": sent[0], "n1_to_n0_bytes": sent[1]}),
              flush=True)
    return code if code >= 0 else 128 - code


def run_outside(arguments):
    problems = missing_tools()
    if os.geteuid() != 0 or problems:
        sys.exit("two_nodes.py needs root and " + ", ".join(problems or TOOLS))
    inside = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child=KILL",
         "--mount-proc", sys.executable, os.path.abspath(__file__), *arguments],
        env={**os.environ, INSIDE: "1"})

    stopped_by = []

    def stop(number, _frame):
        stopped_by.append(number)
        inside.kill()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    code = inside.wait()
    if stopped_by:
        return 128 + stopped_by[0]
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    parsed = parse(sys.argv[1:])
    inside = os.environ.pop(INSIDE, None)
    sys.exit(run_inside(parsed, STATE) if inside else run_outside(sys.argv[1:]))
