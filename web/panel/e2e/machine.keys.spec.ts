import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { drag } from "./drag";
import { expect, test, unique } from "./fixture";
import { begin, somewhere } from "./keys";
import { like } from "./texts";

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
  test.setTimeout(300_000); // on a machine that may be busy
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
    await Promise.all([uploaded, expect(row.getByText("Active")).toBeVisible({ timeout: 60_000 })]);
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
    await expect(site.getByRole("heading", { name: "Success!" })).toBeVisible();
    await site.goto(`http://${domain}/`);
    await expect(site.getByText("Hello world!").first()).toBeVisible();

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

// Rows 7, 8 and 10 of the tasks by the keyboard alone; the others are in keyboard.spec.ts.
test("a mailbox, a database, PHP, a task, a key, an FTP account, logs and the terminal, by the keyboard, in en", async ({
  page,
  customer,
  expected,
}) => {
  test.setTimeout(300_000); // on a machine that may be busy
  expected.push("422", "404"); // the shell is off at first, and nothing was visited
  const { keys, l, open, domain } = await begin(page, customer, "en");
  const dialog = page.getByRole("dialog");
  const row = (text: string) => page.getByRole("row").filter({ hasText: text });

  await open("mail");
  await keys.press(page.getByRole("button", { name: l("mail.add") }).first());
  await keys.type(dialog.getByLabel(l("mail.field.local_part")), "info");
  await keys.type(dialog.getByLabel(l("mail.field.quota_mb")), "512");
  await keys.press(dialog.getByRole("button", { name: l("mail.add") }));
  await expect(dialog.getByText(l("mail.password.once"))).toBeVisible();
  await expect(dialog.getByRole("img", { name: l("mail.connect.qr") })).toBeVisible({ timeout: 60_000 });
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await somewhere(page);
  await keys.press(page.getByRole("button", { name: l("mail.settings", { address: `info@${domain}` }) }));
  await keys.type(dialog.getByLabel(l("mail.field.forward_to")), "anna@example.net");
  await keys.press(dialog.getByLabel(l("mail.field.catch_all")), { key: "Space" });
  await keys.to(dialog.getByRole("slider"));
  await page.keyboard.press("ArrowRight");
  await keys.press(dialog.getByLabel(l("mail.away.enabled")), { key: "Space" });
  await keys.type(dialog.getByLabel(l("mail.away.body")), "I am away.");
  await keys.press(dialog.getByRole("button", { name: l("mail.save") }));
  await expect(row(`info@${domain}`)).toContainText("anna@example.net");
  await expect(row(`info@${domain}`)).toContainText(l("mail.away.short"));

  await open("databases");
  await keys.press(page.getByRole("button", { name: l("databases.add") }).first());
  await keys.type(dialog.getByLabel(l("databases.field.name")), "shop");
  await keys.to(dialog.getByRole("combobox", { name: l("databases.field.engine") }));
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await keys.press(dialog.getByRole("button", { name: l("databases.add") }));
  await expect(row("_shop")).toContainText(l("databases.engine.postgresql"));
  await expect(row("_shop")).toContainText(l("databases.status.active"), { timeout: 60_000 });
  await keys.press(page.getByRole("link", { name: l("databases.password.link") }));
  await keys.press(page.getByRole("button", { name: like(l("passwords.reveal.of", { name: "§" })) }));
  await expect(dialog.getByText(/^[A-Za-z0-9]{24}$/)).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(dialog).toHaveCount(0);
  await somewhere(page);
  await open("databases");
  await keys.press(page.getByRole("button", { name: like(l("databases.delete", { name: "§" })) }));
  await page.keyboard.type((await row("_shop").getByRole("cell").first().innerText()).trim());
  await page.keyboard.press("Enter");
  await expect(row("_shop")).toBeHidden({ timeout: 60_000 });
  await somewhere(page);

  await open("php");
  await keys.type(page.getByLabel("memory_limit"), "192");
  await keys.press(page.getByRole("button", { name: l("php.save") }));
  await expect(page.getByText(l("php.saved"))).toBeVisible();
  await expect(page.getByText(l("php.status.active"), { exact: true })).toBeVisible({ timeout: 60_000 });

  await open("cron");
  await keys.press(page.getByRole("button", { name: l("cron.add") }).first());
  await keys.type(dialog.getByLabel(l("cron.field.command")), "date");
  await keys.pick(dialog.getByLabel(l("cron.field.often")), l("cron.often.own"));
  await keys.type(dialog.getByLabel(l("cron.field.expression")), "* * * * *");
  await keys.press(dialog.getByRole("button", { name: l("cron.save") }));
  await expect(row("date")).toContainText(l("cron.status.active"), { timeout: 60_000 });

  await open("access");
  await keys.press(page.getByRole("button", { name: l("access.key.add") }).first());
  const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl my laptop";
  await keys.type(dialog.getByLabel(l("access.field.public_key")), key);
  await keys.press(dialog.getByRole("button", { name: l("access.key.add") }));
  await expect(row("my laptop")).toBeVisible();
  await keys.press(page.getByRole("button", { name: l("access.ftp.add") }).first());
  await keys.type(dialog.getByLabel(l("access.field.username")), "anna");
  await keys.press(dialog.getByRole("button", { name: l("access.ftp.add") }));
  await expect(row("_anna")).toContainText(l("access.status.active"), { timeout: 60_000 });

  // The shell has Tab for itself: a key of its own leads out of the terminal.
  await open("terminal");
  await keys.press(page.getByRole("button", { name: l("terminal.on") }));
  await expect(page.getByText(l("terminal.state.open"))).toBeVisible();
  await page.keyboard.type("ls -d ~/public_h");
  await page.keyboard.press("Tab");
  await page.keyboard.type(" && echo $((40+2))\n");
  await expect(page.locator(".xterm-rows")).toContainText(/public_html\/?\s*42/);
  await page.keyboard.press("Control+F6");
  await expect(page.getByLabel(l("terminal.reader"))).toBeFocused();

  // The task has run meanwhile, or runs within its minute; its output and its line are there.
  await open("cron");
  await expect(row("date").getByText(/s$/).first()).toBeVisible({ timeout: 90_000 });
  await keys.press(page.getByRole("button", { name: l("cron.output") }));
  await expect(dialog.getByText(/20\d\d/).first()).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await open("logs");
  await keys.choose(page.getByRole("radiogroup").first(), l("logs.type.cron"));
  await expect(page.getByText("date").first()).toBeVisible();
  await keys.type(page.getByLabel(l("logs.filter")), "nothing like this");
  await expect(page.getByText(l("logs.none", { q: "nothing like this" }))).toBeVisible();
});
