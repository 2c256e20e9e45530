"""Behind nginx and Caddy with the configurations of the guide, and behind proxies of other kinds."""

import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from topiary.app.machine import find_asset

ANALYSTS = "analysts-secret"
NAME = "papers.example"
CASE = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "path_prefix_login" / "proxy.py"
NGINX = """
daemon off;
pid {folder}/nginx.pid;
{user}
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {site}
}}
"""
CADDY = """
{{
    admin off
    skip_install_trust
    local_certs
    default_bind 127.0.0.1
    http_port {other}
    https_port {port}
}}
{site}
"""


def program(name):
    """The path of a program; skips, or fails under TOPIARY_REQUIRE_ALL=1, where there is none."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if found is None:
        sentence = f"no {name}: install it (Debian: apt-get install {name})"
        if os.environ.get("TOPIARY_REQUIRE_ALL") == "1":
            pytest.fail(sentence)
        pytest.skip(sentence)
    return found


def block(kind):
    """The configuration that the guide shows."""
    return re.search(rf"```{kind}\n(.*?)```", find_asset("guide/sharing.md").read_text(encoding="utf-8"), re.DOTALL)[1]


def replaced(text, *pairs):
    """A configuration with other ports and files; each has to be in it."""
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running(port, *command, folder):
    """A program in its own process, from when its port answers until the end of the test."""
    environment = os.environ | dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"), str(folder))
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder)
        try:
            until = time.monotonic() + 60
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=5).close()
                    break
                except OSError:
                    said = (folder / "proxy.log").read_text(errors="replace")
                    assert process.poll() is None, said
                    assert time.monotonic() < until, said
                    time.sleep(0.1)
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)


@pytest.fixture
def password(tmp_path):
    """Options that ask for a password."""
    file = tmp_path / "analysts.txt"
    file.write_text(f"{ANALYSTS}\n", encoding="utf-8")
    file.chmod(0o600)
    return "--password-file", str(file)


@contextmanager
def nginx(folder, backend, *changes):
    """Nginx with the guide's configuration, at another port; gives the port."""
    port, found = free_port(), program("nginx")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    files = ("-keyout", str(key), "-out", str(certificate))
    request = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={NAME}", "-days", "2")
    subprocess.run([program("openssl"), *request, *files], check=True, capture_output=True)
    site = replaced(
        block("nginx"),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        (f"/etc/ssl/certs/{NAME}.pem", str(certificate)),
        (f"/etc/ssl/private/{NAME}.key", str(key)),
        ("127.0.0.1:5006", f"127.0.0.1:{backend}"),
        *changes,
    )
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, user=user, site=site), encoding="utf-8")
    with running(port, found, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf"), folder=folder):
        yield port


@contextmanager
def caddy(folder, backend, *changes):
    """Caddy with the guide's configuration, at another port and with a certificate of its own; gives the port."""
    port, found = free_port(), program("caddy")
    site = replaced(block("caddy"), ("127.0.0.1:5006", f"127.0.0.1:{backend}"), *changes)
    (folder / "Caddyfile").write_text(CADDY.format(port=port, other=free_port(), site=site), encoding="utf-8")
    with running(port, found, "run", "--config", "Caddyfile", "--adapter", "caddyfile", folder=folder):
        yield port


class Client:
    """Asks a proxy as a browser at an address would."""

    def __init__(self, port, address="127.0.0.1"):
        self._port, self._address = port, address

    def ask(self, method, path, body=None, **headers):
        """Status and headers of an answer, with ``Origin`` as a browser sends it."""
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(("127.0.0.1", self._port), 30, (self._address, 0)) as plain:
            line = http.client.HTTPConnection(NAME)
            line.sock = trusting.wrap_socket(plain, server_hostname=NAME)
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            line.request(method, path, body, {"Host": NAME, "Origin": f"https://{NAME}", **named})
            answer = line.getresponse()
            answer.read()
            line.close()
        return answer.status, answer.headers

    def guess(self, password, path="/"):
        """Give a password."""
        return self.ask("POST", f"{path}login", urlencode({"password": password}))


@pytest.fixture
def browser(chromium_program, chromium, guard):
    """Open a page of a browser for which the name leads to the proxy, whatever certificate it has."""
    opened = []

    def open_page(port):
        switches = ("--no-sandbox", "--disable-gpu", "--ignore-certificate-errors")
        names = f"--host-resolver-rules=MAP {NAME}:443 127.0.0.1:{port}"
        found = chromium.browser_type.launch(executable_path=chromium_program, args=[*switches, names])
        opened.append(found)
        guard.local = (f"https://{NAME}/", f"wss://{NAME}/", "data:", "blob:")
        return guard.watch(found.new_page(ignore_https_errors=True))

    yield open_page
    for each in opened:
        each.close()


def walk(page, home):
    """Log in, look at pages that are served in different ways, and log out."""
    missing = []
    page.on("response", lambda answer: missing.append(answer.url) if answer.status == 404 else None)
    page.goto(f"{home}?page=runs")
    page.get_by_label("Password").fill(ANALYSTS)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    assert page.url.startswith(f"{home}?page=runs")
    page.goto(f"{home}explore")
    expect(page.get_by_role("navigation", name="Pages", exact=True)).to_be_visible()
    assert page.url.startswith(f"{home}?page=explore")
    assert page.evaluate("document.fonts.load('16px Inter').then(found => found.length)") > 0
    cookies = page.context.cookies()
    page.get_by_role("button", name="Log out (analyst)").click()
    page.wait_for_url(f"{home}login")
    assert missing == []
    return next(each for each in cookies if each["name"].startswith("topiary_login"))


@pytest.mark.parametrize(
    ("proxy", "way"),
    [
        (nginx, "a name of its own"),
        pytest.param(caddy, "a path that is taken away", marks=pytest.mark.nightly),
        pytest.param(nginx, "a path that is passed on", marks=pytest.mark.nightly),
        pytest.param(nginx, "a path that is taken away", marks=pytest.mark.nightly),
        pytest.param(caddy, "a name of its own", marks=pytest.mark.nightly),
        pytest.param(caddy, "a path that is passed on", marks=pytest.mark.nightly),
    ],
)
def test_the_configurations_of_the_guide_work(start_process, planted, tmp_path, password, browser, proxy, way):
    home, options, changes = f"https://{NAME}/", [], []
    if way != "a name of its own":
        home = f"https://{NAME}/topiary/"
    if way == "a path that is passed on":
        options = ["--prefix", "/topiary"]
        changes = [("location /", "location /topiary/")] if proxy is nginx else [("proxy 127", "proxy /topiary/* 127")]
    server = start_process(planted, 0, *password, "--allow-host", NAME, "--behind-proxy", "127.0.0.1", *options)
    assert server.url.endswith("/topiary/") == bool(options)
    backend = server.url.split("/")[2].rpartition(":")[2]
    if way == "a path that is taken away":
        away = f"handle_path /topiary/* {{\n reverse_proxy 127.0.0.1:{backend}\n}}"
        changes = (
            [("location /", "location /topiary/"), (f"127.0.0.1:{backend};", f"127.0.0.1:{backend}/;")]
            if proxy is nginx
            else [(f"reverse_proxy 127.0.0.1:{backend}", away)]
        )
    with proxy(tmp_path, backend, *changes) as port:
        cookie = walk(browser(port), home)
        assert cookie["secure"]
        assert cookie["path"] == ("/topiary/" if options else "/")
        assert server.complaints == []
        if way == "a name of its own":
            by_address(Client(port, "127.0.0.2"), Client(port, "127.0.0.3"))


def by_address(guesser, other):
    """Check that wrong passwords delay the address they come from, and no other."""
    for number in range(6):
        guesser.guess(f"wrong {number}")
    status, headers = guesser.ask("POST", "/login", urlencode({"password": ANALYSTS}), X_Forwarded_For="192.0.2.9")
    assert status == 429
    assert headers["X-Frame-Options"] == "DENY"
    status, headers = other.guess(ANALYSTS)
    assert status == 303
    assert "; Secure" in headers["Set-Cookie"]


@pytest.mark.nightly
def test_a_proxy_that_replaces_the_host_needs_the_name_only(start_process, planted, tmp_path, password, browser):
    server = start_process(planted, 0, *password, "--allow-host", NAME)
    says = [(f"        proxy_set_header X-Forwarded-{name};\n", "") for name in ("For $remote_addr", "Proto $scheme")]
    with nginx(tmp_path, server.port, *says, ("        proxy_set_header X-Forwarded-Host $http_host;\n", "")) as port:
        assert walk(browser(port), f"https://{NAME}/")["secure"]  # as the browser's own Origin says
        assert Client(port).ask("POST", "/login", "password=x", Origin="https://evil.example")[0] == 403


@pytest.mark.skipif(not CASE.is_file(), reason="needs the shared cases")
def test_a_path_that_a_proxy_takes_away_is_in_every_address(start_process, planted, tmp_path, password, page):
    port = free_port()
    server = start_process(planted, 0, *password, "--allow-host", f"127.0.0.1:{port}")
    command = (sys.executable, str(CASE), str(server.port), str(port), "/topiary")
    with running(port, *command, folder=tmp_path):
        walk(page, f"http://127.0.0.1:{port}/topiary/")
        assert "OUTSIDE" not in (tmp_path / "proxy.log").read_text()
