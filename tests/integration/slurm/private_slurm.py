"""A Slurm of several nodes on this machine, of real daemons: Debian's munged, slurmctld and slurmd with a folder, keys and ports of their own.

No service of the machine is used, and only processes that were started here are ended.

  python3 private_slurm.py NODES     starts one, prints its SLURM_CONF, and ends it at the end of its input
"""
import fcntl
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
PACKAGES = "slurmctld slurmd slurm-client munge"


def why_not():
    """Why no private Slurm can run here; None: one can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None]
    if missing:
        return f"{', '.join(missing)} missing: apt-get install {PACKAGES}, or make setup-test"
    if os.geteuid() != 0:
        return "slurmctld and slurmd need root to start jobs"
    return None


def free_ports(count):
    """Neighbouring ports that nothing uses, and the lock that keeps them from other private Slurms, whose daemons may bind theirs a second after the look."""
    for base in range(21000, 31000, 64):
        lock = open(f"{tempfile.gettempdir()}/inlier-slurm-ports-{base}.lock", "wb")
        sockets = []
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for port in range(base, base + count):
                one = socket.socket()
                sockets.append(one)
                one.bind(("127.0.0.1", port))
            return base, lock
        except OSError:
            lock.close()
        finally:
            for one in sockets:
                one.close()
    raise RuntimeError("no free ports")


CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A job that is queued again waits as long as credentials count, by default two minutes.
AuthInfo=socket={folder}/munge/socket,cred_expire=30
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=0,sched_interval=1,batch_sched_delay=0
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
EnforcePartLimits=ALL
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
MinJobAge=60
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=30
InactiveLimit=0
KillWait=10
Waittime=0
{nodes}
PartitionName=work Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=5
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
PartitionName=tiny Nodes=n1 MaxTime=1 State=UP PriorityTier=1
"""


class PrivateSlurm:
    """With `nodes` nodes n1, n2, … of one CPU each, and the partitions work, urgent (preempts work) and tiny (a minute at most)."""

    def __init__(self, nodes):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="inlier-slurm-"))
        self.conf = self.folder / "slurm.conf"
        self.nodes = nodes
        self._processes = {}
        self.folder.chmod(0o755)
        for name in ("munge", "state", "log", *(f"spool/n{i + 1}" for i in range(nodes))):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "munge").chmod(0o700)
        key = self.folder / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        host = socket.gethostname().split(".")[0]
        port, self._ports_lock = free_ports(nodes + 1)
        lines = [f"NodeName=n{i + 1} NodeHostname={host} NodeAddr=127.0.0.1 Port={port + 1 + i} CPUs=1 RealMemory=2000 State=UNKNOWN" for i in range(nodes)]
        self.conf.write_text(CONF.format(folder=self.folder, host=host, port=port, nodes="\n".join(lines)))
        self.environment = {**os.environ, "SLURM_CONF": str(self.conf), "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
        try:
            self.start("munged")
            self._wait("munged", lambda: (self.folder / "munge/socket").exists())
            for name in ("slurmctld", *self.slurmds()):
                self.start(name)
            self._wait("idle nodes", lambda: self.run("sinfo", "-h", "-N", "-p", "work", "-o", "%t", check=False).split() == ["idle"] * nodes)
        except BaseException:
            self.stop()
            raise

    def slurmds(self):
        return [f"slurmd-n{i + 1}" for i in range(self.nodes)]

    def start(self, name):
        """Starts a daemon, also one that was killed: munged, slurmctld, slurmd-n1, …"""
        folder = self.folder
        if name == "munged":
            command = ["munged", "--force", "--foreground", f"--socket={folder}/munge/socket", f"--key-file={folder}/munge/key", f"--pid-file={folder}/munge/pid",
                       f"--log-file={folder}/log/munged.log", f"--seed-file={folder}/munge/seed"]
        elif name == "slurmctld":
            command = ["slurmctld", "-D", "-f", str(self.conf)]
        else:
            command = ["slurmd", "-D", "-f", str(self.conf), "-N", name.removeprefix("slurmd-")]
        with open(folder / f"log/{name}.out", "ab") as output:
            self._processes[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=self.environment, start_new_session=True)

    def kill(self, name):
        """kill -9 of a daemon."""
        self._processes[name].send_signal(signal.SIGKILL)
        self._processes[name].wait()

    def run(self, program, *arguments, check=True):
        """A program of Slurm; its output."""
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, env=self.environment, timeout=60)
        if check and done.returncode != 0:
            raise AssertionError(f"{program} {' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def jobs(self):
        """(id, name, state) of all jobs that Slurm remembers; none while it is down."""
        lines = self.run("squeue", "-h", "-r", "-t", "all", "-o", "%i|%j|%T", check=False).splitlines()
        return [tuple(line.split("|")) for line in lines]

    def live_jobs(self):
        return [job for job in self.jobs() if job[2] in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING")]

    def stop(self):
        if any(job for job in self._processes.values() if job.poll() is None):
            subprocess.run(["scancel", "-u", str(os.getuid())], env=self.environment, capture_output=True, timeout=60, check=False)
            deadline = time.monotonic() + 15  # The steps are not ours to end.
            while time.monotonic() < deadline and self.live_jobs():
                time.sleep(0.2)
        for process in reversed(self._processes.values()):
            if process.poll() is None:
                process.terminate()
        for process in self._processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._ports_lock.close()

    def _wait(self, what, condition):
        deadline = time.monotonic() + 120
        while not condition():
            ended = [name for name, process in self._processes.items() if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                logs = "\n".join(path.read_text(errors="replace")[-500:] for path in sorted((self.folder / "log").iterdir()))
                raise RuntimeError(f"the private Slurm has no {what}{', and these daemons ended: ' + ', '.join(ended) if ended else ''}:\n{logs}")
            time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


if __name__ == "__main__":
    if reason := why_not():
        sys.exit(f"private_slurm: {reason}")
    with PrivateSlurm(int(sys.argv[1])) as slurm:
        print(f"export SLURM_CONF={slurm.conf}", flush=True)
        sys.stdin.read()
