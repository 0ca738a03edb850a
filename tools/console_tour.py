"""Walks through the console in a real browser: every page is checked, used, and photographed for the docs.

    make console-tour                 # needs Chromium (`apt-get install chromium`); fetches playwright into build/

It starts a worker of its own on a fresh folder. It ends with an error if a page does not show or do what it should, if
the browser reports an error or a breach of the security policy, or if text of a memory became markup of a page.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from playwright.async_api import async_playwright, expect

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from faults.cluster.worker_process import WorkerProcess  # noqa: E402 - after the path is set
from support.free_ports import free_ports  # noqa: E402

if TYPE_CHECKING:
    from playwright.async_api import Page

PICTURES = ROOT / "docs" / "pictures"
ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
HOSTILE = "<img src=x onerror=alert(1)> & <b>bold</b>"
SAID = (
    "My sister gave me a telescope for my birthday yesterday, I was so happy!",
    "I work at Siemens as an engineer.",
)


def chromium() -> str:
    """Return the path of Chromium. Raises SystemExit if there is none."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        sys.exit("there is no chromium on the PATH: install it, or set CHROMIUM to its path")
    return found


async def fill(url: str) -> None:
    """Give the worker a user with a changed city, a feeling, a reminder and a hostile memory, and one with notes."""
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:

        async def post(path: str, body: dict[str, Any]) -> None:
            (await http.post(path, json={"user_id": "ana"} | body)).raise_for_status()

        for city in ("Rome", "Oslo", "Lima"):
            await post("/v1/memories", {"content": f"The user lives in {city}.", "attribute": "city", "value": city})
        await post("/v1/memories", {"content": HOSTILE})
        notes = [{"role": "user", "content": f"Note {n} is about lamp {n}."} for n in range(60)]
        await post("/v1/conversations?wait=30", {"user_id": "many", "messages": notes, "infer": False})
        turns = [{"role": "user", "content": content} for content in SAID]
        await post("/v1/conversations?wait=30", {"session_id": "s", "messages": turns})
        reminder = {"due_at": "2099-01-01T09:00:00Z", "content": "Water the plants."}
        (await http.post("/v1/users/ana/reminders", json=reminder)).raise_for_status()


class Tour:
    """A browser's page on the console. A step that fails raises AssertionError or an error of playwright."""

    def __init__(self, page: Page, url: str) -> None:
        self._page = page
        self._url = url
        self.troubles: list[str] = []
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("dialog", lambda dialog: self.troubles.append(f"a dialog: {dialog.message}"))
        page.on("console", lambda line: self.troubles.append(line.text) if "Security Policy" in line.text else None)

    async def memories(self) -> None:
        """Look at a list with hostile words in it, go back in time, and search."""
        page = self._page
        await page.goto(f"{self._url}/console/?user=many")
        await expect(page.locator("#memories tbody tr")).to_have_count(50)
        await expect(page.locator("#users option")).to_have_count(2)
        await page.click("#next")
        await expect(page.locator("#memories tbody tr")).to_have_count(10)
        await page.fill("#user", "ana")
        await page.click("header button")
        await page.reload()
        await expect(page.locator("#memories tbody tr")).to_have_count(5)
        await expect(page.locator("#memories")).to_contain_text(HOSTILE)
        await expect(page.locator("main img, main b")).to_have_count(0)
        await self._picture("memories")
        await page.locator("#as-of").evaluate("slider => { slider.value = slider.min }")
        await page.locator("#as-of").dispatch_event("change")
        await expect(page.locator("#memories")).to_have_text("Nothing is remembered.")  # the day before had nothing
        await page.click("header button")
        await expect(page.locator("#memories tbody tr")).to_have_count(5)
        await page.fill("#filters [name=text]", "where does she live")
        await page.click("#filters button")
        await expect(page.locator("#total")).to_contain_text("found")
        await page.select_option("#filters [name=status]", "superseded")
        await page.fill("#filters [name=text]", "ROME")
        await page.click("#filters button")
        await expect(page.locator("#memories tbody tr")).to_have_count(1)
        await page.select_option("#filters [name=status]", "active")
        await page.fill("#filters [name=text]", "where does she live")
        await page.click("#filters button")
        await expect(page.locator("#memories tbody tr").first).to_contain_text("Lima")

    async def memory(self) -> None:
        """Look at a memory that superseded two, correct it, forget it and restore it."""
        page = self._page
        await page.click("text=The user lives in Lima.")
        await expect(page.locator("#graph rect.node")).to_have_count(3)
        await expect(page.locator("#graph path.link")).to_have_count(2)
        await expect(page.locator("#curve path.curve")).to_have_count(2)
        await self._picture("memory", whole=True)
        await page.fill("#revise textarea", "The user lives in Lima, in Peru.")
        await page.fill("#revise [name=metadata]", '{"shelf": 2, "from": "the console"}')
        await page.fill("#revise [name=expires_at]", "2099-01-01")
        await page.click("#save")
        await self._says("Saved.")
        await expect(page.locator("#fields")).to_contain_text("2099-01-01")
        await page.fill("#revise [name=metadata]", '{"shelf": 2}')
        await page.fill("#revise [name=expires_at]", "")
        await page.click("#save")
        await self._says("Saved.")
        await expect(page.locator("#revise [name=metadata]")).to_have_value('{\n "shelf": 2\n}')
        await page.fill("#revise [name=metadata]", "[]")
        await page.click("#save")
        await expect(page.locator("#message")).to_contain_text("Metadata: write a JSON object")
        await page.fill("#revise [name=metadata]", '{"shelf": 2}')
        await expect(page.locator("#history")).to_contain_text("MemoryRevised")
        await page.click("#forget")
        await self._says("Forgotten. It can be restored.")
        await page.click("#restore")
        await self._says("Remembered again.")
        await page.click("nav >> text=Memories")
        await page.fill("#filters [name=text]", "")
        await page.fill("#filters [name=condition]", '{"metadata.shelf": {"gte": 2}}')
        await page.click("#filters button")
        await expect(page.locator("#memories tbody tr")).to_have_count(1)
        await page.fill("#filters [name=condition]", '{"shelf": 2}')
        await page.click("#filters button")
        await expect(page.locator("#message")).to_contain_text("is no field of a memory")
        await page.fill("#filters [name=condition]", "")
        await page.click("#filters button")
        await expect(page.locator("#memories tbody tr")).to_have_count(5)

    async def feelings(self) -> None:
        """Look at the feelings, and follow one back to the words in which it was said."""
        page = self._page
        await page.click("nav >> text=Feelings")
        await expect(page.locator("svg#feelings circle")).to_have_count(1)
        await self._picture("feelings")
        await page.click("text=telescope")
        await expect(page.locator("#words")).to_contain_text(SAID[0])

    async def wakes(self) -> None:
        """Look at a reminder and cancel it."""
        page = self._page
        await page.click("nav >> text=Wakes")
        await expect(page.locator("#reminders tbody tr")).to_have_count(1)
        await self._picture("wakes")
        await page.click("#reminders button")
        await self._says("Cancelled.")

    async def webhooks(self) -> None:
        """Register a webhook, change its secret, replay all changes to it, and remove it."""
        page = self._page
        await page.click("nav >> text=Webhooks")
        await expect(page.locator("#webhooks")).to_have_text("Nobody is told of changes.")
        await page.fill("#register [name=url]", "http://127.0.0.1:9/hook")
        await page.fill("#register [name=user]", "ana")
        await page.select_option("#register [name=types]", ["MemoryFormed", "MemoryForgotten"])
        await page.click("#register button")
        await expect(page.locator("#message")).to_contain_text("shown only here: whsec_")
        await expect(page.locator("#webhooks tbody tr")).to_contain_text("MemoryFormed, MemoryForgotten")
        await page.click("#webhooks >> text=New secret")
        await expect(page.locator("#message")).to_contain_text("The new secret, shown only here: whsec_")
        await page.click("#webhooks >> text=Replay")
        await self._says("All changes since the first are posted again.")
        async with asyncio.timeout(30):
            while "no connection" not in await page.locator("#webhooks").inner_text():
                await asyncio.sleep(0.5)
                await page.click("header button")
        await self._picture("webhooks")
        await page.click("#webhooks >> text=Remove")
        await self._says("Removed.")

    async def operations(self) -> None:
        """Look at the lag, rebuild, and switch back."""
        page = self._page
        await page.click("nav >> text=Operations")
        await expect(page.locator("#behind")).to_have_text("0 items are not done.")
        await expect(page.locator("#checks")).to_contain_text("heads")
        await expect(page.locator("#checks")).to_contain_text("backup")
        await self._picture("operations")
        await page.click("#rebuild")
        await self._says("Generation 2 was built, verified and switched to.")
        await page.click("#generations button")
        await self._says("Generation 1 is active.")

    async def _says(self, words: str) -> None:
        await expect(self._page.locator("#message")).to_have_text(words)

    async def _picture(self, name: str, *, whole: bool = False) -> None:
        await self._page.screenshot(path=PICTURES / f"console-{name}.png", full_page=whole)


async def main() -> None:
    """Run a worker and the browser, and take all steps."""
    PICTURES.mkdir(exist_ok=True)
    program = chromium()
    with tempfile.TemporaryDirectory() as folder:
        worker = WorkerProcess(Path(folder), free_ports(1)[0], {"EXTRACTOR": "rules", "WEBHOOK_HOSTS": "127.0.0.1"})
        worker.start()
        try:
            await worker.ready()
            await fill(worker.url)
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(executable_path=program, args=[*ARGUMENTS])
                tour = Tour(await browser.new_page(viewport={"width": 1200, "height": 800}), worker.url)
                for step in (tour.memories, tour.memory, tour.feelings, tour.wakes, tour.webhooks, tour.operations):
                    await step()
                await browser.close()
        finally:
            worker.kill()
    if tour.troubles:
        sys.exit(f"the browser reported: {tour.troubles}")
    print("every page of the console was seen and used")


if __name__ == "__main__":
    asyncio.run(main())
