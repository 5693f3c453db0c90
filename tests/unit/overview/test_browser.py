"""The page in a real browser: Debian's chromium and chromium-driver, where they are installed."""

import shutil

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no chromium and chromedriver (apt-get install chromium chromium-driver)"
)
UNTOUCHED = "none (untouched)"


@pytest.fixture(scope="module")
def browser(page):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1300,1000",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        driver.get(page.as_uri())
        yield driver
    finally:
        driver.quit()


def names(browser):
    """The rows that are shown of the first map."""
    rows = browser.find_elements("css selector", "table.heat:first-of-type tbody tr")
    own = rows[0].find_element("xpath", "./ancestor::tbody").find_elements("css selector", "tr")
    return [row.find_element("css selector", "th").text.split("\n")[0] for row in own if row.is_displayed()]


def test_sorting_by_a_column(browser):
    button = browser.find_element("css selector", "table.heat button.sort")
    assert button.text == "Strength"
    button.click()
    assert [name.removesuffix(" not viable") for name in names(browser)] == [
        "alpha",
        "zeta",
        "gamma",
        UNTOUCHED,
        "beta",
    ]
    button.click()
    assert names(browser)[0] == "beta"
    assert button.find_element("xpath", "./ancestor::th").get_attribute("aria-sort") == "descending"


def test_viable_only(browser):
    box = browser.find_element("id", "viable")
    before = names(browser)
    box.click()
    assert {name.removesuffix(" not viable") for name in set(before) - set(names(browser))} == {"alpha"}
    box.click()
    assert names(browser) == before


def test_a_cell_speaks_on_focus(browser):
    hint = browser.find_element("id", "hint")
    assert not hint.is_displayed()
    cell = browser.find_element("css selector", "td[aria-label*='beta, Strength']")
    browser.execute_script("arguments[0].focus()", cell)
    assert hint.is_displayed() and "3.000" in hint.text and "150%" in hint.text
    browser.execute_script("arguments[0].blur()", cell)
    assert not hint.is_displayed()


def test_one_plot_at_a_time_the_chosen_one(browser):
    from selenium.webdriver.support.select import Select

    part = browser.find_element("css selector", ".tradeoff")
    shown = [
        plot.get_attribute("data-bias") for plot in part.find_elements("css selector", ".plot") if plot.is_displayed()
    ]
    assert shown == ["Strength"]
    Select(part.find_element("css selector", "select.bias")).select_by_visible_text("Distance")
    shown = [
        plot.get_attribute("data-bias") for plot in part.find_elements("css selector", ".plot") if plot.is_displayed()
    ]
    assert shown == ["Distance"]


@pytest.mark.parametrize("width", [400, 1400])
def test_only_boxes_scroll_sideways(browser, width):
    # the window cannot be made as narrow as a phone: the emulated device can
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_schemes(browser, scheme):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    ink, paper = browser.execute_script(
        "const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]"
    )
    assert contrast(ink, paper) > 7
    link = browser.execute_script("return getComputedStyle(document.querySelector('nav a')).color")
    assert contrast(link, paper) > 4.5


def test_no_request_and_no_error(browser):
    assert (
        browser.execute_script(
            "return performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:'))"
        )
        == []
    )
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_every_control_has_a_name(browser):
    nameless = browser.execute_script(
        "return [...document.querySelectorAll('button, select, input, summary, a')]"
        ".filter(e => !(e.textContent.trim() || e.labels?.length || e.ariaLabel)).map(e => e.outerHTML)"
    )
    assert nameless == []


def contrast(one: str, other: str) -> float:
    """The ratio of relative luminances of two colours "rgb(r, g, b)", from 1 to 21 (WCAG 2.1)."""
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
