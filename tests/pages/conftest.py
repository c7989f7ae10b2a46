"""A browser without a window, and pages that the command has written, for the tests in this folder."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HONE = os.environ.get("HONE_BIN", str(Path(__file__).parents[2] / "build/dev/hone"))
MODELS = Path(__file__).parents[1] / "cli/models"
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions")


def hone(*arguments, **options):
    return subprocess.run([HONE, *map(str, arguments)], capture_output=True, text=True, check=True, **options).stdout


def pytest_configure():
    """Without a browser all tests are skipped, with one line: 77 says so to ctest."""
    missing = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    missing += [] if importlib.util.find_spec("selenium") else ["selenium"]
    if missing:
        pytest.exit(f"skipped: tests of pages need {' and '.join(missing)}; see tools/setup", returncode=77)


@pytest.fixture(scope="session")
def driver():
    from selenium import webdriver
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = shutil.which("chromium")
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    browser.set_script_timeout(60)
    # What a page keeps for the next time, such as its colours, is nothing that tests should share.
    browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": "try { localStorage.clear() } catch (e) {}"})
    yield browser
    browser.quit()


@pytest.fixture
def browser(driver):
    """The browser with a wide light window; what a page has complained about fails the test."""
    driver.get_log("browser")
    show(driver, 1280, 800)
    yield driver
    problems = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert not problems, problems


def show(driver, width, height, dark=False):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def open_page(driver, path):
    """Opens a page that sets data-ready on its root element when it is whole."""
    from selenium.webdriver.support.ui import WebDriverWait
    driver.get("about:blank")
    driver.get(Path(path).resolve().as_uri())
    WebDriverWait(driver, 60).until(lambda d: d.execute_script("return document.documentElement.dataset.ready"))
