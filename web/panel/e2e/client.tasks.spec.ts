import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { drag } from "./drag";
import { expect, test } from "./fixture";
import { like, reader } from "./texts";
import { appoint, soldInSandbox, visitor } from "./visits";

// Row 22: a reseller's client does the tasks 3 to 11, by mouse, in uz. The service is of the sandbox, whose simulated server
// has mail, databases, PHP, tasks, FTP and certificates.
test("a reseller's client does the tasks of a customer, in uz", async ({ page, customer, browser }) => {
  test.setTimeout(600_000);
  await appoint(customer);
  const { id: service, domain, link } = await soldInSandbox(customer);
  await page.goto("about:blank"); // the client is alone
  const here = await mkdtemp(join(tmpdir(), "stead-client-"));
  const client = await visitor(browser, link, { width: 1280, locale: "uz-UZ" });
  const problems: string[] = [];
  client.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  client.on("pageerror", ({ message }) => problems.push(message));
  const l = reader("uz");
  const exact = true;
  const dialog = client.getByRole("dialog");
  const button = (name: string) => client.getByRole("button", { name, exact });
  const ask = (name: string) => dialog.getByRole("button", { name, exact });
  const row = (text: string) => client.getByRole("row").filter({ hasText: text });
  // A page is looked at when it has been used, for then it is there as a whole.
  const nothingOfOurs = () => expect(client.getByText("Stead")).toHaveCount(0);
  const open = async (name: string) => {
    await nothingOfOurs();
    await client
      .getByRole("navigation", { name: l("app.menu") })
      .getByRole("link", { name: l(`app.nav.service.${name}`), exact })
      .click();
    await expect(client).toHaveURL(new RegExp(`/client/panel/services/${service}/${name}`));
    await expect(client.getByRole("heading", { level: 1 })).toBeFocused();
  };
  try {
    // 3: a folder is dragged there, and a template.
    await mkdir(join(here, "shop"));
    await writeFile(join(here, "shop", "hours.html"), "<p>9-18</p>");
    await open("files");
    await client.getByRole("link", { name: "public_html", exact }).click();
    await drag(client, [join(here, "shop")], l("files.drop", { name: "public_html" }));
    await client.getByRole("link", { name: "shop", exact }).click();
    await expect(client.getByRole("link", { name: "hours.html" })).toBeVisible();
    await open("templates");
    await client
      .getByRole("button", { name: like(l("templates.install.name", { name: "§" })) })
      .first()
      .click();
    await ask(l("templates.install")).click();
    await expect(client.getByRole("link", { name: l("templates.look") })).toBeVisible();

    // 11: a backup, to which the edit goes back.
    await open("backups");
    await client
      .locator("#page")
      .getByRole("button", { name: l("backups.make") })
      .first()
      .click();
    await ask(l("backups.make")).click();
    await expect(client.getByText(l("backups.status.completed"), { exact })).toBeVisible();

    // 4: a file is edited, and comes back.
    await client.goto(`/client/panel/services/${service}/edit/public_html/shop/hours.html`);
    const text = client.getByRole("textbox", { name: l("files.editor.label", { name: "hours.html" }) });
    await text.fill("<p>closed</p>");
    await client.keyboard.press("ControlOrMeta+s");
    await expect(client.getByText(l("files.editor.saved", { name: "hours.html" }))).toBeVisible();
    await open("backups");
    await button(l("backups.restore")).click();
    await dialog.getByLabel(l("backups.restore.paths")).check();
    await dialog.getByLabel(l("backups.field.paths"), { exact }).fill("/public_html/shop");
    await ask(l("backups.restore")).click();
    await expect(client.getByRole("link", { name: l("backups.restore.look") })).toBeVisible();
    const archive = client.waitForEvent("download");
    await client.getByLabel(l("backups.download")).first().click();
    expect((await archive).suggestedFilename()).toMatch(/\.(zip|tar|tar\.gz|tgz)$/);
    await client.goto(`/client/panel/services/${service}/edit/public_html/shop/hours.html`);
    await expect(text).toHaveText("<p>9-18</p>");

    // 5 and 6: a subdomain; a sandbox has no records, and says so.
    await open("domains");
    await button(l("hosteddomains.add")).first().click();
    await dialog.getByRole("radio", { name: l("hosteddomains.add.subdomain") }).check();
    await dialog.getByLabel(l("hosteddomains.field.name"), { exact }).fill(`blog.${domain}`);
    await ask(l("hosteddomains.add")).click();
    await expect(client.getByRole("dialog", { name: `blog.${domain}` })).toContainText(l("hosteddomains.dns.title"));
    await client.keyboard.press("Escape");
    await expect(row(`blog.${domain}`)).toContainText(l("hosteddomains.status.active"));
    await open("dns");
    await expect(client.getByRole("status").filter({ hasText: /./ })).toBeVisible(); // nobody asks for names of a sandbox

    // 7: a mailbox, its settings for a phone, what it does besides.
    await open("mail");
    await button(l("mail.add")).first().click();
    await dialog.getByLabel(l("mail.field.local_part"), { exact }).fill("info");
    await ask(l("mail.add")).click();
    const address = `info@${domain}`;
    const box = client.getByRole("dialog", { name: address });
    await expect(box.getByText(l("mail.password.once"))).toBeVisible();
    await expect(box.getByRole("img", { name: l("mail.connect.qr") })).toBeVisible();
    await client.keyboard.press("Escape");
    await button(l("mail.settings", { address })).click();
    await box.getByLabel(l("mail.field.quota_mb")).fill("512");
    await box.getByLabel(l("mail.field.forward_to"), { exact }).fill("anna@example.org");
    await box.getByRole("switch", { name: l("mail.field.catch_all") }).click();
    await box.getByRole("switch", { name: l("mail.away.enabled") }).click();
    await box.getByLabel(l("mail.away.subject"), { exact }).fill("Taʼtil");
    await box.getByLabel(l("mail.away.body"), { exact }).fill("Dushanba kuni javob beraman.");
    await box.getByRole("button", { name: l("mail.save"), exact }).click();
    await expect(row(address)).toContainText("anna@example.org");
    await expect(row(address)).toContainText(l("mail.catch_all.short"));
    await expect(row(address)).toContainText(l("mail.away.short"));

    // 8: a database; its password is shown once.
    await open("databases");
    await button(l("databases.add")).first().click();
    await dialog.getByLabel(l("databases.field.name"), { exact }).fill("shop");
    await ask(l("databases.add")).click();
    await expect(row("_shop")).toContainText(l("databases.status.active"));
    const name = await row("_shop").getByRole("cell").first().innerText();
    await client.getByRole("link", { name: l("databases.password.link") }).click();
    await button(l("passwords.reveal.of", { name })).click();
    await expect(dialog.getByText(/^[A-Za-z0-9]{24}$/)).toBeVisible();
    await dialog.getByRole("button", { name: l("ui.secret.kept") }).click();
    await expect(client.getByText(/^[A-Za-z0-9]{24}$/)).toHaveCount(0);

    // 9: the certificates say where each name stands.
    await open("certificates");
    await expect(row(domain).first()).toBeVisible();

    // 10: PHP, a task, a key, FTP, the logs.
    await open("php");
    await client.getByLabel("memory_limit", { exact }).fill("96M");
    await button(l("php.save")).click();
    await expect(client.getByText(l("php.saved"))).toBeVisible();
    await expect(client.getByText(l("php.status.active"), { exact })).toBeVisible();
    await open("cron");
    await button(l("cron.add")).first().click();
    await dialog.getByLabel(l("cron.field.command"), { exact }).fill("php cron.php");
    await dialog.getByLabel(l("cron.field.often"), { exact }).selectOption(l("cron.often.0 * * * *"));
    await ask(l("cron.save")).click();
    await expect(row("php cron.php")).toContainText(l("cron.status.active"));
    await open("access");
    await button(l("access.key.add")).first().click();
    await dialog
      .getByLabel(l("access.field.public_key"), { exact })
      .fill("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDmnSisE06+ivFLK90JEeWrwgF49LQ7sQFXFJP312osm anna@laptop");
    await ask(l("access.key.add")).click();
    await expect(row("anna@laptop")).toBeVisible();
    await button(l("access.ftp.add")).first().click();
    await dialog.getByLabel(l("access.field.username"), { exact }).fill("anna");
    await dialog.getByLabel(l("access.field.home"), { exact }).fill("/public_html");
    await ask(l("access.ftp.add")).click();
    await expect(row("_anna")).toContainText(l("access.status.active"));
    await open("logs");
    await expect(client.getByRole("radio", { name: l("logs.type.error") })).toBeAttached();
    await nothingOfOurs();
    // Of a template that is not installed the answer is 404, and of records, which a sandbox has not, 422.
    expect(problems.filter((problem) => !/status of (404|422)/.test(problem))).toEqual([]);
  } catch (failure) {
    throw new Error(`${String(failure)}\n${await client.locator("body").ariaSnapshot()}`);
  } finally {
    await client.context().close();
    await rm(here, { recursive: true });
  }
});
