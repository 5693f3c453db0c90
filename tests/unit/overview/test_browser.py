"""The page in a real browser: Debian's chromium and chromium-driver, where they are installed."""

import shutil

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from biasflow.results.tables import write_table

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no chromium and chromedriver (apt-get install chromium chromium-driver)"
)


def visit(browser, path):
    """Open a page and wait until its script has run: `get` may return before, on a machine under load."""
    browser.get(path.as_uri())
    WebDriverWait(browser, 30).until(
        lambda it: it.execute_script(
            "return location.href === arguments[0] && document.readyState === 'complete'", path.as_uri()
        )
    )


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
        visit(driver, page)
        yield driver
    finally:
        driver.quit()


def test_a_cell_speaks_on_focus(browser):
    ActionChains(browser).move_to_element(browser.find_element("css selector", "h1")).perform()  # which says nothing
    hint = browser.find_element("id", "hint")
    assert not hint.is_displayed()
    cell = browser.find_element("css selector", "td[aria-label*='beta, Strength']")
    browser.execute_script("arguments[0].focus({preventScroll: true})", cell)  # lest another comes under the mouse
    assert hint.is_displayed() and "3.000" in hint.text and "untouched 2.000" in hint.text
    browser.execute_script("arguments[0].blur()", cell)
    assert not hint.is_displayed()


def test_no_request_and_no_error(browser):
    assert (
        browser.execute_script(
            "return performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:'))"
        )
        == []
    )
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_a_map_is_one_tab_stop_and_arrows_move_in_it(browser):
    stops = "return [...document.querySelectorAll('.heat *')].filter(e => e.tabIndex >= 0).length"
    grids = len(browser.find_elements("css selector", "table.heat"))
    assert browser.execute_script(stops) == grids > 0
    start = browser.find_element("css selector", ".heat [tabindex='0']")
    browser.execute_script("arguments[0].focus()", start)
    for key in (Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT):
        ActionChains(browser).send_keys(key).perform()
    focused = browser.switch_to.active_element
    assert focused.get_attribute("data-label") == "zeta"
    assert focused.find_element("xpath", "./../th").text.startswith("Distance")
    assert browser.find_element("id", "hint").is_displayed()
    ActionChains(browser).send_keys(Keys.HOME).send_keys(*3 * [Keys.ARROW_UP]).perform()
    assert browser.switch_to.active_element.text == "Measure"  # a header is a cell, too
    assert browser.execute_script(stops) == grids


def test_no_name_where_none_is_allowed_and_nothing_to_press_in_a_picture(browser):
    """Two serious findings of axe: aria-label on elements without a role, and focus inside of role=img."""
    assert browser.find_elements("css selector", "circle[aria-label], rect[aria-label], span[aria-label]") == []
    assert browser.find_elements("css selector", "[role=img] [tabindex], [role=img] a") == []
    assert (
        browser.find_elements(
            "css selector", "[role=grid] tbody td:not([tabindex]), [role=grid] tbody th[scope=row]:not([tabindex])"
        )
        == []
    )


def test_a_table_is_sorted_and_filtered(browser, page, tmp_path):
    frame = pd.DataFrame({"name": ["b", "a", "c 10", "c 9"], "p_value": [0.5, 1e-9, np.nan, 0.01], "n": [2, 10, 1, 3]})
    folder, picture = tmp_path / "tables", tmp_path / "figures/page_bias.svg"
    folder.mkdir()
    picture.parent.mkdir()
    picture.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>')
    write_table(frame, *(folder / f"some.{kind}" for kind in ("csv", "tex", "html")), caption="Some.")
    visit(browser, folder / "some.html")

    def first():
        return [
            row.find_element("css selector", "th").text
            for row in browser.find_elements("css selector", "tbody tr")
            if row.is_displayed()
        ]

    buttons = browser.find_elements("css selector", "button.sort")
    buttons[0].click()
    assert first() == ["a", "b", "c 9", "c 10"]
    buttons[1].click()
    assert first() == ["a", "c 9", "b", "c 10"]  # "< 0.001" is least, what is empty stays last
    buttons[1].click()
    assert first() == ["b", "c 9", "a", "c 10"]
    browser.find_element("css selector", "input[type=search]").send_keys("C")
    assert first() == ["c 9", "c 10"] and browser.find_element("css selector", "[role=status]").text == "2 of 4 rows"
    links = [link.get_attribute("href").rsplit("/", 1)[1] for link in browser.find_elements("css selector", "main a")]
    assert links == ["some.csv", "some.tex"] and all((folder / name).is_file() for name in links)
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert browser.find_elements("css selector", "nav a")
    picture.unlink()  # of a run of this table alone, which makes no overview
    visit(browser, page)
    visit(browser, folder / "some.html")
    WebDriverWait(browser, 30).until(lambda it: not it.find_elements("css selector", "nav a"))
    browser.get_log("browser")  # the picture that is not there
    visit(browser, page)
