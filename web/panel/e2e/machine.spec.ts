import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { drag } from "./drag";
import { expect, test, unique } from "./fixture";

// Run by internal/e2e (TestThePanelOnALinuxMachine) against a server whose node is a Linux machine. The browser finds the
// customers' sites on it, at the port of its web server.
test.use({
  launchOptions: async ({ launchOptions }, provide) => {
    const sites = `MAP *.example.com 127.0.0.1:${process.env.PANEL_SITES}`;
    const rules = (one: string) => one.replace("--host-resolver-rules=", `--host-resolver-rules=${sites}, `);
    await provide({ ...launchOptions, args: launchOptions.args?.map(rules) });
  },
});

test("WordPress is dragged into the panel, installed, broken in the terminal, and comes back from a backup", async ({
  page,
  customer,
  expected,
}) => {
  test.setTimeout(600_000); // on a machine that may be busy
  expected.push("422"); // the shell is off at first
  const here = await mkdtemp(join(tmpdir(), "stead-wordpress-"));
  try {
    // Debian's WordPress without Debian's own configuration; what its links lead to, as its makers pack it.
    await cp("/usr/share/wordpress", here, {
      recursive: true,
      dereference: true,
      filter: (path) => !path.endsWith("/wp-config.php") && !path.endsWith("/.htaccess"),
    });
    const domain = unique("blog") + ".example.com";
    const service = await customer.service({ domain });
    const site = await page.context().newPage();

    await page.goto(`/panel/services/${service}/files/public_html`);
    await expect(page.getByRole("heading", { level: 1, name: "Files" })).toBeVisible();
    await drag(
      page,
      (await readdir(here)).map((name) => join(here, name)),
    );

    await expect(page.getByText(/^Uploading \d/)).toBeVisible();

    // The upload goes on while the database is made; what it says at the end is gone after some seconds.
    const uploaded = expect(page.getByText(/files uploaded/)).toBeVisible({ timeout: 200_000 });
    await page.getByRole("link", { name: "Databases" }).click();
    await page.getByRole("button", { name: "New database" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("blog");
    await dialog.getByRole("button", { name: "New database" }).click();
    const row = page.getByRole("row").filter({ hasText: "_blog" });
    await Promise.all([uploaded, expect(row.getByText("Active")).toBeVisible({ timeout: 180_000 })]);
    const name = await row.getByRole("cell").first().innerText();
    const host = /127\.0\.0\.1:\d+/.exec(await row.innerText())?.[0] ?? "";

    // The password is shown once.
    await page.getByRole("link", { name: "passwords of this service" }).click();
    await page.getByRole("button", { name: /^Show once/ }).click();
    const shown = page.getByRole("dialog", { name: "The password" });
    const password = await shown.getByText(/^[A-Za-z0-9]{24}$/).innerText();
    await shown.getByRole("button", { name: "Done" }).click();

    // WordPress's own pages, as the machine serves them.
    await site.goto(`http://${domain}/wp-admin/setup-config.php?step=1`);
    for (const [field, value] of Object.entries({ dbname: name, uname: name, pwd: password, dbhost: host }))
      await site.locator(`[name=${field}]`).fill(value);
    await site.locator("[name=submit]").click();
    await site.getByRole("link", { name: "Run the installation" }).click();
    await site.locator("#weblog_title").fill("A blog of Anna");
    await site.locator("#user_login").fill("anna");
    await site.locator("#pass1").fill("correct horse battery staple");
    await site.locator("#admin_email").fill(customer.email);
    await site.getByRole("button", { name: "Install WordPress" }).click();
    await expect(site.getByRole("heading", { name: "Success!" })).toBeVisible({ timeout: 180_000 });
    await site.goto(`http://${domain}/`);
    await expect(site.getByText("Hello world!").first()).toBeVisible();

    // The database opens in a page of its own, signed in, and once.
    await page.goto(`/panel/services/${service}/databases`);
    const opening = page.waitForEvent("popup");
    await page.getByRole("button", { name: `Open ${name}` }).click();
    const adminer = await opening;
    await expect(adminer.getByRole("link", { name: "wp_posts" }).first()).toBeVisible();
    await adminer.getByRole("link", { name: "wp_posts" }).first().click();
    await adminer.getByRole("link", { name: "Select data" }).click();
    await expect(adminer.getByText("Hello world!").first()).toBeVisible();
    await adminer.getByRole("button", { name: "Logout" }).click();
    await expect(adminer.getByText("The database is closed.")).toBeVisible();
    await adminer.close();

    await page.goto(`/panel/services/${service}/backups`);
    await page.getByRole("button", { name: "Make a backup" }).first().click();
    await dialog.getByRole("button", { name: "Make a backup" }).click();
    await expect(page.getByText("Ready", { exact: true })).toBeVisible({ timeout: 90_000 });

    // The shell is the account's own. What it destroys takes the site away.
    await page.goto(`/panel/services/${service}/terminal`);
    await page.getByRole("button", { name: "Switch the shell on" }).click();
    await expect(page.getByText("Connected")).toBeVisible();
    await page.keyboard.type("cd ~/public_html; rm -r wp-includes; echo $(id -u) removed $((40+2))\n");
    await expect(page.locator(".xterm-rows")).toContainText(/[2-5]\d{4} removed 42/);
    await site.goto(`http://${domain}/?broken=1`).catch(() => null); // an answer without a page

    // The log shows that, and then a visit at once.
    await page.goto(`/panel/services/${service}/logs`);
    await expect(page.getByRole("row").filter({ hasText: "broken=1" })).toContainText("500");
    await expect(page.getByText("Live", { exact: true })).toBeVisible();
    await site.goto(`http://${domain}/readme.html`);
    await expect(page.getByRole("cell").filter({ hasText: "/readme.html" })).toBeVisible();

    await page.goto(`/panel/services/${service}/backups`);
    await page.getByRole("button", { name: "Restore", exact: true }).click();
    await dialog.getByRole("radio", { name: "Single files and folders" }).check();
    await dialog.getByRole("textbox", { name: "Files and folders" }).fill("/public_html/wp-includes");
    await dialog.getByRole("button", { name: "Restore", exact: true }).click();
    await expect(page.getByRole("link", { name: "Look at the files" })).toBeVisible({ timeout: 90_000 });
    await site.goto(`http://${domain}/`);
    await expect(site.getByText("Hello world!").first()).toBeVisible();
  } finally {
    await rm(here, { recursive: true });
  }
});
