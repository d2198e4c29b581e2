"""Single requests to a server, without a client that would hide anything."""

import contextlib
import http.client
import json
import urllib.parse

PATIENCE = 120.0


def connection_to(url):
    """Return a connection to the server at an address."""
    address = urllib.parse.urlsplit(url)
    return http.client.HTTPConnection(address.hostname, address.port, timeout=PATIENCE)


def call(url, method, path, content=None, **headers):
    """Send a request, and return the status, the headers and the text of the answer."""
    with contextlib.closing(connection_to(url)) as connection:
        connection.request(method, path, content, headers)
        with connection.getresponse() as answer:
            return answer.status, answer.headers, answer.read().decode()


def request(url, method, path, body=None, **headers):
    """Send a request with a JSON body, and return the status and the JSON of the answer."""
    content = None if body is None else json.dumps(body)
    status, _, said = call(url, method, path, content, **{"Content-Type": "application/json", **headers})
    return status, json.loads(said)
