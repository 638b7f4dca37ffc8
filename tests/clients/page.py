"""The chat page in headless Chromium: python page.py URL PATH_OF_CHROMIUM

The server has the model `plays`, which converses, and no keys. Whatever the page logs as an error fails the test, as
does a request to another server.
"""

import sys

from playwright.sync_api import expect, sync_playwright

# A closed network would be asked for updates.
OFFLINE = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync"]


def main(url, chromium):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=OFFLINE)
        context = browser.new_context()
        page = context.new_page()
        wrong, elsewhere = [], []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: None if request.url.startswith((url, "data:")) else elsewhere.append(request.url))
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(url)
        converses(page)
        stops_and_retries(page)
        is_kept(page)
        has_settings(page)
        shows_text_as_text(page)
        shows_errors(page, wrong)
        works_on_small_screens(browser, url)
        assert not wrong, wrong
        assert not elsewhere, elsewhere
        browser.close()
    print("the page works")


def ask(page, text):
    page.get_by_label("Message", exact=True).fill(text)
    page.get_by_role("button", name="Send").click()


def answers(page):
    return page.locator(".message.assistant")


def wait_for_end(page):
    expect(page.get_by_role("button", name="Stop")).to_be_hidden(timeout=60_000)
    expect(page.get_by_role("button", name="Send")).to_be_visible()


def set_setting(page, label, value):
    page.get_by_role("button", name="Settings").click()
    page.get_by_label(label).fill(value)
    page.get_by_role("button", name="Close").click()


def converses(page):
    expect(page.get_by_label("Model", exact=True)).to_have_value("plays")
    expect(page.get_by_text("Write a message to begin.")).to_be_visible()
    set_setting(page, "Most tokens", "30")
    ask(page, "Where is the king?")
    wait_for_end(page)
    expect(page.locator(".message.user .body")).to_have_text("Where is the king?")
    expect(answers(page)).to_have_count(1)
    assert len(answers(page).locator(".body").inner_text()) > 10
    expect(answers(page).get_by_text("tokens/s")).to_be_visible()
    # Enter sends; with Shift it breaks the line.
    box = page.get_by_label("Message", exact=True)
    box.fill("And")
    box.press("Shift+Enter")
    box.type("the queen?")
    box.press("Enter")
    wait_for_end(page)
    expect(page.locator(".message.user .body").nth(1)).to_have_text("And\nthe queen?")
    expect(answers(page)).to_have_count(2)


def stops_and_retries(page):
    page.get_by_role("button", name="New conversation").click()
    set_setting(page, "Most tokens", "")
    set_setting(page, "Temperature", "1.5")
    # The model is fast: a slow network gives time to stop it.
    network = page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": 0, "downloadThroughput": 4000, "uploadThroughput": -1}
    network.send("Network.emulateNetworkConditions", slow)
    ask(page, "Speak without end.")
    expect(answers(page).locator(".body")).not_to_be_empty(timeout=30_000)
    page.get_by_role("button", name="Stop").click()
    wait_for_end(page)
    network.send("Network.emulateNetworkConditions", {**slow, "downloadThroughput": -1})
    network.detach()
    expect(answers(page).get_by_text("stopped")).to_be_visible()
    first = answers(page).locator(".body").inner_text()
    set_setting(page, "Most tokens", "40")
    page.get_by_role("button", name="Retry").click()
    wait_for_end(page)
    expect(answers(page)).to_have_count(1)
    assert answers(page).locator(".body").inner_text() != first
    page.locator(".message.user").get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Message", exact=True)).to_have_value("Speak without end.")
    expect(page.locator(".message")).to_have_count(0)
    ask(page, "Speak briefly.")
    wait_for_end(page)
    expect(page.locator(".message")).to_have_count(2)


def is_kept(page):
    text = answers(page).locator(".body").inner_text()
    page.reload()
    expect(answers(page).locator(".body")).to_have_text(text, use_inner_text=True)
    conversations = page.locator("#conversations li")
    expect(conversations).to_have_count(2)
    conversations.nth(1).locator(".open").click()
    expect(page.locator(".message.user .body").first).to_have_text("Where is the king?")
    conversations.nth(1).locator(".remove").click()
    expect(conversations).to_have_count(1)
    expect(page.locator(".message.user .body")).to_have_text("Speak briefly.")


def has_settings(page):
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("System message").fill("You are a king.")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="New conversation").click()
    with page.expect_request("**/v1/chat/completions") as asked:
        ask(page, "Who are you?")
    sent = asked.value.post_data_json
    assert sent["messages"][0] == {"role": "system", "content": "You are a king."}, sent
    assert sent["temperature"] == 1.5 and sent["max_tokens"] == 40 and sent["model"] == "plays", sent
    assert "Authorization" not in asked.value.headers and "seed" not in sent, sent
    wait_for_end(page)
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("button", name="Defaults").click()
    expect(page.get_by_label("System message")).to_have_value("")
    expect(page.get_by_label("Temperature")).to_have_value("0.8")
    page.get_by_label("Most tokens").fill("20")
    page.get_by_role("button", name="Close").click()


def shows_text_as_text(page):
    page.get_by_role("button", name="New conversation").click()
    hostile = "<img src=x onerror=\"document.title='changed'\"><script>document.title='changed'</script>"
    ask(page, hostile)
    wait_for_end(page)
    expect(page.locator(".message.user .body")).to_have_text(hostile)
    assert page.title() == "tensorlib" and page.locator(".message img").count() == 0
    # The model's text is no markup either, but for blocks of code.
    page.evaluate("""() => {
        conversation().turns.push({ role: "assistant", content: "See:\\n```c\\n<b>x</b>\\n```\\n<i>end</i>" });
        show();
    }""")
    expect(page.locator(".message.assistant pre code")).to_have_text("<b>x</b>")
    assert page.locator(".message b, .message i").count() == 0


def shows_errors(page, wrong):
    page.get_by_role("button", name="New conversation").click()
    ask(page, "Too long. " * 100)
    wait_for_end(page)
    expect(answers(page).locator(".error")).to_contain_text("the context has room for")
    # The browser logs answers of 400.
    assert all("400" in message for message in wrong), wrong
    wrong.clear()
    page.locator(".message.user").get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="Delete all").click()
    expect(page.locator("#conversations li")).to_have_count(0)


def works_on_small_screens(browser, url):
    page = browser.new_page(viewport={"width": 360, "height": 640})
    page.goto(url)
    expect(page.locator("#sidebar")).to_be_hidden()
    set_setting(page, "Most tokens", "10")
    ask(page, "Speak.")
    wait_for_end(page)
    page.get_by_role("button", name="Conversations").click()
    expect(page.locator("#sidebar")).to_be_visible()
    expect(page.locator("#conversations li")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()


main(*sys.argv[1:])
