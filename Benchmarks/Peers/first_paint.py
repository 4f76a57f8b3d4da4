"""A headless Chromium that opens the daemon's page: first_paint.py SOCKET COUNT.

Prints the milliseconds to the first paint with content, the median of so many visits with an empty cache, the bytes that
were sent for one, and the same milliseconds for a page that is one word from a server in Python.
"""
import http.server, json, re, statistics, subprocess, sys, threading, urllib.request

socket, count = sys.argv[1], int(sys.argv[2])


class OneWord(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<!doctype html><title>one</title>word"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


plain = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OneWord)
threading.Thread(target=plain.serve_forever, daemon=True).start()

# socat chooses a port and tells it.
forwarder = subprocess.Popen(
    ["socat", "-d", "-d", "TCP-LISTEN:0,bind=127.0.0.1,fork", "UNIX-CONNECT:" + socket], stderr=subprocess.PIPE, text=True)
for line in forwarder.stderr:
    if found := re.search(r"listening on .*:(\d+)", line):
        port = found[1]
        break
else:
    sys.exit("socat does not listen")
# What it says of each connection is read by nobody else.
threading.Thread(target=lambda: [None for _ in forwarder.stderr], daemon=True).start()
driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
for line in driver.stdout:
    if found := re.search(r"started successfully on port (\d+)", line):
        base = f"http://127.0.0.1:{found[1]}/session"
        break
else:
    sys.exit("chromedriver does not start")
threading.Thread(target=lambda: [None for _ in driver.stdout], daemon=True).start()


def send(method, path, value=None):
    data = None if value is None else json.dumps(value).encode()
    request = urllib.request.Request(base + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)["value"]


WAIT = """
const done = arguments[arguments.length - 1]
new PerformanceObserver((list, observer) => { observer.disconnect(); done(list.getEntries()[0].startTime) })
  .observe({type: 'paint', buffered: true})
"""
SENT = """
return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .reduce((sum, one) => sum + one.transferSize, 0)
"""


def visit(address):
    """Opens an address in a browser of its own, so that nothing is in its cache."""
    arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    options = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}}
    session = "/" + send("POST", "", {"capabilities": {"alwaysMatch": options}})["sessionId"]
    send("POST", session + "/timeouts", {"script": 20000})
    send("POST", session + "/url", {"url": address})
    paint = send("POST", session + "/execute/async", {"script": WAIT, "args": []})
    sent = send("POST", session + "/execute/sync", {"script": SENT, "args": []})
    send("DELETE", session)
    return paint, sent


try:
    ours = [visit(f"http://127.0.0.1:{port}/") for _ in range(count)]
    peer = [visit(f"http://127.0.0.1:{plain.server_port}/") for _ in range(count)]
finally:
    driver.terminate()
    forwarder.terminate()
print(statistics.median(one[0] for one in ours), max(one[1] for one in ours), statistics.median(one[0] for one in peer))
