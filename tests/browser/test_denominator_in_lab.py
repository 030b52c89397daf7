"""The denominator slider in JupyterLab: keyboard, both themes, both widths, no jump."""

import pytest

pytestmark = pytest.mark.browser


def test_keyboard_themes_and_widths(lab):
    lab.write(
        "denominator.ipynb", "import lmcourse.widgets\nslider = lmcourse.widgets.denominator()\nslider", "1"
    )
    lab.open("denominator.ipynb")
    lab.run_cell(0)
    widget = lab.cell(0).locator(".lmc")
    widget.locator("svg[role=img]").wait_for()
    lab.page.wait_for_timeout(300)
    tokens = widget.get_by_role("slider", name="Example A (tokens)", exact=True)
    tokens.focus()
    for key in ("d", "d", "m", "x", "ArrowRight"):
        lab.page.keyboard.press(key)
    assert tokens.input_value() == "3" and lab.cells() == ["code", "code"]
    assert widget.locator(".lmc-readout").inner_text().startswith("Token mean 1.82, example mean 2.50")
    for width in (1280, 800):
        lab.size(width, 1000)
        heights = set()
        for button in widget.locator(".lmc-try button, .lmc-foot button:has-text('Numbers')").all():
            button.click()
            lab.settle()
            heights.add(round(widget.bounding_box()["height"]))
            assert widget.evaluate("w => w.scrollWidth - w.clientWidth") <= 0
        assert len(heights) == 1 and max(heights) <= 620, (width, heights)
        widget.get_by_role("button", name="2 Short and long").click()
        for theme in ("Dark", "Light"):
            lab.theme(f"JupyterLab {theme}")
            lab.screenshot(f"denominator-{width}-{theme.lower()}", widget)
        cut = widget.evaluate(
            """w => { const frame = w.querySelector('svg[role=img]').getBoundingClientRect();
            return [...w.querySelectorAll('svg[role=img] text')]
                .map(t => [t.textContent, t.getBoundingClientRect()])
                .filter(([_, r]) => r.left < frame.left || r.right > frame.right || r.bottom > frame.bottom)
                .map(([words]) => words); }"""
        )
        assert cut == []
    assert lab.errors == [] and lab.foreign == []
