# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A WebSocket server in a thread; what a client asks for stands in the path."""
import asyncio
import threading

import websockets.asyncio.server
import websockets.exceptions


class Server:
    """Keeps the handshakes it saw, and how each connection ended."""

    def __init__(self, subprotocols=None):
        self.subprotocols = subprotocols
        self.handshakes, self.endings = [], []
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()

        async def main():
            self.server = await websockets.asyncio.server.serve(
                self.serve, "127.0.0.1", 0, max_size=None, subprotocols=subprotocols, ping_interval=None, compression=None,
                select_subprotocol=self.select)
            self.port = self.server.sockets[0].getsockname()[1]
            ready.set()

        def run():
            self.loop.run_until_complete(main())
            self.loop.run_forever()
            # Whoever still waits for a client is told, so that nothing of it is left to the collector.
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            if left:
                self.loop.run_until_complete(asyncio.wait(left))
            self.loop.close()

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        assert ready.wait(10), "the WebSocket server did not start"

    def select(self, connection, offered):
        return next((name for name in self.subprotocols or () if name in offered), None)

    async def serve(self, socket):
        self.handshakes.append(socket.request)
        path = socket.request.path.rsplit("/", 1)[-1]
        try:
            if path.startswith("close-"):
                await socket.close(int(path[6:]), "as asked")
            elif path == "ping":
                waiter = await socket.ping(b"are you there")
                await waiter
                await socket.send("pong came")
            async for message in socket:
                await socket.send(message)
        except websockets.exceptions.ConnectionClosed:
            pass
        finally:
            self.endings.append((socket.close_code, socket.close_reason))

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
