"""Links between workers and the coordinator that can be cut silently: nothing is closed, nothing arrives.

Every worker speaks to a proxy of its own, which forwards to the coordinator and can hold back one way or both. Where
this user may make network namespaces, a worker runs in its own and the link itself can be taken down too.
"""
import asyncio
import os
import socket
import subprocess
import threading

WAYS = ("up", "down", "both")


def free_port():
    """A port below those that the kernel gives to outgoing connections, so that it stays free while a daemon restarts."""
    for offset in range(2000):
        port = 20000 + (os.getpid() * 31 + offset * 7) % 12000
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port on 127.0.0.1")


def run(*command):
    """Whether the command ran well; a machine may lack the program."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


class Namespace:
    """A network namespace with one link to this one."""

    def __init__(self, name, index):
        self.name, self.inside, self.outside = name, f"{name}i", f"{name}o"
        block = f"10.{100 + os.getpid() % 100}.{index}"
        self.here, self.there = f"{block}.1", f"{block}.2"
        self.ready = all((
            run("ip", "netns", "add", name),
            run("ip", "link", "add", self.outside, "type", "veth", "peer", "name", self.inside, "netns", name),
            run("ip", "addr", "add", f"{self.here}/30", "dev", self.outside),
            run("ip", "link", "set", self.outside, "up"),
            run("ip", "-n", name, "addr", "add", f"{self.there}/30", "dev", self.inside),
            run("ip", "-n", name, "link", "set", self.inside, "up"),
            run("ip", "-n", name, "link", "set", "lo", "up")))
        if not self.ready:
            self.close()

    def cut(self):
        run("ip", "link", "set", self.outside, "down")

    def heal(self):
        run("ip", "link", "set", self.outside, "up")

    def prefix(self):
        return ["ip", "netns", "exec", self.name]

    def close(self):
        run("ip", "link", "del", self.outside)
        run("ip", "netns", "del", self.name)


class Proxy:
    """Forwards connections to `port` on loopback. hold("up") keeps back the worker's bytes, "down" the coordinator's."""

    def __init__(self, loop, host, port):
        self.loop, self.target = loop, port
        self.open = {"up": asyncio.Event(), "down": asyncio.Event()}
        self.forwarding = set()
        for event in self.open.values():
            event.set()
        self.server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, host, 0), loop).result(10)
        self.address = "{}:{}".format(*self.server.sockets[0].getsockname()[:2])

    async def _serve(self, reader, writer):
        self.forwarding.add(asyncio.current_task())
        try:
            await self.open["up"].wait()
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        pumps = [asyncio.ensure_future(self._pump(reader, there_writer, "up")),
                 asyncio.ensure_future(self._pump(there_reader, writer, "down"))]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            writer.close()
            there_writer.close()
            self.forwarding.discard(asyncio.current_task())

    async def _pump(self, reader, writer, way):
        try:
            while True:
                await self.open[way].wait()
                data = await reader.read(65536)
                await self.open[way].wait()
                if not data:
                    return
                writer.write(data)
                await writer.drain()
        except OSError:
            return

    def hold(self, way):
        for name in ("up", "down") if way == "both" else (way,):
            self.loop.call_soon_threadsafe(self.open[name].clear)

    def release(self):
        for event in self.open.values():
            self.loop.call_soon_threadsafe(event.set)


class Network:
    def __init__(self, workers, port):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.namespaces = []
        if os.geteuid() == 0:
            for index in range(workers):
                made = Namespace(f"inl{os.getpid() % 100000}n{index}", index)
                if not made.ready:
                    break
                self.namespaces.append(made)
        if len(self.namespaces) < workers:
            self.close()
            self.namespaces = []
        hosts = [n.here for n in self.namespaces] or ["127.0.0.1"] * workers
        self.proxies = [Proxy(self.loop, host, port) for host in hosts]

    def prefix(self, worker):
        return self.namespaces[worker].prefix() if self.namespaces else []

    def address(self, worker):
        return self.proxies[worker].address

    def cut(self, worker, kind):
        """kind: "link", or a way of the proxy."""
        if kind == "link":
            self.namespaces[worker].cut()
        else:
            self.proxies[worker].hold(kind)

    def heal(self, worker):
        self.proxies[worker].release()
        if self.namespaces:
            self.namespaces[worker].heal()

    def kinds(self):
        return WAYS + (("link", "link", "link") if self.namespaces else ())

    def close(self):
        for namespace in self.namespaces:
            namespace.close()
