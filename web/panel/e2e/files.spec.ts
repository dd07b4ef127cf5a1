import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { drag } from "./drag";
import { expect, served, test, unique } from "./fixture";

test("a folder dragged onto the list is served at once, and a second drag asks what to do", async ({
  page,
  customer,
}) => {
  test.setTimeout(300_000); // 154 uploads, on a machine that may be busy
  const here = await mkdtemp(join(tmpdir(), "stead-drag-"));
  try {
    const site = join(here, "shop");
    await mkdir(join(site, "img", "deep"), { recursive: true });
    await mkdir(join(site, "empty"));
    await writeFile(join(site, "index.html"), "<h1>The shop</h1>");
    await writeFile(join(site, "img", "deep", "large.bin"), Buffer.alloc(3 << 20, 7));
    for (let n = 0; n < 150; n++) await writeFile(join(site, "img", `picture ${n}.svg`), `<svg id="p${n}"/>`);

    const service = await customer.service();
    await page.goto(`/panel/services/${service}/files/public_html`);
    await expect(page.getByRole("heading", { level: 1, name: "Files" })).toBeVisible();
    await drag(page, [site]);
    // Leaving the page stops nothing.
    await page.getByRole("link", { name: "Databases" }).click();
    await expect(page.getByText("153 files uploaded")).toBeVisible({ timeout: 200_000 });
    expect(await served(customer, service, "/shop/")).toBe("200 <h1>The shop</h1>");
    expect(await served(customer, service, "/shop/img/picture%20149.svg")).toBe('200 <svg id="p149"/>');

    await page.goto(`/panel/services/${service}/files/public_html/shop`);
    await expect(page.getByRole("link", { name: "empty" })).toBeVisible();
    await writeFile(join(site, "index.html"), "<h1>Closed</h1>");
    await drag(page, [join(site, "index.html")]);
    const dialog = page.getByRole("dialog", { name: "1 file is there already" });
    await dialog.getByRole("radio", { name: "Keep both" }).check();
    await dialog.getByRole("button", { name: "Upload" }).click();
    await expect(page.getByRole("link", { name: "index (2).html" })).toBeVisible();
    expect(await served(customer, service, "/shop/")).toBe("200 <h1>The shop</h1>");
  } finally {
    await rm(here, { recursive: true });
  }
});

test("a file is made, edited and saved by the keyboard; a conflict is shown and loses nothing", async ({
  page,
  customer,
  expected,
}) => {
  expected.push("409");
  const service = await customer.service();
  await page.goto(`/panel/services/${service}/files/public_html`);
  await page.getByRole("button", { name: "New", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "New file" }).press("Enter");
  await page.getByRole("dialog").getByLabel("Name").fill("hours.txt");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "hours.txt" }).press("Enter");
  const text = page.getByRole("textbox", { name: "Text of hours.txt" });
  await expect(text).toBeFocused();
  await page.keyboard.type("9-18");
  await page.keyboard.press("Control+s");
  await expect(page.getByText("hours.txt is saved")).toBeVisible();
  expect(await served(customer, service, "/hours.txt")).toBe("200 9-18");

  await customer.call("PUT", `/services/${service}/files/content`, {
    path: "/public_html/hours.txt",
    content: "<p>theirs</p>",
  });
  await page.keyboard.type("mine");
  await page.keyboard.press("Control+s");
  await expect(page.getByText("Somebody else has changed this file meanwhile")).toBeVisible();
  await page.getByRole("link", { name: "public_html" }).click();
  await page.getByRole("button", { name: "Stay" }).click();
  await page.getByRole("button", { name: "Save mine" }).click();
  await expect(page.getByText("Somebody else has changed this file meanwhile")).toBeHidden();
  expect(await served(customer, service, "/hours.txt")).toBe("200 9-18mine");
});

test("an editor that is drawn anew begins with what was saved", async ({ page, customer }) => {
  const service = await customer.service();
  await customer.call("PUT", `/services/${service}/files/content`, {
    path: "/public_html/hours.txt",
    content: "open",
  });
  await page.goto(`/panel/services/${service}/edit/public_html/hours.txt`);
  const text = page.locator(".cm-content");
  await expect(text).toBeFocused();
  await page.keyboard.type("always ");
  await page.keyboard.press("Control+s");
  await expect(page.getByText("hours.txt is saved")).toBeVisible();
  await page.getByRole("button", { name: /^Language/ }).click();
  await page.getByRole("menuitem", { name: "Русский" }).click();
  await expect(page.locator("html")).toHaveAttribute("lang", "ru");
  await expect(text).toHaveText("always open");
  await text.click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("nearly ");
  await page.keyboard.press("Control+s");
  await expect.poll(() => served(customer, service, "/hours.txt")).toBe("200 nearly always open");
});

test("a folder comes back from a backup, and the safety copy is there", async ({ page, customer }) => {
  const service = await customer.service({ domain: unique("copy") + ".example.com" });
  const write = (content: string) =>
    customer.call("PUT", `/services/${service}/files/content`, { path: "/public_html/docs/page.html", content });
  await write("before");
  await page.goto(`/panel/services/${service}/backups`);
  await page.getByRole("button", { name: "Make a backup" }).first().click();
  await page.getByRole("dialog").getByRole("button", { name: "Make a backup" }).click();
  await expect(page.getByText("Ready", { exact: true })).toBeVisible();
  await write("after");

  await page.goto(`/panel/services/${service}/files/public_html`);
  await page.getByRole("button", { name: "Actions for docs" }).click();
  await page.getByRole("menuitem", { name: "Restore an earlier version" }).click();
  await page.getByRole("button", { name: "Restore", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("textbox", { name: "Files and folders" })).toHaveValue("/public_html/docs");
  await expect(dialog.getByText("a safety copy")).toBeVisible();
  await dialog.getByRole("button", { name: "Restore", exact: true }).click();
  await expect(page.getByRole("link", { name: "Look at the files" })).toBeVisible();
  await expect(page.getByText("Before a restore", { exact: true })).toBeVisible();
  expect(await served(customer, service, "/docs/page.html")).toBe("200 before");
});

test("copying and deleting several files goes on after a failure, and does nothing twice", async ({
  page,
  customer,
  expected,
}) => {
  expected.push("502", "404");
  const service = await customer.service();
  const names = ["a.txt", "b.txt", "c.txt"];
  for (const name of names)
    await customer.call("PUT", `/services/${service}/files/content`, {
      path: `/public_html/set/${name}`,
      content: name,
    });
  await page.goto(`/panel/services/${service}/files/public_html/set`);
  // The second of three fails once.
  let copies = 0;
  await page.route("**/files/copy", (route) =>
    ++copies === 2 ? route.fulfill({ status: 502, json: { error: "panel_unreachable" } }) : route.fallback(),
  );
  const select = async (list: string[]) => {
    for (const name of list) await page.getByRole("checkbox", { name: `Select ${name}` }).check();
  };
  const dialog = page.getByRole("dialog");
  await select(names);
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  const copy = dialog.getByRole("button", { name: "Copy here" });
  await copy.click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await copy.click();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("link", { name: "c (2).txt" })).toBeVisible();
  await expect(page.getByRole("link", { name: /\.txt$/ })).toHaveCount(6);

  // What somebody else has deleted is no obstacle. Those that were copied are still selected.
  await select(["a (2).txt", "b (2).txt"]);
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.route(/files\?path=/, async (route) => {
    if (route.request().method() === "DELETE") await route.fetch(); // its answer is lost: the panel's own call comes too late
    await route.fallback();
  });
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("link", { name: /\.txt$/ })).toHaveCount(1);
});
