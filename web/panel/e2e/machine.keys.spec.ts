import { expect, test, unique } from "./fixture";
import { atPage, begin, somewhere } from "./keys";
import { like } from "./texts";

// The tasks of keyboard.spec.ts that need a Linux machine: mail, databases, PHP, cron, logs, a shell, keys and FTP.
// Run by internal/e2e (TestThePanelOnALinuxMachine).

test("rows 7 and 8, in ru: a mailbox is made and set up, and a database made and opened", async ({
  page,
  customer,
  expected,
}) => {
  test.setTimeout(600_000); // on a machine that may be busy
  expected.push("422", "404"); // what is refused, and the template that the site has not
  const { keys, l, open, domain } = await begin(page, customer, "ru");
  const dialog = page.getByRole("dialog");

  await open("mail");
  await keys.press(page.getByRole("button", { name: l("mail.add") }).first());
  await expect(dialog.getByLabel(l("mail.field.local_part"), { exact: true })).toBeFocused();
  await page.keyboard.type("in fo");
  await page.keyboard.press("Enter");
  await expect(dialog.getByText(l("mail.local.characters"))).toBeVisible();
  await keys.type(dialog.getByLabel(l("mail.field.local_part"), { exact: true }), "info");
  await page.keyboard.press("Enter");

  // Its password, once, and what a phone needs.
  const address = `info@${domain}`;
  const phone = page.getByRole("dialog", { name: address });
  await expect(phone.getByText(l("mail.password.once"))).toBeVisible({ timeout: 180_000 });
  await expect(phone.getByRole("img", { name: l("mail.connect.qr") })).toBeVisible({ timeout: 180_000 });
  await expect(phone.getByText(address, { exact: true }).last()).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await somewhere(page);
  const box = page.getByRole("row").filter({ hasText: address });
  await expect(box.getByText(l("mail.status.active"))).toBeVisible({ timeout: 180_000 });

  await keys.press(page.getByRole("button", { name: l("mail.settings", { address }) }));
  await keys.type(phone.getByLabel(l("mail.field.quota_mb")), "512");
  await keys.type(phone.getByLabel(l("mail.field.forward_to"), { exact: true }), "anna@example.org");
  await keys.press(phone.getByRole("switch", { name: l("mail.field.catch_all") }), { key: "Space" });
  const spam = phone.getByRole("slider");
  await keys.to(spam);
  const before = Number(await spam.getAttribute("aria-valuenow"));
  await page.keyboard.press("ArrowRight");
  await expect(phone.getByText(l("mail.spam.from", { score: before + 1 }))).toBeVisible();
  await keys.press(phone.getByRole("switch", { name: l("mail.away.enabled") }), { key: "Space" });
  await keys.type(phone.getByLabel(l("mail.away.subject")), "Отпуск");
  await keys.type(phone.getByLabel(l("mail.away.body"), { exact: true }), "Отвечу в понедельник.");
  await keys.press(phone.getByRole("button", { name: l("mail.save"), exact: true }));
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole("button", { name: l("mail.settings", { address }) })).toBeFocused();
  await expect(box.getByText("anna@example.org")).toBeVisible();
  await expect(box.getByText(l("mail.catch_all.short"))).toBeVisible();
  await expect(box.getByText(l("mail.away.short"))).toBeVisible();

  await open("databases");
  await keys.press(page.getByRole("button", { name: l("databases.add") }).first());
  await expect(dialog.getByLabel(l("databases.field.name"), { exact: true })).toBeFocused();
  await page.keyboard.type("shop");
  await page.keyboard.press("Enter");
  const row = page.getByRole("row").filter({ hasText: "_shop" });
  await expect(row.getByText(l("databases.status.active"))).toBeVisible({ timeout: 180_000 });
  const name = await row.getByRole("cell").first().innerText();

  // The password is shown once.
  await keys.press(page.getByRole("link", { name: l("databases.password.link") }));
  await atPage(page, l("passwords.title"));
  await keys.press(page.getByRole("button", { name: l("passwords.reveal.of", { name }) }));
  await expect(dialog.getByText(/^[A-Za-z0-9]{24}$/)).toBeVisible();
  await keys.press(dialog.getByRole("button", { name: l("ui.secret.kept") }));
  await expect(dialog).toHaveCount(0);
  await somewhere(page);

  await open("databases");
  const opening = page.waitForEvent("popup");
  await keys.press(page.getByRole("button", { name: l("databases.open.label", { name }) }));
  const adminer = await opening;
  await expect(adminer.getByRole("heading", { name: new RegExp(name) })).toBeVisible();
  await adminer.close();

  // What is deleted asks for its name.
  await keys.press(page.getByRole("button", { name: l("databases.delete", { name }) }));
  await expect(dialog.getByRole("textbox")).toBeFocused();
  await page.keyboard.type(name);
  await page.keyboard.press("Enter");
  await expect(row).toBeHidden({ timeout: 180_000 });
});

test("row 10, in en: PHP, a task, logs, a key, FTP and a shell", async ({ page, customer, expected }) => {
  test.setTimeout(600_000);
  expected.push("422", "404"); // the shell is off at first, and the site has no template
  const { keys, l, open } = await begin(page, customer, "en");
  const dialog = page.getByRole("dialog");

  await open("php");
  await keys.type(page.getByLabel("memory_limit", { exact: true }), "96M");
  await page.keyboard.press("Enter");
  await expect(page.getByText(l("php.saved"))).toBeVisible();
  await expect(page.getByText(l("php.status.active"), { exact: true })).toBeVisible({ timeout: 180_000 });

  await open("cron");
  await keys.press(page.getByRole("button", { name: l("cron.add") }).first());
  await expect(dialog.getByLabel(l("cron.field.command"), { exact: true })).toBeFocused();
  await page.keyboard.type("echo it ran");
  await keys.type(dialog.getByLabel(l("cron.field.expression"), { exact: true }), "* * * * *");
  await page.keyboard.press("Enter");
  const task = page.getByRole("row").filter({ hasText: "echo it ran" });
  await expect(task).toBeVisible();
  const output = page.getByRole("button", { name: l("cron.output"), exact: true });
  await expect(output).toBeVisible({ timeout: 90_000 }); // it runs at the next full minute
  await keys.press(output);
  await expect(dialog.getByText("it ran")).toBeVisible();
  await page.keyboard.press("Escape");
  await keys.press(page.getByRole("switch", { name: l("cron.enabled", { command: "echo it ran" }) }), { key: "Space" });
  await expect(task.getByText(l("cron.off"), { exact: true })).toBeVisible();

  await open("logs");
  await keys.choose(page.getByRole("radiogroup"), l("logs.type.cron"));
  await expect(page.getByRole("cell").filter({ hasText: "echo it ran" }).first()).toBeVisible({ timeout: 180_000 });
  await keys.type(page.getByRole("searchbox", { name: l("logs.filter") }), "nothing like that");
  await page.keyboard.press("Enter");
  await expect(page.getByText(l("logs.none", { q: "nothing like that" }))).toBeVisible();

  await open("access");
  await keys.press(page.getByRole("button", { name: l("access.key.add") }).first());
  await keys.type(
    dialog.getByLabel(l("access.field.public_key"), { exact: true }),
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDmnSisE06+ivFLK90JEeWrwgF49LQ7sQFXFJP312osm anna@laptop",
  );
  await keys.press(dialog.getByRole("button", { name: l("access.key.add") }));
  await expect(page.getByRole("row").filter({ hasText: "anna@laptop" })).toBeVisible();
  await somewhere(page);
  await keys.press(page.getByRole("button", { name: l("access.ftp.add") }).first());
  const user = unique("f").slice(0, 8);
  await keys.type(dialog.getByLabel(l("access.field.username"), { exact: true }), user);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("row").filter({ hasText: user }).getByText(l("access.status.active"))).toBeVisible({
    timeout: 180_000,
  });
  await somewhere(page);
  await keys.press(page.getByRole("switch", { name: l("access.shell") }), { key: "Space", back: true });
  await expect(page.getByText(l("access.shell.on"))).toBeVisible();

  const menu = page.getByRole("navigation", { name: l("app.menu") });
  await keys.press(menu.getByRole("link", { name: l("app.nav.service.terminal"), exact: true }), { back: true });
  await expect(page.getByText(l("terminal.state.open"), { exact: true })).toBeVisible({ timeout: 180_000 });
  await page.keyboard.type("echo $((40+2)) by hand\n");
  await expect(page.locator(".xterm-rows")).toContainText("42 by hand");
  await page.keyboard.press("Control+F6");
  await expect(page.getByRole("switch", { name: l("terminal.reader") })).toBeFocused();

  // Forward, round the page: backward leads into the shell again, to which Tab belongs.
  await keys.press(menu.getByRole("link", { name: l("app.nav.service.access"), exact: true }));
  await atPage(page, l("access.title"));

  // Deleting asks, and the focus stays in the page.
  await keys.press(page.getByRole("button", { name: like(l("access.remove", { name: `§${user}` })) }));
  await keys.press(dialog.getByRole("button", { name: like(l("access.remove", { name: `§${user}` })) }));
  await expect(page.getByRole("row").filter({ hasText: user })).toBeHidden({ timeout: 180_000 });
  await somewhere(page);
});
