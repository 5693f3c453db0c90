"""A server on this machine that stands in for one on the network."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def serving(handler: type[http.server.BaseHTTPRequestHandler], **state: object) -> Iterator[http.server.HTTPServer]:
    """A server with these attributes, that `handler` answers for, as long as the block lasts."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    vars(server).update(state)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
