# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Makes a process hang while it runs: its main thread jumps to where it is, for ever."""
import ctypes
import os
import platform

ATTACH, DETACH, PEEK, POKE, REGISTERS = 16, 17, 1, 4, 12
ALL_CHILDREN = 0x40000000
INSTRUCTION = 16  # of user_regs_struct
JUMP_TO_ITSELF = 0xFEEB

POSSIBLE = platform.machine() == "x86_64" and os.geteuid() == 0


def loop_for_ever(pid):
    """By ptrace, as a debugger would; a call that it waits in ends first."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

    def ptrace(request, address=None, data=None):
        ctypes.set_errno(0)
        value = libc.ptrace(request, pid, address, data)
        if ctypes.get_errno():
            raise OSError(ctypes.get_errno(), "ptrace %d" % request)
        return value

    ptrace(ATTACH)
    os.waitpid(pid, ALL_CHILDREN)
    registers = (ctypes.c_ulonglong * 27)()
    ptrace(REGISTERS, None, ctypes.addressof(registers))
    word = ptrace(PEEK, registers[INSTRUCTION]) & 0xFFFFFFFFFFFFFFFF
    ptrace(POKE, registers[INSTRUCTION], word & ~0xFFFF | JUMP_TO_ITSELF)
    ptrace(DETACH)
