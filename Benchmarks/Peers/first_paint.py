"""A headless Chromium that opens the daemon's page: first_paint.py SOCKET COUNT VIEW...

Prints the milliseconds to the first paint with content, the median of so many visits with an empty cache, the bytes that
were sent for one, and the same milliseconds for a page that is one word from a server in Python. Then the milliseconds
from the beginning of the visit until the first view shows what it has loaded, those until a view does after it was chosen,
of the slowest of the views, and which one that is. Fails if a view shows a problem, or the list of jobs another number
than there are: an error is shown soon.
"""
import http.server, json, re, statistics, subprocess, sys, threading, urllib.request

socket, count, views = sys.argv[1], int(sys.argv[2]), sys.argv[3:]


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

# The first view is there when the page is not busy any more, and has something to show.
FULL = """
const done = arguments[arguments.length - 1]
const look = () => {
  const main = document.querySelector('main')
  const isThere = main && main.childElementCount > 0 && main.getAttribute('aria-busy') === 'false'
  if (isThere) requestAnimationFrame(() => done(performance.now()))
  return isThere
}
if (!look()) {
  const observer = new MutationObserver(() => { if (look()) observer.disconnect() })
  observer.observe(document.documentElement, {attributes: true, childList: true, subtree: true})
}
"""

# A view is busy from the change of the address until its content is there.
SHOW = """
const [view, done] = arguments
const main = document.querySelector('main')
const start = performance.now()
let wasBusy = false
const observer = new MutationObserver(() => {
  const isBusy = main.getAttribute('aria-busy') === 'true'
  if (wasBusy && !isBusy) {
    observer.disconnect()
    requestAnimationFrame(() => done(performance.now() - start))
  }
  wasBusy = isBusy
})
observer.observe(main, {attributes: true})
location.hash = '#/' + view
"""

PROBLEMS = "return [...document.querySelectorAll('main .problem')].map(one => one.textContent).join(' ')"
NUMBER = "return document.querySelector('main .pages > span').textContent"


def stored():
    """The number of all jobs as the page writes it, unless the daemon can't count them in time."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/jobs?limit=1&counts=true", timeout=60) as reply:
        answer = json.load(reply)
    return None if answer["countsAtLeast"] else f"{sum(answer['counts'].values()):,}"


def fault(session, view, jobs):
    """What the view that is shown has instead of what it is for; None if it is as it should be."""
    if problems := send("POST", session + "/execute/sync", {"script": PROBLEMS, "args": []}):
        return f"the view {view} shows a problem: {problems}"
    if view != "jobs" or not jobs:
        return None
    number = send("POST", session + "/execute/sync", {"script": NUMBER, "args": []})
    # Where the page's own request was not answered in time, it says "at least".
    return None if number.split()[0] in (jobs, "at") else f"the view {view} shows {number}, and there are {jobs}"


def visit(address, views=(), jobs=None):
    """Opens an address in a browser of its own, so that nothing is in its cache, and then views of the page there."""
    arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    options = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}}
    session = "/" + send("POST", "", {"capabilities": {"alwaysMatch": options}})["sessionId"]
    send("POST", session + "/timeouts", {"script": 20000})
    send("POST", session + "/url", {"url": address})
    paint = send("POST", session + "/execute/async", {"script": WAIT, "args": []})
    full = send("POST", session + "/execute/async", {"script": FULL, "args": []}) if views else paint
    sent = send("POST", session + "/execute/sync", {"script": SENT, "args": []})
    shown, faults = [], []
    for view in views:
        shown.append(send("POST", session + "/execute/async", {"script": SHOW, "args": [view]}))
        faults.append(fault(session, view, jobs))
    send("DELETE", session)
    if any(faults):
        sys.exit("; ".join(filter(None, faults)))
    return paint, sent, full, shown


try:
    jobs = stored()
    ours = [visit(f"http://127.0.0.1:{port}/", views, jobs) for _ in range(count)]
    peer = [visit(f"http://127.0.0.1:{plain.server_port}/") for _ in range(count)]
finally:
    driver.terminate()
    forwarder.terminate()
shown = {view: statistics.median(one[3][number] for one in ours) for number, view in enumerate(views)}
slowest = max(shown, key=shown.get)
print(statistics.median(one[0] for one in ours), max(one[1] for one in ours), statistics.median(one[0] for one in peer),
      statistics.median(one[2] for one in ours), shown[slowest], slowest)
