"""The widgets in JupyterLab: names, keyboard, themes, sizes, running again, and life without a kernel."""

from __future__ import annotations

import json

import nbformat
import numpy as np
import pytest
from conftest import SCREENSHOTS
from matplotlib import colors, image
from nbconvert import HTMLExporter

from lmcourse.figures import PALETTE

pytestmark = pytest.mark.browser

NOTEBOOK = (
    "import lmcourse.widgets\nviewer = lmcourse.widgets.packing()\nviewer",
    "slider = lmcourse.widgets.waste()\nslider",
    "1 + 1",
)
PACKING_CONTROLS = [
    "textbox: Documents, in tokens",
    "spinbutton: Seed of random lengths",
    "button: New seed",
    "slider: Window (tokens)",
    "spinbutton: Window (tokens), 1 to 64",
    "combobox: Layout",
    "combobox: Strategy",
    "checkbox: End token (eos)",
    "checkbox: Positions start again",
    "slider: Query token",
    "spinbutton: Query token, 0 to 31",
    "button: 1 Pad",
    "button: 2 Leak",
    "button: 3 Cut or fit",
    "button: Numbers",
    "button: Two averages",
    "button: What this toy leaves out",
    "button: Reset",
    "button: Save picture",
    "button: Copy settings",
]
WASTE_CONTROLS = [
    "slider: Row length (tokens)",
    "spinbutton: Row length (tokens), 16 to 4,096",
    "slider: Mean length (tokens)",
    "spinbutton: Mean length (tokens), 8 to 2,048",
    "slider: Spread (s.d. of ln length)",
    "spinbutton: Spread (s.d. of ln length), 0 to 1.5",
    "slider: Documents in a bucket",
    "spinbutton: Documents in a bucket, 1 to 64",
    "spinbutton: Seed",
    "button: New seed",
    "button: padded rows",
    "button: buckets",
    "button: leaking pairs",
    "button: cut documents",
    "button: 1 Like lengths",
    "button: 2 Long tail",
    "button: 3 Short rows",
    "button: Numbers",
    "button: What this toy leaves out",
    "button: Reset",
    "button: Save picture",
    "button: Copy settings",
]
ROLES = ("textbox", "spinbutton", "slider", "combobox", "checkbox", "button")


def play(lab, name: str) -> None:
    """Open a notebook with both widgets and bring them onto the page."""
    lab.write(name, *NOTEBOOK)
    lab.open(name)
    for index in (0, 1):
        lab.run_cell(index)
        lab.cell(index).locator(".lmc svg[role=img]").wait_for()


@pytest.fixture(scope="module")
def page_for_all(new_lab):
    with new_lab() as lab:
        play(lab, "widgets.ipynb")
        yield lab


@pytest.fixture
def played(page_for_all):
    """The page with both widgets, as it was at the start."""
    page_for_all.theme("JupyterLab Light")
    page_for_all.size(1280)
    for button in page_for_all.page.locator(".lmc").get_by_role("button", name="Reset").all():
        button.click()
    page_for_all.errors.clear()
    return page_for_all


def controls_of(widget) -> list[str]:
    """Role and accessible name of each control that can be used, in the order of the page."""
    found = []
    for line in widget.aria_snapshot().splitlines():
        role, _, rest = line.strip().removeprefix("- ").removeprefix("'").partition(' "')
        if role in ROLES:
            name, _, state = rest.partition('"')
            if "[disabled]" not in state:
                found.append(f"{role}: {name}")
        elif role.split(":")[0] in ROLES:
            found.append(f"{role}: without a name")
    return found


def tab_sequence(lab, widget) -> list[str]:
    """Text or label of each control that Tab reaches, starting at the first."""
    widget.locator("input").first.focus()
    seen = []
    while widget.evaluate("w => w.contains(document.activeElement)"):
        seen.append(
            lab.page.evaluate(
                """() => { const e = document.activeElement;
                return e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent; }"""
            )
        )
        lab.page.keyboard.press("Tab")
        assert len(seen) < 60
    return [name.replace("  ", " ") for name in seen]


def rgb(css: str) -> tuple[float, ...]:
    """ "rgb(17, 17, 17)" as numbers from 0 to 1."""
    return tuple(float(part) / 255 for part in css[css.index("(") + 1 : -1].split(",")[:3])


def contrast(a: str, b: str) -> float:
    """WCAG 2 contrast of two colors in any form that matplotlib reads."""

    def luminance(color: str) -> float:
        c = np.array(colors.to_rgb(color))
        return float(
            np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
        )

    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_names_targets_and_tab_order(played):
    for index, expected in ((0, PACKING_CONTROLS), (1, WASTE_CONTROLS)):
        widget = played.cell(index).locator(".lmc")
        assert controls_of(widget) == expected
        assert tab_sequence(played, widget) == [name.partition(": ")[2] for name in expected]
        small = widget.evaluate(
            """w => [...w.querySelectorAll('input, select, button')]
                .map(e => e.type === 'checkbox' ? e.closest('label') : e)
                .filter(e => e.offsetParent && (e.offsetHeight < 24 || e.offsetWidth < 24))
                .map(e => e.outerHTML)"""
        )
        assert small == []
        alt = widget.locator("svg[role=img]").get_attribute("aria-label")
        assert 150 <= len(alt) <= 300
    twice = played.page.evaluate(
        """() => { const ids = [...document.querySelectorAll('.lmc [id], .lmc pattern')].map(e => e.id);
        return ids.filter((id, k) => ids.indexOf(id) !== k); }"""
    )
    assert twice == []
    assert played.errors == [] and played.foreign == []


def test_keys_stay_in_the_widget_and_move_its_values(played):
    page, widget = played.page, played.cell(0).locator(".lmc")
    played.select(0)
    cells = played.cells()
    for control in ("slider: Query token", "button: Reset", "checkbox: End token (eos)", "combobox: Layout"):
        role, _, name = control.partition(": ")
        widget.get_by_role(role, name=name, exact=True).focus()
        for key in ("d", "d", "m", "x", "z", "a", "b"):
            page.keyboard.press(key)
        assert played.cells() == cells, control
    widget.get_by_role("button", name="Reset").click()
    query = widget.get_by_role("slider", name="Query token", exact=True)
    query.focus()
    assert query.input_value() == "7"
    for key, value in (
        ("ArrowRight", "8"),
        ("ArrowDown", "7"),
        ("End", "31"),
        ("PageDown", None),
        ("Home", "0"),
    ):
        page.keyboard.press(key)
        assert value is None or query.input_value() == value, key
    readout = widget.locator(".lmc-readout")
    assert readout.inner_text().startswith("Token 0 (A, position 0) sees 1 token: A0.")
    window = widget.get_by_role("spinbutton", name="Window (tokens), 1 to 64")
    window.fill("65")
    assert "from 1 to 64" in widget.locator(".lmc-problem:visible").inner_text()
    window.fill("16")
    assert widget.locator(".lmc-problem:visible").count() == 0
    page.keyboard.press("Escape")
    assert page.evaluate(
        "() => !document.activeElement.closest('.lmc') && !!document.activeElement.closest('.jp-Cell')"
    )
    page.wait_for_timeout(400)  # the front end tells the kernel at most eight times a second
    told = json.loads(played.execute("import json; print(json.dumps(viewer.params))"))
    assert told["window"] == 16 and told["selected"] == 0
    played.execute("viewer.update(window=24, mode='pack', selected=9)")
    page.wait_for_function(
        "() => document.querySelector('.lmc-readout').textContent.startsWith('Token 9 (B')"
    )
    assert window.input_value() == "24"
    assert played.errors == [] and played.foreign == []


def test_dragging_ends_on_the_right_picture_without_a_jump(played):
    page, widget = played.page, played.cell(0).locator(".lmc")
    slider = widget.get_by_role("slider", name="Window (tokens)", exact=True)
    slider.scroll_into_view_if_needed()
    area = slider.bounding_box()
    middle = area["y"] + area["height"] / 2
    page.evaluate(
        """() => { window.shift = 0; new PerformanceObserver(list => list.getEntries().forEach(e => {
            window.shift += e.value; })).observe({ type: "layout-shift" }); }"""
    )
    page.mouse.move(area["x"] + 0.5 * area["width"], middle)
    page.mouse.down()
    for share in np.linspace(0.5, 0.93, 12):
        page.mouse.move(area["x"] + share * area["width"], middle)
    page.mouse.up()
    played.settle()
    value = slider.input_value()
    assert int(value) > 50
    assert widget.get_by_role("spinbutton", name="Window (tokens), 1 to 64").input_value() == value
    alt = widget.locator("svg[role=img]").get_attribute("aria-label")
    assert alt.startswith(f"Attention mask, {value} by {value},")
    assert page.evaluate("() => window.shift") < 0.01
    assert played.errors == []


def test_height_is_fixed_while_settings_change(played):
    for width, most in ((1280, 620), (800, 620), (596, 620)):
        played.size(width, 1000)
        for index in (0, 1):
            widget = played.cell(index).locator(".lmc")
            heights = set()
            for button in widget.locator(".lmc-try button, .lmc-foot button:has-text('Numbers')").all():
                button.click()
                played.settle()
                heights.add(round(widget.bounding_box()["height"]))
                sideways = widget.evaluate("w => w.scrollWidth - w.clientWidth")
                assert sideways <= 0
            assert len(heights) == 1 and max(heights) <= most, (width, index, heights)
            widget.get_by_role("button", name="Reset").click()
            played.screenshot(f"widget-{index}-{width}", widget)


def test_both_themes_can_be_read(played):
    for name in ("dark", "light"):
        played.theme(f"JupyterLab {name.title()}")
        for index in (0, 1):
            widget = played.cell(index).locator(".lmc")
            pixels = image.imread(played.screenshot(f"widget-{index}-{name}", widget))[..., :3]
            background = colors.to_hex(pixels[4, 40])
            shown = {colors.to_hex(color) for color in np.unique(pixels.reshape(-1, 3), axis=0)}
            assert background == PALETTE[name].background
            assert {*PALETTE[name].series, PALETTE[name].text} <= shown
            assert min(contrast(c, background) for c in (PALETTE[name].text, PALETTE[name].alarm)) >= 4.5
            assert min(contrast(color, background) for color in PALETTE[name].series) >= 3
            css = widget.evaluate(
                "w => [...w.querySelectorAll('p, label, button, th')].map(e => getComputedStyle(e).color)"
            )
            assert {colors.to_hex(rgb(color)) for color in css} <= {PALETTE[name].text, PALETTE[name].alarm}
    assert played.errors == []


def test_running_a_cell_again_closes_what_it_showed_before(played):
    count = (
        "import ipywidgets.widgets.widget as all_models, lmcourse.widgets.stage as stage\n"
        "print(len(stage.REGISTER), len(all_models._instances))"
    )
    first = played.execute(count)
    nodes = played.page.evaluate("() => document.querySelectorAll('*').length")
    for _ in range(6):
        played.run_cell(0)
        played.cell(0).locator(".lmc svg[role=img]").wait_for()
    assert played.execute(count) == first
    assert played.page.locator(".lmc").count() == 2
    played.settle()
    assert played.page.evaluate("() => document.querySelectorAll('*').length") <= 1.2 * nodes
    assert played.errors == []


def test_a_still_picture_stands_in_without_a_kernel(lab, tmp_path):
    play(lab, "reopened.ipynb")
    lab.page.wait_for_function("() => document.querySelectorAll('.lmcourse-still').length === 2")
    twins = lab.page.locator(".lmcourse-still img")
    assert not twins.nth(0).is_visible() and not twins.nth(1).is_visible()
    lab.save()
    lab.shut_down()
    saved = nbformat.read(lab.folder / "reopened.ipynb", as_version=4)
    assert "widgets" not in saved.metadata

    lab.open("reopened.ipynb")
    twins.nth(1).wait_for()
    for k in (0, 1):
        assert twins.nth(k).is_visible()
        assert 150 <= len(twins.nth(k).get_attribute("alt")) <= 300
    lab.screenshot("reopened-without-a-kernel")
    lab.run_cell(0)
    lab.cell(0).locator(".lmc svg[role=img]").wait_for()
    twins.nth(0).wait_for(state="hidden")
    assert twins.nth(1).is_visible()

    page, _ = HTMLExporter().from_notebook_node(saved)
    (tmp_path / "exported.html").write_text(page, encoding="utf-8")
    offline = lab.page.context.new_page()
    offline.route("http*://**", lambda route: route.abort())
    offline.goto((tmp_path / "exported.html").as_uri(), wait_until="domcontentloaded")
    pictures = offline.locator(".lmcourse-still img")
    pictures.nth(1).scroll_into_view_if_needed()
    assert [pictures.nth(k).evaluate("i => i.naturalWidth") for k in (0, 1)] == [1360, 1360]
    assert offline.get_by_text("the query (down) may look at the key (across)").is_visible()
    offline.close()


def test_settings_and_picture_can_be_taken_away(played):
    widget = played.cell(0).locator(".lmc")
    widget.get_by_role("button", name="2 Leak").click()
    with played.page.expect_download() as download:
        widget.get_by_role("button", name="Save picture").click()
    path = SCREENSHOTS / "saved-by-the-reader.png"
    download.value.save_as(path)
    picture = image.imread(path)[..., :3]
    assert picture.shape == (800, 1360, 3) and colors.to_hex(picture[0, 0]) == "#ffffff"
    played.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    widget.get_by_role("button", name="Copy settings").click()
    widget.get_by_text("on the clipboard").wait_for()
    line = played.page.evaluate("() => navigator.clipboard.readText()")
    assert line == 'lmcourse.widgets.packing(mode="pack", selected=5)'
    assert played.errors == []
