"""A Slurm cluster of two nodes made of this machine, for tests that submit real jobs.

Each node is a network, host-name and mount namespace with an address, /dev/shm and /tmp of its own, plugged
into a bridge that stands for the switch; munged and slurmctld run beside it. Everything lives in one process
namespace below the test and ends with it, however it ends. Needs root, iproute2, util-linux and Slurm.

    if __name__ == "__main__":
        slurm_cluster.enter()  # from here on inside the namespaces
        unittest.main()
"""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

INSIDE = "SHERD_SLURM_INSIDE"  # set for the copy of the test that runs inside
STATE = Path("/mnt")  # covered by a file system of the cluster's own, the same on every node
CONF = str(STATE / "slurm.conf")
ADDRESS = "10.84.0.{}"
CONTROLLER = ADDRESS.format(254)
NODES = 2
SLOTS = 8  # cores Slurm believes in: jobs of several tests at a time

# cred_expire is also how long a requeued job waits; 5 is the least that Slurm takes.
SLURM_CONF = f"""
ClusterName=test
SlurmctldHost=controller({CONTROLLER})
AuthType=auth/munge
AuthInfo=socket={STATE}/munge/socket,cred_expire=5
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={STATE}/controller
SlurmdSpoolDir={STATE}/spool-%n
SlurmctldPidFile={STATE}/slurmctld.pid
SlurmdPidFile={STATE}/slurmd-%n.pid
SlurmctldLogFile={STATE}/slurmctld.log
SlurmdLogFile={STATE}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
KillWait=5
SlurmdTimeout=10
MessageTimeout=5
TCPTimeout=2
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=2
"""

# Folders the nodes share are kept in sight while /tmp is covered. $1: name, then those folders.
NODE_SETUP = """
set -e
hostname "$1"; shift
mount -t tmpfs tmpfs /dev/shm
mount --bind /tmp {state}/outside
mount -t tmpfs tmpfs /tmp
for folder; do
  mkdir -p "$folder"
  mount --bind "{state}/outside/${{folder#/tmp/}}" "$folder"
done
ip link set lo up
echo ready
exec sleep infinity
"""


def enter():
    """Runs this script again inside namespaces of its own and ends with its exit code; returns inside."""
    if os.environ.pop(INSIDE, None):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(STATE)], check=True)
        return
    # A shell as the first process: it waits for those that daemons leave behind.
    inside = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--uts", "--net", "--pid", "--fork",
         "--kill-child=KILL", "--mount-proc", "sh", "-c", '"$@" & wait $!', "init", sys.executable, "-B",
         *sys.argv], env={**os.environ, INSIDE: "1"})
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: inside.kill())
    code = inside.wait()
    sys.exit(code if code >= 0 else 128 - code)


def wait_until(condition, what, seconds=60, period=0.02):
    """The first true answer of condition(); an error that names `what` did not happen."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{seconds} s passed before {what}")
        time.sleep(period)


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


class Node:
    def __init__(self, index, shared_folders):
        self.name, self.port = f"n{index}", f"port{index}"
        self.address = ADDRESS.format(index + 1)
        (STATE / f"spool-{self.name}").mkdir()
        self._first = subprocess.Popen(
            ["unshare", "--mount", "--uts", "--net", "sh", "-c", NODE_SETUP.format(state=STATE), "node",
             self.name, *shared_folders], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def plug_in(self):
        if self._first.stdout.readline().strip() != "ready":
            raise RuntimeError(f"node {self.name} could not be made")
        self._network = os.readlink(f"/proc/{self._first.pid}/ns/net")
        ip("link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", str(self._first.pid))
        ip("link", "set", self.port, "master", "switch", "up")
        self.run("ip", "address", "add", self.address + "/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")

    def run(self, *command):
        subprocess.run(["nsenter", "--target", str(self._first.pid), "--mount", "--uts", "--net", "--",
                        *command], check=True)

    def start_slurmd(self):
        self.run("slurmd", "-N", self.name)

    def processes(self, named=None):
        """Process numbers on this node, of all its processes or of those of that name."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                here = os.readlink(process / "ns/net") == self._network
                if here and named in (None, (process / "comm").read_text().strip()):
                    found.append(int(process.name))
            except OSError:  # it has just ended
                continue
        return found

    def cut_off(self):
        """As if its cable had been pulled out of the switch."""
        ip("link", "set", self.port, "down")

    def limit_rate(self, rate):
        """Of what the node sends, in the units of tc; None: no limit any more."""
        if rate is None:
            self.run("tc", "qdisc", "delete", "dev", "eth0", "root")
        else:
            self.run("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "64kb",
                     "latency", "5ms")

    def die(self):
        """As a node without power: the others hear nothing any more, not even that connections end."""
        self.cut_off()
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)


class Cluster:
    """Up when constructed. Shared: files or folders that both nodes must see, besides STATE."""

    def __init__(self, shared=()):
        os.environ["SLURM_CONF"] = CONF
        for folder in ("munge", "controller", "outside"):
            (STATE / folder).mkdir()
        below_tmp = {"/".join(str(path).split("/")[:3]) for path in shared if str(path).startswith("/tmp/")}
        self.nodes = [Node(i, sorted(below_tmp)) for i in range(NODES)]
        self._write_files()
        subprocess.run(["hostname", "controller"], check=True)
        self._start_munged()
        self._plug_in()
        subprocess.run(["slurmctld"], check=True)
        for node in self.nodes:
            node.start_slurmd()
        self.wait_until_idle()

    def _write_files(self):
        Path(CONF).write_text(SLURM_CONF + "".join(
            f"NodeName={node.name} NodeAddr={node.address} CPUs={SLOTS} RealMemory=4000\n"
            for node in self.nodes))
        (STATE / "hosts").write_text(f"127.0.0.1 localhost\n{CONTROLLER} controller\n" + "".join(
            f"{node.address} {node.name}\n" for node in self.nodes))
        key = STATE / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)

    def _start_munged(self):
        subprocess.run(["mount", "--bind", f"{STATE}/hosts", "/etc/hosts"], check=True)
        folder = STATE / "munge"
        subprocess.run(["munged", "--force", *(f"--{option}={folder}/{name}" for option, name in (
            ("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"),
            ("seed-file", "seed")))], check=True, stderr=subprocess.DEVNULL)

    def _plug_in(self):
        ip("link", "set", "lo", "up")
        ip("link", "add", "switch", "type", "bridge")
        ip("address", "add", CONTROLLER + "/24", "dev", "switch")
        ip("link", "set", "switch", "up")
        for node in self.nodes:
            node.plug_in()
            node.run("mount", "--bind", f"{STATE}/hosts", "/etc/hosts")

    def wait_until_idle(self):
        wait_until(lambda: output_of("sinfo", "-h", "-p", "batch", "-t", "idle", "-o", "%D").strip() ==
                   str(NODES), "both nodes were up and idle")

    def logs(self):
        """What the daemons wrote, for the message of a test that failed."""
        return "".join(f"-- {path}\n{path.read_text(errors='replace')}" for path in STATE.glob("*.log"))
