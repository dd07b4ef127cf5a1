import { expect, type Page } from "@playwright/test";

/** Drags files and folders of this machine onto the page, as a file manager does. */
export async function drag(page: Page, paths: string[], into = "Drop here to upload into") {
  const browser = await page.context().newCDPSession(page);
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver"] as const) {
    await browser.send("Input.dispatchDragEvent", { type, x: 600, y: 500, data });
  }
  await expect(page.getByText(into)).toBeVisible();
  await browser.send("Input.dispatchDragEvent", { type: "drop", x: 600, y: 500, data });
}
