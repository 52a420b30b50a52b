# SPDX-License-Identifier: GPL-2.0-only
"""The report in headless Chromium: every table and plot is there, nothing leaves the page, at two widths."""

import pytest

from labfixture import results
from portcullis.commands.report import render
from portcullis.host.labdata import published_rows, read_profiles
from portcullis.lab.page import make_page

SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Elements whose right or left edge is outside of the page; folded ones are opened before.
OUTSIDE = """
const width = document.documentElement.clientWidth;
return [...document.body.querySelectorAll("*")].filter(each => {
  const box = each.getBoundingClientRect();
  return box.width && !each.closest("thead") && (box.right > width + 1 || box.left < -1);
}).map(each => each.tagName + " " + (each.id || each.textContent.slice(0, 40)));
"""
# Texts of plots that are cut off by the edge of their picture or lie on each other's place.
CUT = """
return [...document.querySelectorAll("svg text")].filter(each => {
  const box = each.getBoundingClientRect(), picture = each.closest("svg").getBoundingClientRect();
  return box.right > picture.right + 1 || box.left < picture.left - 1 || box.bottom > picture.bottom + 1;
}).map(each => each.textContent);
"""
# Numbers of one axis that run into each other.
CROWDED = """
const found = [];
document.querySelectorAll("svg").forEach(picture => {
  const ticks = [...picture.querySelectorAll(".tick")].map(each => [each.textContent, each.getBoundingClientRect()]);
  ticks.forEach(([text, box], number) => ticks.slice(number + 1).forEach(([other, rest]) => {
    if (box.right > rest.left && rest.right > box.left && box.bottom > rest.top + 1 && rest.bottom > box.top + 1)
      found.push(text + " " + other);
  }));
});
return found;
"""


@pytest.fixture(scope="module")
def page():
    return make_page(results(), read_profiles(), published_rows())


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


def opened(browser, page, tmp_path, size, dark=False):
    path = tmp_path / "report.html"
    path.write_text(render(page))
    width, height = SIZES[size]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get(path.as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")
    return browser


@pytest.mark.parametrize("size", SIZES)
def test_everything_is_there_and_nothing_is_outside(browser, page, tmp_path, size):
    shown = opened(browser, page, tmp_path, size)
    grids = [grid for part in page.parts for grid in part.grids]
    plots = [plot for part in page.parts for plot in part.plots]
    assert {plot.id.split("-")[0] for plot in plots} == {"ingredients", "size", "gates", "published"}
    for grid in grids:
        rows = shown.find_elements("css selector", f"table#{grid.id} tbody tr")
        assert len(rows) == len(grid.rows) and all(row.is_displayed() for row in rows), grid.id
    for plot in plots:
        (picture,) = shown.find_elements("css selector", f"figure#{plot.id} svg")
        assert picture.size["width"] > 250 and picture.size["height"] > 40, plot.id
        assert shown.find_element("css selector", f"figure#{plot.id} figcaption").text.startswith("How to read it:")
    examples = shown.find_elements("css selector", ".example")
    assert len(examples) == len(grids) + len(plots) + 1
    assert shown.execute_script("return document.documentElement.scrollWidth") <= SIZES[size][0]
    assert shown.execute_script(OUTSIDE) == []
    assert shown.execute_script(CUT) == []
    assert shown.execute_script(CROWDED) == []
    assert shown.execute_script("return performance.getEntriesByType('resource').map(each => each.name)") == []
    assert [entry["message"] for entry in shown.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_text_can_be_read_by_night(browser, page, tmp_path):
    shown = opened(browser, page, tmp_path, "phone", dark=True)
    colours = shown.execute_script(
        "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
    )
    back, text = ([int(part) for part in colour.strip("rgb()").split(",")] for colour in colours)
    assert max(back) < 60 and min(text) > 200


def test_small_text_of_plots_is_not_too_small(browser, page, tmp_path):
    shown = opened(browser, page, tmp_path, "phone")
    heights = shown.execute_script(
        "return [...document.querySelectorAll('svg text')].map(each => each.getBoundingClientRect().height)"
    )
    assert heights and min(heights) >= 8
