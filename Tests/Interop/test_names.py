# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Upstreams that have names: at the start, and when a reload makes a new pool for them."""
import gateway as binary
import upstreams
from conftest import route


def test_names_that_are_being_looked_up_are_waited_for(site, backend):
    """Behind hundreds of other names the look-up takes a moment; requests are there before."""
    others = {"endpoints": ["http://localhost:%d" % port for port in range(20000, 20400)]}
    gateway = binary.Gateway(site, [route("all", "/", access="open"), route("others", "/others/", "others", access="open")],
                             {"others": others, "api": {"endpoints": ["http://localhost:%d" % backend.port], "timeouts": {"connect": "20s"}}}, workers=1)
    try:
        gateway.start(wait=False)
        upstreams.wait_for_port(gateway.clear_port, gateway.process)
        assert gateway.get("/x").status == 200
        gateway.wait_until_ready()
        for times in ("21s", "22s"):
            gateway.configuration["upstreams"]["api"]["timeouts"]["connect"] = times
            gateway.configuration["upstreams"]["others"]["timeouts"] = {"connect": times}
            gateway.write()
            with gateway.wire() as client:
                gateway.reload()
                for _ in range(300):
                    assert client.exchange(target="/x").status == 200
        assert gateway.metrics().get('sallyport_upstream_failures_total{upstream="api"}', 0) == 0
    finally:
        gateway.remove()
