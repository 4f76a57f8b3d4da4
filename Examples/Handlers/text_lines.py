#!/usr/bin/python3
"""A job type for Bobbin: the lines of a text file become objects of the entity Line.

Each chunk of lines is saved together with the place to go on from, so that a job that is interrupted goes on there, and
no line comes twice. The protocol is in Documentation/ProcessHandlers.md.
"""

import json
import os
import sys

CHUNK = 1000


def say(**message):
    """Tells the daemon something: one line of JSON, sent at once."""
    print(json.dumps(message), flush=True)


def fail(code, text):
    """Ends the attempt. Codes are those of sysexits.h: another attempt would fail in the same way."""
    say(error={"message": text, "permanent": True})
    sys.exit(code)


def main():
    job = json.load(sys.stdin)
    path = job["arguments"]["input"]
    try:
        # The program starts in the payload folder, where relative paths begin.
        file = open(path, "rb")
    except OSError as error:
        fail(os.EX_NOINPUT, f"the input can't be read: {error}")
    with file:
        status = os.fstat(file.fileno())
        place = {"offset": 0, "line": 0, "size": status.st_size, "time": status.st_mtime_ns}
        if job["cursor"]:
            earlier = json.loads(job["cursor"])
            if (earlier["size"], earlier["time"]) != (place["size"], place["time"]):
                fail(os.EX_DATAERR, "the input is not the file that the job began with")
            place = earlier
            file.seek(place["offset"])
            print(f"going on at line {place['line'] + 1}", file=sys.stderr)
        while objects := read_chunk(file, path, place):
            # In this order: the checkpoint saves what was inserted before it.
            say(
                insert=objects,
                checkpoint=json.dumps(place),
                progress={"done": place["offset"], "total": place["size"], "unit": "bytes"},
            )
    say(result={"lines": place["line"]})


def read_chunk(file, path, place):
    """The objects of the next lines; moves the place behind them."""
    objects = []
    while len(objects) < CHUNK and (line := file.readline()):
        place["offset"] += len(line)
        place["line"] += 1
        try:
            text = line.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            fail(os.EX_DATAERR, f"line {place['line']} of {path} is not UTF-8")
        objects.append({"entity": "Line", "values": {"file": path, "number": place["line"], "text": text}})
    return objects


main()
