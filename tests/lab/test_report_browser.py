# SPDX-License-Identifier: GPL-2.0-only
"""The report in headless Chromium: figures first, everything there and inside, dark and printed, at two widths."""

import base64
from dataclasses import replace

import pytest

from labfixture import results
from portcullis.commands.report import markdown, render
from portcullis.host.labdata import COUNTS, published_rows, read_profiles
from portcullis.lab.committed import parse_committed
from portcullis.lab.page import make_page

pytestmark = pytest.mark.long  # it needs a browser

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
# What is shown between the title and the first table, and the cells of that table.
FIRST = """
const table = document.querySelector("table"), title = document.querySelector("h1"), between = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node; (node = walker.nextNode()) && !table.contains(node);) {
  const after = title.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING;
  const inside = title.contains(node);
  if (node.data.trim() && !inside && !(after && node.parentElement.closest("h2, h3"))) between.push(node.data.trim());
}
const cells = [...table.rows].map(row => [...row.cells].map(cell => cell.textContent));
return [between, cells, table.getBoundingClientRect().top];
"""
# Texts that are shown, each with its colour, what is behind it, and the contrast of the two (WCAG 2).
COLOURS = """
const paint = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const known = {};
const parts = colour => {
  if (!known[colour]) {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = colour;
    paint.fillRect(0, 0, 1, 1);
    known[colour] = [...paint.getImageData(0, 0, 1, 1).data];
  }
  return known[colour];
};
const light = ([red, green, blue]) => {
  const linear = [red, green, blue].map(each => each / 255).map(
    each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
};
const behind = each => {
  for (; each; each = each.parentElement) {
    const back = parts(getComputedStyle(each).backgroundColor);
    if (back[3] === 255) return back.slice(0, 3);
    if (back[3]) throw new Error("half transparent: " + each.tagName);
  }
  return [255, 255, 255];
};
return [...document.body.querySelectorAll("*")].filter(each => each.checkVisibility() && !each.closest("svg title")
    && [...each.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim())).map(each => {
  const style = getComputedStyle(each), colour = each.closest("svg") ? style.fill : style.color;
  const text = parts(colour).slice(0, 3), back = behind(each), pair = [light(text), light(back)];
  const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  return [each.tagName + " " + each.textContent.trim().slice(0, 40), text, back, contrast];
});
"""
CONTRAST = 4.5
CONTROLS = "nav, summary, button, input, select, textarea, [onclick]"
VISIBLE = (
    "return [...document.querySelectorAll(arguments[0])].filter(each => each.checkVisibility()).map(e => e.tagName)"
)
LINKS = """
return [...document.querySelectorAll("main a[href^=http]")].map(
  each => [each.getAttribute("href"), getComputedStyle(each, "::after").content]);
"""
TWICE = """
const ids = [...document.querySelectorAll("[id]")].map(each => each.id);
return ids.filter((id, number) => ids.indexOf(id) !== number);
"""
SCRIPTS = """
return [...document.querySelectorAll("*")].filter(each => each.tagName === "SCRIPT"
  || [...each.attributes].some(attribute => attribute.name.startsWith("on"))).map(each => each.outerHTML);
"""


def _made_up():
    x86 = results("x86")
    return [*results(), *x86, *(replace(each, variant="wp", job=f"{each.job}-wp") for each in x86)]


@pytest.fixture(scope="module", params=["made up", "committed"])
def page(request):
    counts = _made_up() if request.param == "made up" else parse_committed(COUNTS.read_text())
    return make_page(counts, read_profiles(), published_rows())


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


def opened(browser, page, tmp_path, size, dark=False, media="screen"):
    path = tmp_path / "report.html"
    path.write_text(render(page))
    width, height = SIZES[size]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})
    browser.get(path.as_uri())
    if media == "screen":
        browser.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")
    return browser


@pytest.mark.parametrize("size", SIZES)
def test_the_figures_come_first(browser, page, tmp_path, size):
    between, cells, top = opened(browser, page, tmp_path, size).execute_script(FIRST)
    assert between == [] and top < SIZES[size][1] / 2
    lines = markdown(page)
    start = next(number for number, line in enumerate(lines) if line.startswith("| "))
    quoted = [line.strip("| ").split(" | ") for line in lines[start : start + len(cells) + 1]]
    assert cells == [quoted[0], *quoted[2:]] and len(cells) == 7


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
    assert shown.execute_script(TWICE) == []
    assert shown.execute_script("return performance.getEntriesByType('resource').map(each => each.name)") == []
    assert [entry["message"] for entry in shown.get_log("browser") if entry["level"] == "SEVERE"] == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(browser, page, tmp_path, dark):
    texts = opened(browser, page, tmp_path, "phone", dark).execute_script(COLOURS)
    assert len(texts) > 1000
    assert [text for text in texts if text[3] < CONTRAST] == []
    assert all(max(back) < 60 if dark else min(back) > 240 for _, _, back, _ in texts)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_paper_has_black_text_and_no_controls(browser, page, tmp_path, dark):
    shown = opened(browser, page, tmp_path, "desktop", dark, media="print")
    texts = shown.execute_script(COLOURS)
    assert [text for text in texts if text[1:3] != [[0, 0, 0], [255, 255, 255]]] == []
    assert shown.execute_script(VISIBLE, CONTROLS) == []
    # Folded tables are printed, rows and plots stay whole, and a link says where it leads.
    assert len(shown.execute_script(VISIBLE, "tr")) == len(shown.find_elements("css selector", "tr"))
    insides = "return [...document.querySelectorAll('tr, figure')].map(each => getComputedStyle(each).breakInside)"
    assert set(shown.execute_script(insides)) == {"avoid"}
    found = shown.execute_script(LINKS)
    assert found and all(link in said for link, said in found)
    printed = shown.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    assert base64.b64decode(printed).startswith(b"%PDF-")


def test_the_page_has_no_scripts(browser, page, tmp_path):
    assert opened(browser, page, tmp_path, "desktop").execute_script(SCRIPTS) == []


def test_small_text_of_plots_is_not_too_small(browser, page, tmp_path):
    shown = opened(browser, page, tmp_path, "phone")
    heights = shown.execute_script(
        "return [...document.querySelectorAll('svg text')].map(each => each.getBoundingClientRect().height)"
    )
    assert heights and min(heights) >= 8
