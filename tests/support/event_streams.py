"""Clients of a server that listen to its stream of events, and ask beside it."""

import http.client
import json
import urllib.parse


class Listener:
    """A client of the stream, which reads one message at a time."""

    def __init__(self, url, path, **headers):
        address = urllib.parse.urlsplit(url)
        self._connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        self._connection.request("GET", path, headers={"Accept": "text/event-stream", **headers})
        self.answer = self._connection.getresponse()

    def next(self):
        """The fields of the next message that is an event."""
        while True:
            fields = {}
            while line := self.answer.readline().decode().rstrip("\n"):
                name, _, value = line.partition(": ")
                fields[name] = value
            if "id" in fields:
                return fields

    def messages(self):
        """All messages, until the server ends the stream."""
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


def request(url, method, path, body=None, **headers):
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    sent = None if body is None else json.dumps(body)
    connection.request(method, path, sent, {"Content-Type": "application/json", **headers})
    try:
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()
