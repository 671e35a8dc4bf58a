"""Runs a test in a network of its own, where the usual ports are free and no other test is met: own_network.py TEST.py [ARGUMENT...]

Root alone gets one: a user namespace would show root's files as another user's, whom the programs do not trust. Where there is none, a test waits
for the one that holds the lock of this file. Without a test: fails where there is none.
"""
import ctypes
import fcntl
import os
import socket
import struct
import sys

CLONE_NEWNET, SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x40000000, 0x8914, 0x8916, 1


def enter():
    """Whether this process is in a new network now, which has a loopback interface alone."""
    if os.geteuid() != 0 or ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
        # To getaddrinfo with AI_ADDRCONFIG, a machine of 127.0.0.1 alone has no IPv4.
        fcntl.ioctl(any_socket, SIOCSIFADDR, struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton("127.0.0.2")))
    return True


if __name__ == "__main__":
    entered = enter()
    if len(sys.argv) == 1:
        sys.exit(0 if entered else "no network namespace: not root, or this system permits none")
    if not entered:
        lock = os.open(__file__, os.O_RDONLY)
        os.set_inheritable(lock, True)  # Until the test ends; subprocess passes it to no daemon.
        fcntl.flock(lock, fcntl.LOCK_EX)
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
