"""The page of `hone view`: clicks, keys, search, zoom, comparison, small windows, hostile names."""

import json
import xml.dom.minidom

import onnx
import pytest
from conftest import MODELS, hone, open_page, show
from onnx import TensorProto, helper
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait


def make_page(tmp_path, *arguments):
    page = tmp_path / "page.html"
    hone("view", *arguments, "-o", page)
    return page


def panel(browser):
    return browser.find_element(By.ID, "panel").text


def click_node(browser, name, pane=0, double=False):
    """A real click at the place where the page has drawn the node."""
    x, y = browser.execute_script(
        """const p = view.panes[arguments[1]], m = p.model;
        const n = m.nodes.find((n) => n && m.nodeName(n) === arguments[0]);
        const b = p.scene.boxOf.get(n.id), r = p.canvas.getBoundingClientRect();
        p.reveal(b);
        return [r.left + b.x * p.scale + p.x, r.top + (b.y + 12) * p.scale + p.y];""", name, pane)
    actions = webdriver.ActionChains(browser)
    actions.w3c_actions.pointer_action.move_to_location(int(x), int(y))
    (actions.double_click() if double else actions.click()).perform()


def scale(browser):
    return browser.execute_script("return view.active.scale")


def type_keys(browser, *keys):
    webdriver.ActionChains(browser).send_keys(*keys).perform()


@pytest.fixture
def gelu(browser, tmp_path):
    open_page(browser, make_page(tmp_path, MODELS / "gelu.onnxtxt"))
    return browser


def first_name(browser, op):
    return browser.execute_script(
        "const m = models[0]; return m.nodeName(m.nodes.find((n) => n && n.op === arguments[0]))", op)


def test_a_click_shows_a_node(gelu):
    assert "OPERATORS" in panel(gelu)
    click_node(gelu, first_name(gelu, "Erf"))
    assert panel(gelu).startswith("Erf")
    assert "INPUTS" in panel(gelu) and "OUTPUTS" in panel(gelu)
    type_keys(gelu, Keys.ESCAPE)
    assert "OPERATORS" in panel(gelu)


def test_arrow_keys_follow_edges(gelu):
    click_node(gelu, first_name(gelu, "Erf"))
    type_keys(gelu, Keys.ARROW_DOWN)
    assert panel(gelu).startswith("Add")
    type_keys(gelu, Keys.ARROW_UP)
    assert panel(gelu).startswith("Erf")


def test_search_by_operator_name_and_shape(gelu):
    for text, op in (("op:erf", "Erf"), (first_name(gelu, "Erf"), "Erf")):
        query = gelu.find_element(By.ID, "query")
        query.clear()
        query.send_keys(text, Keys.ENTER)
        assert panel(gelu).startswith(op), text
    query.clear()
    query.send_keys("shape:12345x7")
    assert gelu.find_element(By.ID, "found").text == "0 found"
    sizes = gelu.execute_script("return models[0].values[models[0].pictures[0].outputs[0]].type").split("[")[1][:-1]
    query.clear()
    query.send_keys("shape:" + sizes.replace(",", "x"))
    assert int(gelu.find_element(By.ID, "found").text.split()[0]) > 0


def test_zoom_by_keys_wheel_and_buttons(gelu):
    before = scale(gelu)
    gelu.find_element(By.ID, "in").click()
    assert scale(gelu) > before
    gelu.find_element(By.CSS_SELECTOR, "canvas.graph").click()
    type_keys(gelu, "-", "-")
    assert scale(gelu) < before
    gelu.execute_script("""document.querySelector("canvas.graph").dispatchEvent(new WheelEvent("wheel",
        {deltaY: -300, ctrlKey: true, clientX: 300, clientY: 300, bubbles: true, cancelable: true}))""")
    zoomed, place = scale(gelu), gelu.execute_script("return view.active.y")
    assert zoomed > before / 2
    gelu.execute_script("""document.querySelector("canvas.graph").dispatchEvent(new WheelEvent("wheel",
        {deltaY: 120, clientX: 300, clientY: 300, bubbles: true, cancelable: true}))""")
    assert scale(gelu) == zoomed and gelu.execute_script("return view.active.y") == place - 120
    type_keys(gelu, "0")
    assert scale(gelu) != zoomed


def test_weights_have_statistics_on_demand(browser, tmp_path):
    weight = helper.make_tensor("w", TensorProto.FLOAT, [4, 4], [0.0, 1e-40, 2.0, -2.0] * 4)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    open_page(browser, make_page(tmp_path, tmp_path / "m.onnx"))
    click_node(browser, "product")
    assert not browser.find_elements(By.CSS_SELECTOR, "#panel .hist")
    browser.find_element(By.CSS_SELECTOR, "#panel summary").click()
    WebDriverWait(browser, 60).until(lambda b: len(b.find_elements(By.CSS_SELECTOR, "#panel .hist rect")) == 32)
    assert "denormals\n4 (25\u202f%)" in panel(browser) and "zeros\n4" in panel(browser)


def test_subgraphs_and_functions_open_in_place(browser, tmp_path):
    open_page(browser, make_page(tmp_path, MODELS / "branch.onnxtxt"))
    n = browser.execute_script("return view.active.scene.boxes.length")
    click_node(browser, "pick", double=True)
    opened = browser.execute_script("return view.active.scene.boxes.length")
    assert opened > n
    click_node(browser, "twice", double=True)
    assert browser.execute_script("return view.active.scene.boxes.length") > opened
    query = browser.find_element(By.ID, "query")
    query.send_keys("op:concat", Keys.ENTER)
    assert panel(browser).startswith("Concat")


def test_comparison_shows_what_was_fused(browser, tmp_path):
    open_page(browser, make_page(tmp_path, MODELS / "gelu.onnxtxt", "--optimize", "--target", "onnxruntime"))
    assert len(browser.find_elements(By.CSS_SELECTOR, ".pane")) == 2
    assert panel(browser).startswith("Before and after") and "REWRITES" in panel(browser)
    erf = browser.execute_script("const m = models[0]; return m.nodeName(m.nodes.find((n) => n && n.op === 'Erf'))")
    click_node(browser, erf)
    assert "fused" in panel(browser) and "now" in panel(browser) and "Gelu" in panel(browser)
    browser.find_element(By.CSS_SELECTOR, "#panel li button.link").click()
    assert "It computes" in panel(browser) and "Erf" in panel(browser)
    assert browser.execute_script("return view.panes[0].marked.size") > 1


def test_two_files_are_matched_without_a_log(browser, tmp_path):
    after = tmp_path / "after.onnx"
    hone("optimize", MODELS / "gelu.onnxtxt", "--target", "onnxruntime", "-o", after)
    open_page(browser, make_page(tmp_path, MODELS / "gelu.onnxtxt", after))
    states = browser.execute_script("return [...models[0].states.values()]")
    assert "fused" in states


def test_a_profile_gives_times(browser, tmp_path):
    names = json.loads(hone("info", "--json", "--nodes", MODELS / "gelu.onnxtxt"))["nodes"]
    named = [n["name"] for n in names if n.get("name")]
    events = [{"cat": "Node", "name": f"{name}_kernel_time", "ph": "X", "ts": 0, "dur": 10 + i,
               "args": {"op_name": "X", "provider": "CPUExecutionProvider"}} for i, name in enumerate(named)]
    (tmp_path / "p.json").write_text(json.dumps(events))
    open_page(browser, make_page(tmp_path, MODELS / "gelu.onnxtxt", "--profile", tmp_path / "p.json"))
    assert browser.find_element(By.ID, "mode").get_attribute("value") == "time"
    click_node(browser, named[0])
    assert "10\u202fµs, 13" in panel(browser) and "cpu" in panel(browser)


def test_light_dark_and_a_phone(browser, tmp_path):
    page = make_page(tmp_path, MODELS / "gelu.onnxtxt", "--optimize")
    colours = set()
    for dark in (False, True):
        show(browser, 1280, 800, dark)
        open_page(browser, page)
        colours.add(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2
    show(browser, 390, 800)
    open_page(browser, page)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    shown = [p.is_displayed() for p in browser.find_elements(By.CSS_SELECTOR, ".pane")]
    assert shown == [True, False]
    browser.find_elements(By.CSS_SELECTOR, "#tabs button")[1].click()
    shown = [p.is_displayed() for p in browser.find_elements(By.CSS_SELECTOR, ".pane")]
    assert shown == [False, True]
    middle = "const p = view.panes[1]; return p.x + p.scene.width / 2 * p.scale - p.width / 2"
    WebDriverWait(browser, 60).until(lambda b: abs(b.execute_script(middle)) < 1)


def test_hostile_names_are_only_text(browser, tmp_path):
    evil = ["</script><script>document.title='hacked'</script>", "<img src=x onerror=\"document.title='hacked'\">",
            "<!--<script>", "\x01\x1b[31m\x7f", "a\"'&\\\u2028\u202e", "__proto__", "constructor"]
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"], name=name, doc_string=name) for i, name in enumerate(evil)]
    nodes.append(helper.make_node("Custom<b>", [f"v{len(evil)}"], ["y"], name="huge", domain="evil<i>",
                                  text="<script>" * 100000, numbers=list(range(100000))))
    graph = helper.make_graph(nodes, evil[0], [helper.make_tensor_value_info("v0", TensorProto.FLOAT, [evil[1], 2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], doc_string=evil[0])
    model = helper.make_model(graph, producer_name=evil[1],
                              opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("evil<i>", 1)])
    helper.set_model_props(model, {evil[0]: evil[1]})
    onnx.save(model, tmp_path / "m.onnx")
    page = make_page(tmp_path, tmp_path / "m.onnx")
    assert page.stat().st_size < 1_000_000
    open_page(browser, page)
    assert "hacked" not in browser.title and not browser.find_elements(By.CSS_SELECTOR, "img, b + script")
    assert "<img" in panel(browser)
    for name in evil + ["huge"]:
        click_node(browser, name)
        assert panel(browser).startswith("Relu" if name != "huge" else "evil<i>.Custom<b>"), name
    assert not browser.find_elements(By.CSS_SELECTOR, "img")
    assert "hacked" not in browser.title
    svg = xml.dom.minidom.parseString(hone("view", tmp_path / "m.onnx", "--format", "svg"))
    assert not svg.getElementsByTagName("script") and not svg.getElementsByTagName("img")
    for form in ("text", "dot"):
        text = hone("view", tmp_path / "m.onnx", "--format", form)
        assert not [c for c in text if ord(c) < 32 and c != "\n"], form


def test_many_nodes_open_and_are_found(browser, tmp_path):
    n = 20000
    nodes = [helper.make_node("Add" if i % 3 == 2 else "Relu", [f"v{i}", f"v{i - i % 89}"][:1 + (i % 3 == 2)],
                              [f"v{i + 1}"], name=f"n{i}") for i in range(n)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("v0", TensorProto.FLOAT, [2])],
                              [helper.make_tensor_value_info(f"v{n}", TensorProto.FLOAT, [2])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    open_page(browser, make_page(tmp_path, tmp_path / "m.onnx"))
    assert browser.execute_script("view.active.drawNow(); return view.active.nDrawn") < 100
    browser.find_element(By.ID, "query").send_keys("name:n19999", Keys.ENTER)
    assert panel(browser).startswith("Relu\nn19999")
