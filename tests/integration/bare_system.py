"""A bare Debian in a folder, with namespaces of its own, and daemons that are started there as their systemd units describe."""
import configparser
import contextlib
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading

import harness

PRISTINE = harness.ROOT / ".deps/bare-system"
SKIPPED = 77  # CTest's SKIP_RETURN_CODE.
_ENVIRONMENT = {"HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
_DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}


def enter():
    """Runs this program again where its mounts and processes end with it; leaves it as skipped where that is not possible."""
    if os.environ.get("INLIER_BARE_SYSTEM") == "entered":
        return
    namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if not (PRISTINE / "etc/debian_version").exists():
        reason = f"{PRISTINE} is not there; `tools/setup/setup bare-system` makes it, as root"
    elif os.geteuid() != 0:
        reason = "it needs root"
    elif subprocess.run([*namespaces, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        reason = "this system lets root make no namespaces"
    else:
        os.execvpe("unshare", [*namespaces, sys.executable, "-B", *sys.argv], dict(os.environ, INLIER_BARE_SYSTEM="entered"))
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


class BareSystem:
    def __init__(self, folder):
        self.root = folder / "root"
        subprocess.run(["cp", "-a", PRISTINE, self.root], check=True)
        for file in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{file}", self.root / "etc" / file)
        self._mount("-t", "proc", "proc", self.root / "proc")
        self._mount("-t", "sysfs", "-o", "ro", "sysfs", self.root / "sys")
        self._mount("-t", "tmpfs", "tmpfs", self.root / "run")
        self._mount("-t", "tmpfs", "tmpfs", self.root / "dev")
        for name, (major, minor) in _DEVICES.items():
            os.mknod(self.root / "dev" / name, 0o20666, os.makedev(major, minor))
            os.chmod(self.root / "dev" / name, 0o666)
        (self.root / "dev/shm").mkdir(mode=0o1777)

    @staticmethod
    def _mount(*arguments):
        subprocess.run(["mount", *map(str, arguments)], check=True)

    def run(self, *command, check=True, timeout=300):
        """A command in the system, as root; its CompletedProcess with both outputs as one text."""
        done = subprocess.run(["chroot", str(self.root), *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout,
                              env=_ENVIRONMENT)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}")
        return done

    def apt(self, *arguments, check=True):
        return self.run("apt-get", "-y", "-q", "--no-install-recommends", "-o", "APT::Keep-Downloaded-Packages=true", "-o", "Acquire::Retries=3", *arguments,
                        check=check)

    def keep_downloads(self):
        """What apt has fetched is there for the next test, too."""
        for archive in (self.root / "var/cache/apt/archives").glob("*.deb"):
            target = PRISTINE / "var/cache/apt/archives" / archive.name
            if not target.exists():
                shutil.copy(archive, target)

    def files(self):
        """Every path but those below /proc and its like, and the records of dpkg and apt."""
        found = set()
        for folder, folders, files in os.walk(self.root):
            inside = "/" + str(pathlib.Path(folder).relative_to(self.root)).removeprefix(".")
            if inside in ("/proc", "/sys", "/dev", "/run", "/tmp", "/var/lib/dpkg", "/var/lib/apt", "/var/cache", "/var/log"):
                folders.clear()
                continue
            found.update(os.path.join(inside, name) for name in (*folders, *files))
        return found

    def remove(self):
        for name in ("proc", "sys", "run", "dev"):
            subprocess.run(["umount", "-l", str(self.root / name)], check=False)
        subprocess.run(["rm", "-rf", "--one-file-system", str(self.root)], check=False)


class Service:
    """A daemon that runs by its installed unit: its user, folder, command line, notices and time to stop."""

    def __init__(self, system, name):
        self.system, self.name = system, name
        unit = configparser.ConfigParser(interpolation=None, strict=False)
        unit.optionxform = str
        unit.read(system.root / f"usr/lib/systemd/system/{name}.service")
        self.unit = unit["Service"]
        self.process, self.notices = None, []

    def start(self):
        user, state = self.unit["User"], self.unit["StateDirectory"]
        self.system.run("install", "-d", "-o", user, "-g", user, "-m", self.unit["StateDirectoryMode"], f"/var/lib/{state}")
        inside = f"/run/{self.name}.notify"
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        place = self.system.root / inside[1:]
        place.unlink(missing_ok=True)
        notify.bind(str(place))
        os.chmod(place, 0o666)
        self.notices = []
        threading.Thread(target=self._read, args=(notify,), daemon=True).start()
        self.log = open(self.system.root / f"var/log/{self.name}.log", "ab")
        self.process = subprocess.Popen(
            ["chroot", str(self.system.root), "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--",
             *shlex.split(self.unit["ExecStart"])],
            cwd="/", stdout=self.log, stderr=self.log, start_new_session=True,
            env=dict(_ENVIRONMENT, HOME="/nonexistent", NOTIFY_SOCKET=inside, WATCHDOG_USEC=str(3_000_000)))
        harness.wait_for(f"{self.name} to be ready", self._ready, 120)

    def _ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} ended with {self.process.returncode}\n{self.text()}")
        return "READY=1" in self.notices

    def _read(self, notify):
        while True:
            self.notices.append(notify.recv(4096).decode())

    def active(self):
        return self.process is not None and self.process.poll() is None

    def stop(self):
        """SIGTERM to the daemon alone (KillMode=mixed), which has the unit's time to end; its exit status."""
        if self.process is None:
            return 0
        if self.active():
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(int(self.unit["TimeoutStopSec"]))
            self.log.close()
        return self.process.returncode

    def text(self):
        return (self.system.root / f"var/log/{self.name}.log").read_text(errors="replace")[-4000:]


class Systemctl:
    """What the packages' scripts call as systemctl: commands for the services given, answered by this process."""

    def __init__(self, system, services):
        self.system, self.services, self.calls = system, {f"{service.name}.service": service for service in services}, []
        (system.root / "run/systemd/system").mkdir(parents=True)
        for pipe in ("request", "answer"):
            os.mkfifo(system.root / f"run/systemctl.{pipe}")
        program = system.root / "usr/bin/systemctl"
        program.write_text("#!/bin/sh\necho \"$*\" >/run/systemctl.request\nread -r status </run/systemctl.answer\nexit \"$status\"\n")
        program.chmod(0o755)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            request = (self.system.root / "run/systemctl.request").read_text().split()
            status = 0
            try:
                status = self._call([word for word in request if not word.startswith("-")])
            except Exception as error:  # The script and the test see the failure.
                self.calls.append(f"{' '.join(request)}: {error}")
                status = 1
            (self.system.root / "run/systemctl.answer").write_text(f"{status}\n")

    def _call(self, words):
        if words[0] == "daemon-reload":
            return 0
        if words[1] not in self.services:
            return 5  # As systemctl for a unit that is not loaded.
        service = self.services[words[1]]
        if words[0] == "is-active":
            return 0 if service.active() else 3
        version = self.system.run("dpkg-query", "-W", "-f", "${Version}", service.name).stdout
        self.calls.append(f"{words[0]} {service.name} {version}")
        if words[0] == "stop":
            return service.stop()
        if words[0] == "restart":
            service.stop()
            Service.__init__(service, self.system, service.name)  # Its unit may be another one now.
            service.start()
            return 0
        raise AssertionError(f"no answer for systemctl {' '.join(words)}")


def higher_version(package, version, folder):
    """The same package with a higher version: its files as they are, other control data."""
    name = package.name.split("_")
    target = folder / f"{name[0]}_{version}_{name[2]}"
    control = folder / f"{name[0]}.control"
    subprocess.run(["dpkg-deb", "-e", package, control], check=True)
    text = (control / "control").read_text().replace(f"Version: {name[1]}\n", f"Version: {version}\n").replace(f"(= {name[1]})", f"(= {version})")
    (control / "control").write_text(text)
    members = subprocess.run(["ar", "t", package], check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(["ar", "x", package], cwd=folder, check=True)
    subprocess.run(["tar", "--owner=0", "--group=0", "-czf", folder / "control.tar.gz", "-C", control, "."], check=True)
    order = ["control.tar.gz" if member.startswith("control.tar") else member for member in members]
    subprocess.run(["ar", "rc", target, *order], cwd=folder, check=True)
    for member in {*members, *order}:
        (folder / member).unlink(missing_ok=True)
    shutil.rmtree(control)
    return target


@contextlib.contextmanager
def bare_system():
    with harness.temporary_folder() as folder:
        system = BareSystem(folder)
        try:
            yield system, folder
        finally:
            system.remove()
