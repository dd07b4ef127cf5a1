import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { drag } from "./drag";
import { expect, served, test, unique } from "./fixture";
import { reader } from "./texts";

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

// The rest of row 3.
test("an upload is paused, goes on, and is tried again when the connection failed, in ru", async ({
  page,
  customer,
  expected,
}) => {
  expected.push("ERR_");
  const l = reader("ru");
  const service = await customer.service();
  await customer.call("PATCH", "/me", { locale: "ru" });
  let reached = 0;
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  let broken = false;
  await page.route(/\/files\/upload/, async (route) => {
    reached++;
    if (broken) return route.abort();
    if (reached === 1) {
      await held; // on a slow line
      return route.abort().catch(() => {});
    }
    return route.continue();
  });
  await page.goto(`/panel/services/${service}/files/public_html`);
  const pick = (name: string) =>
    page
      .locator("input[type=file]")
      .first()
      .setInputFiles({ name, mimeType: "text/html", buffer: Buffer.from(`<p>${name}</p>`) });
  await pick("slow.html");
  const tray = page.getByRole("region", { name: l("uploads.title") });
  await tray.getByRole("button", { name: l("uploads.pause_all") }).click();
  await expect(tray.getByRole("status")).toHaveText(l("uploads.paused", { count: 1 }));
  release();
  await tray.getByRole("button", { name: l("uploads.resume_all") }).click();
  await expect(tray.getByRole("status")).toHaveText(l("uploads.done", { count: 1 }));
  expect(await served(customer, service, "/slow.html")).toBe("200 <p>slow.html</p>");

  broken = true;
  await pick("again.html");
  await expect(tray.getByRole("status")).toHaveText(l("uploads.failed", { count: 1 }));
  broken = false;
  await tray.getByRole("button", { name: l("uploads.retry_all") }).click();
  await expect(page.getByRole("link", { name: "again.html" })).toBeVisible();
  expect(await served(customer, service, "/again.html")).toBe("200 <p>again.html</p>");
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

test("permissions of one file and of several are set, also by the keyboard and on a phone", async ({
  page,
  customer,
}) => {
  const service = await customer.service();
  for (const path of ["set/a.txt", "set/b.txt", "set/in/c.txt"])
    await customer.call("PUT", `/services/${service}/files/content`, { path: `/public_html/${path}`, content: path });
  const modes = async (path: string) => {
    const { data } = await customer.call<{ data: { name: string; mode: string }[] }>(
      "GET",
      `/services/${service}/files?path=${path}`,
    );
    return data.map(({ name, mode }) => `${name} ${mode}`).join(", ");
  };
  await page.goto(`/panel/services/${service}/files/public_html/set`);
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Permissions of a.txt: 0644" }).press("Enter");
  const number = dialog.getByLabel("In octal");
  await expect(number).toBeFocused();
  await expect(number).toHaveValue("644");
  await dialog.getByRole("checkbox", { name: "Group: Write" }).press("Space");
  await dialog.getByRole("checkbox", { name: "Others: Read" }).press("Space");
  await expect(number).toHaveValue("660");
  await expect(dialog.getByRole("checkbox", { name: "Others: Write" })).toBeDisabled();
  await number.fill("666");
  await expect(dialog.getByText("Others than the owner and the group may not write")).toBeVisible();
  await expect(dialog.getByRole("button", { name: "Set permissions" })).toBeDisabled();
  await number.fill("640");
  await number.press("Enter");
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("button", { name: "Permissions of a.txt: 0640" })).toBeVisible();

  // A folder and a file together, with what is in the folder, on a phone.
  await page.setViewportSize({ width: 390, height: 844 });
  for (const name of ["in", "b.txt"]) await page.getByRole("checkbox", { name: `Select ${name}` }).check();
  await page.getByRole("button", { name: "Permissions", exact: true }).click();
  await number.fill("600");
  await dialog.getByLabel("Also everything in the folder").check();
  await expect(dialog.getByText("Files get 600, folders 700.")).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await dialog.getByRole("button", { name: "Set permissions" }).click();
  await expect(dialog).toBeHidden();
  expect(await modes("/public_html/set")).toBe("in 0700, a.txt 0640, b.txt 0600");
  expect(await modes("/public_html/set/in")).toBe("c.txt 0600");

  // The folder of the site keeps its own.
  await page.goto(`/panel/services/${service}/files/`);
  await page.getByRole("button", { name: "Actions for public_html" }).click();
  await page.getByRole("menuitem", { name: "Permissions" }).click();
  await expect(dialog.getByLabel("Also everything in the folder")).toBeDisabled();
  await number.fill("644");
  await dialog.getByRole("button", { name: "Set permissions" }).click();
  await expect(dialog).toBeHidden();
  expect(await modes("/public_html/set/in")).toBe("c.txt 0644");
});

test("a folder of 3,000 files is shown to its end", async ({ page, customer }) => {
  test.setTimeout(300_000); // 60 calls for the other order, on a machine that may be busy
  const service = await customer.service();
  const archive = await emptyFiles(Array.from({ length: 3000 }, (_, n) => `${String(n).padStart(4, "0")}.txt`));
  await customer.call("PUT", `/services/${service}/files/content`, {
    path: "/many.tar.gz",
    content: archive.toString("base64"),
    encoding: "base64",
  });
  await customer.call("POST", `/services/${service}/files/archive`, {
    operation: "extract",
    paths: ["/many.tar.gz"],
    target: "/many",
  });
  let reads = 0;
  page.on("request", (request) => {
    if (request.url().includes("/files?path=")) reads++;
  });
  await page.goto(`/panel/services/${service}/files/many`);
  await expect(page.getByText("3,000 entries")).toBeVisible();
  await expect(page.getByText("0099.txt")).toBeVisible();
  expect(reads).toBeLessThan(8);
  await page.getByRole("navigation", { name: "Pages of the list" }).getByRole("button", { name: "30" }).click();
  await expect(page.getByText("2999.txt")).toBeVisible();
  await expect(page.getByText("2900.txt")).toBeVisible();
  await page.getByRole("checkbox", { name: "Select everything on this page" }).check();
  await expect(page.getByText("100 selected")).toBeVisible();
  await page.getByRole("button", { name: "Clear selection" }).click();
  // In another order all are read, and sorted.
  await page.getByRole("button", { name: "Name", exact: true }).click();
  await expect(page.getByRole("row").nth(1)).toContainText("2999.txt", { timeout: 150_000 });
});

/** An archive of empty files. */
async function emptyFiles(names: string[]): Promise<Buffer> {
  const here = await mkdtemp(join(tmpdir(), "stead-many-"));
  try {
    await Promise.all(names.map((name) => writeFile(join(here, name), "")));
    await promisify(execFile)("tar", ["-czf", join(here, "all.tgz"), ...names], { cwd: here });
    return await readFile(join(here, "all.tgz"));
  } finally {
    await rm(here, { recursive: true });
  }
}
