"""Clients that listen to a server's stream of events, and that send single requests beside it."""

import http.client
import json
import urllib.parse

PATIENCE = 120.0


def connection_to(url):
    """Return a connection to the server at an address."""
    address = urllib.parse.urlsplit(url)
    return http.client.HTTPConnection(address.hostname, address.port, timeout=PATIENCE)


class Listener:
    """A client of a stream that reads one message at a time."""

    def __init__(self, url, path, **headers):
        self._connection = connection_to(url)
        self._connection.request("GET", path, headers={"Accept": "text/event-stream", **headers})
        self.answer = self._connection.getresponse()

    def next(self):
        """Return the fields of the next message that is an event."""
        while True:
            fields = {}
            while line := self.answer.readline().decode().rstrip("\n"):
                name, _, value = line.partition(": ")
                fields[name] = value
            if "id" in fields:
                return fields

    def messages(self):
        """Yield all messages until the server ends the stream."""
        fields = {}
        while line := self.answer.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif fields:
                yield fields
                fields = {}

    def close(self):
        self.answer.close()
        self._connection.close()


def call(url, method, path, content=None, **headers):
    """Send a request, and return the status, the headers and the text of the answer."""
    connection = connection_to(url)
    connection.request(method, path, content, headers)
    try:
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def request(url, method, path, body=None, **headers):
    """Send a request with a JSON body, and return the status and the JSON of the answer."""
    content = None if body is None else json.dumps(body)
    status, _, said = call(url, method, path, content, **{"Content-Type": "application/json", **headers})
    return status, json.loads(said)
