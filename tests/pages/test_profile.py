"""The page of `hone profile`: tables, filter, timeline, roofline, memory, small windows, hostile names."""

import os

import numpy
import onnx
import pytest
from conftest import MODELS, hone, open_page, show
from onnx import TensorProto, helper, numpy_helper
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


@pytest.fixture(scope="session")
def peaks(tmp_path_factory):
    return {**os.environ, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture
def make_page(tmp_path, peaks):
    def make(model):
        page = tmp_path / "page.html"
        hone("profile", model, "--threads", "2", "--repeat", "5", "--html", page, env=peaks)
        return page
    return make


@pytest.fixture
def bad(browser, make_page):
    open_page(browser, make_page(MODELS / "bad_habits.onnxtxt"))
    return browser


def range_of(browser):
    begin, end = browser.find_element(By.ID, "timeline").get_attribute("data-range").split()
    return float(end) - float(begin), float(begin)


def tip_of(browser):
    return browser.execute_script("const t = document.querySelector('.tip'); return t && !t.hidden ? t.textContent : ''")


def test_findings_are_there_with_their_commands(bad):
    kinds = {f.get_attribute("data-kind") for f in bad.find_elements(By.CSS_SELECTOR, ".finding")}
    assert {"unfused", "layout", "denormals", "output", "casts"} <= kinds
    assert "hone save" in bad.find_element(By.CSS_SELECTOR, ".finding[data-kind=output] code").text


def test_tables_change_and_filter(bad):
    assert "hone.BatchNormalization" in bad.find_element(By.ID, "table").text
    bad.find_element(By.CSS_SELECTOR, "[data-table=node]").click()
    assert "heat" in bad.find_element(By.ID, "table").text
    bad.find_element(By.ID, "filter").send_keys("loop")
    rows = bad.find_elements(By.CSS_SELECTOR, "#table tbody tr")
    assert len(rows) == 1 and "Loop" in rows[0].text
    assert bad.find_element(By.CSS_SELECTOR, "[data-table=node]").get_attribute("aria-pressed") == "true"


def test_the_timeline_zooms_moves_and_names_nodes(bad):
    whole, _ = range_of(bad)
    bad.find_element(By.CSS_SELECTOR, "[data-zoom=in]").click()
    zoomed, begin = range_of(bad)
    assert zoomed < whole
    canvas = bad.find_element(By.ID, "timeline")
    bad.execute_script("arguments[0].focus()", canvas)
    webdriver.ActionChains(bad).send_keys(Keys.ARROW_RIGHT).perform()
    assert range_of(bad)[1] > begin
    webdriver.ActionChains(bad).scroll_from_origin(
        webdriver.common.actions.wheel_input.ScrollOrigin.from_element(canvas), 0, -200).perform()
    assert range_of(bad)[0] < zoomed
    webdriver.ActionChains(bad).send_keys("0").perform()
    assert range_of(bad)[0] == pytest.approx(whole, rel=1e-3)
    x, y = bad.execute_script(
        """const c = arguments[0], r = c.getBoundingClientRect(), v = data.timeline.reduce((a, b) => a[2] > b[2] ? a : b);
        return [r.left + (v[1] + v[2] / 2) / line.all * r.width, r.top + 10];""", canvas)
    actions = webdriver.ActionChains(bad)
    actions.w3c_actions.pointer_action.move_to_location(int(x), int(y))
    actions.perform()
    assert "mean" in tip_of(bad)


def test_dots_of_the_roofline_and_memory_answer(bad):
    dot = bad.find_element(By.CSS_SELECTOR, "#roofline circle")
    bad.execute_script("arguments[0].focus()", dot)
    assert "GFLOP/s" in tip_of(bad)
    plot = bad.find_element(By.ID, "memory-plot")
    bad.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    webdriver.ActionChains(bad).move_to_element(plot).perform()
    assert "in use" in tip_of(bad)


def test_dark_and_small_windows(bad):
    light = bad.execute_script("return getComputedStyle(document.body).backgroundColor")
    show(bad, 390, 844, dark=True)
    bad.refresh()
    assert bad.execute_script("return getComputedStyle(document.body).backgroundColor") != light
    assert bad.execute_script("return document.scrollingElement.scrollWidth <= innerWidth")
    bad.find_element(By.CSS_SELECTOR, "header button").click()
    assert bad.execute_script("return getComputedStyle(document.body).backgroundColor") == light


def test_names_of_strangers_are_text(browser, make_page, tmp_path):
    name = "</script><img src=x onerror=\"document.title='owned'\">"
    weight = numpy_helper.from_array(numpy.ones((4, 4), numpy.float32), "w")
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name=name)
    values = [helper.make_tensor_value_info(v, TensorProto.FLOAT, [4, 4]) for v in "xy"]
    model = helper.make_model(helper.make_graph([node], "g", values[:1], values[1:], [weight]),
                              opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "hostile.onnx")
    open_page(browser, make_page(tmp_path / "hostile.onnx"))
    browser.find_element(By.CSS_SELECTOR, "[data-table=node]").click()
    assert name in browser.find_element(By.ID, "table").text
    assert "owned" not in browser.title and not browser.find_elements(By.CSS_SELECTOR, "img")
