"""A browser without a window, for test_page.sh: Debian's Chromium driven over
the WebDriver protocol by chromedriver, which listens on this machine alone."""
import base64
import json
import os
import re
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update",
             "--disable-extensions", "--hide-scrollbars",
             "--force-device-scale-factor=1", "about:blank"]


class Browser:
    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        self.browser = None
        # whatever proxy the environment names is not asked for this machine
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}))
        try:
            self.begin()
        except BaseException:
            self.end()
            raise

    def begin(self):
        port = None
        while port is None:
            line = self.driver.stdout.readline()
            if not line:
                raise RuntimeError("chromedriver ended before it listened")
            port = re.search(r"started successfully on port (\d+)", line)
        self.base = "http://127.0.0.1:" + port.group(1)
        options = {"args": ARGUMENTS + ["--user-data-dir=" + self.profile.name],
                   "perfLoggingPrefs": {"enableNetwork": True}}
        session = self.call("/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.base += "/session/" + session["sessionId"]
        self.browser = session["capabilities"].get("goog:processID")

    def call(self, path, body=None, method="POST"):
        request = urllib.request.Request(
            self.base + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with self.opener.open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise RuntimeError("%s: %s" % (path, value["message"])) from None

    def close(self):
        try:
            self.call("", method="DELETE")
        finally:
            self.end()

    def end(self):
        """Also of a browser that does not answer: it would run on by itself."""
        self.driver.terminate()
        self.driver.wait()
        try:
            if self.browser:
                os.kill(self.browser, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.profile.cleanup()

    def cdp(self, command, **parameters):
        return self.call("/goog/cdp/execute",
                         {"cmd": command, "params": parameters})

    def open(self, url, width, height=900, dark=False):
        """A page at a width of the window, as a screen of it would show it."""
        self.cdp("Emulation.setDeviceMetricsOverride", width=width,
                 height=height, deviceScaleFactor=1, mobile=False)
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme",
             "value": "dark" if dark else "light"}])
        self.call("/url", {"url": url})

    def run(self, script, *args):
        return self.call("/execute/sync", {"script": script,
                                           "args": list(args)})

    def find(self, css):
        return [e[ELEMENT] for e in self.call(
            "/elements", {"using": "css selector", "value": css})]

    def click(self, css):
        """A real click in the middle of the first element; fails where another
        covers it or it is not shown."""
        found = self.find(css)
        if not found:
            raise RuntimeError("nothing to click: " + css)
        self.call("/element/%s/click" % found[0], {})

    def type(self, css, text):
        """Replaces what stands in a field, key by key."""
        field = self.find(css)[0]
        self.call("/element/%s/clear" % field, {})
        if text:
            self.call("/element/%s/value" % field, {"text": text})

    def choose(self, css, value):
        """An option of a select, as a click on it does."""
        self.click("%s option[value=%s]" % (css, json.dumps(value)))

    def said(self):
        """What the console was told since the last call."""
        return ["%(level)s %(message)s" % entry for entry in
                self.call("/se/log", {"type": "browser"})]

    def requested(self):
        """Addresses that the page asked for since the last call, with its own;
        what the browser asks for itself belongs to no page of ours."""
        events = [json.loads(entry["message"])["message"] for entry in
                  self.call("/se/log", {"type": "performance"})]
        return [e["params"]["request"]["url"] for e in events
                if e["method"] == "Network.requestWillBeSent" and
                not e["params"]["documentURL"].startswith("chrome:")]

    def picture(self, path, whole=False):
        shot = self.cdp("Page.captureScreenshot", format="png",
                        captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
