import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Locator, Page } from "@playwright/test";

import { expect, served, test, unique } from "./fixture";
import { atPage, begin, Keys, somewhere } from "./keys";
import { like, reader } from "./texts";

// The first ten tasks of the table in docs/panel.md by the keyboard alone: from the focus that a page gives, by Tab, arrows,
// Enter and Escape. What needs databases, PHP and shells is in machine.keys.spec.ts.

test.describe("a visitor", () => {
  test.use({ locale: "uz-UZ" });

  test("rows 1 and 2, in uz: a visitor compares plans, registers, orders, pays and opens the site", async ({
    page,
  }) => {
    const keys = new Keys(page);
    const l = reader("uz");
    await page.goto("/");
    // The first stop leads past the menu.
    await page.keyboard.press("Tab");
    await expect(page.locator(":focus")).toHaveAttribute("href", "#main");
    await page.keyboard.press("Enter");
    const compare = page.locator("details.compare").first();
    await keys.press(compare.locator("summary"));
    await expect(compare.getByRole("table")).toBeVisible();
    await keys.press(page.getByRole("link", { name: "Start tarifiga buyurtma", exact: true }), { back: true });

    await page.waitForURL(/\/register/);
    await keys.type(page.locator("[name=name]"), "Anna Karimova");
    await keys.type(page.locator("[name=email]"), unique("anna") + "@example.com");
    await keys.type(page.locator("[name=password]"), "correct horse battery staple 7");
    await page.keyboard.press("Enter");

    await atPage(page, l("order.title"));
    const domain = unique("dokon") + ".example.com";
    await keys.type(page.getByLabel(l("order.domain.field")), domain);
    await keys.choose(page.getByRole("radiogroup", { name: l("order.step.plan") }), /Biznes/);
    await keys.press(page.getByRole("button", { name: l("order.compare"), exact: true }));
    await expect(page.getByRole("rowheader", { name: l("order.limit.sla") })).toBeVisible();
    await keys.choose(
      page.getByRole("radiogroup", { name: l("order.step.period") }),
      new RegExp("^" + monthsOf(l, 12)),
    );
    await expect(page.getByText(like(l("order.later", { count: 12, price: "§" }))).first()).toBeVisible();
    await keys.choose(page.getByRole("radiogroup", { name: l("order.step.plan") }), /Start/);
    await keys.press(page.getByRole("button", { name: l("order.continue") }));

    await expect(page.getByRole("heading", { level: 1, name: like(l("order.order", { number: "§" })) })).toBeFocused();
    await keys.press(page.getByRole("button", { name: /\$/ }));
    await page.waitForURL(/\/pay\//);
    await keys.press(page.getByRole("button").first());
    await page.waitForURL(/\/panel\/orders\//);
    await keys.press(page.getByRole("button", { name: like(l("order.pay.now", { amount: "§" })) }));
    await expect(page.getByText(l("order.completed"))).toBeVisible({ timeout: 60_000 });
    await keys.press(page.getByRole("link", { name: l("order.open_service") }));
    await atPage(page, domain);
  });
});

test("rows 3 and 4, in ru: files are uploaded, a template is used, a file is edited and taken back", async ({
  page,
  customer,
  expected,
}) => {
  expected.push("422", "404"); // what this server does not have
  const { keys, l, service, open } = await begin(page, customer, "ru");
  const here = await mkdtemp(join(tmpdir(), "stead-keys-"));
  try {
    await mkdir(join(here, "shop"));
    await writeFile(join(here, "shop", "index.html"), "<h1>The shop</h1>");
    await writeFile(join(here, "hello.html"), "<h1>Hello</h1>");

    await open("files");
    await keys.press(page.getByRole("link", { name: "public_html", exact: true }));
    await expect(page.getByRole("navigation", { name: l("files.path") }).getByText("public_html")).toBeVisible();
    await upload(
      page,
      keys,
      page.getByRole("button", { name: l("files.upload"), exact: true }),
      join(here, "hello.html"),
    );
    await expect(page.getByRole("link", { name: "hello.html" })).toBeVisible();
    await upload(page, keys, page.getByRole("button", { name: l("files.upload.folder") }), join(here, "shop"));
    await expect(page.getByRole("link", { name: "shop" })).toBeVisible();
    expect(await served(customer, service, "/shop/")).toBe("200 <h1>The shop</h1>");
  } finally {
    await rm(here, { recursive: true });
  }

  await open("templates");
  await keys.press(page.getByRole("button", { name: like(l("templates.install.name", { name: "§" })) }).first());
  const dialog = page.getByRole("dialog");
  await keys.press(dialog.getByRole("button", { name: l("templates.install"), exact: true }));
  await keys.press(page.getByRole("link", { name: l("templates.look") }));
  await atPage(page, l("files.title"));

  // A backup, an edit, and the file as it was.
  await open("backups");
  await keys.press(page.getByRole("button", { name: l("backups.make") }).first());
  await keys.press(dialog.getByRole("button", { name: l("backups.make") }));
  await expect(page.getByText(l("backups.status.completed"), { exact: true })).toBeVisible();
  await open("files");
  await keys.press(page.getByRole("link", { name: "public_html", exact: true }));
  await keys.press(page.getByRole("link", { name: "hello.html" }));
  const text = page.getByRole("textbox", { name: l("files.editor.label", { name: "hello.html" }) });
  await expect(text).toBeFocused();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("<b>Closed"); // the editor closes it

  await page.keyboard.press("ControlOrMeta+s");
  await expect(page.getByText(l("files.editor.saved", { name: "hello.html" }))).toBeVisible();
  expect(await served(customer, service, "/hello.html")).toBe("200 <b>Closed</b>");
  // Find, and out of the text: Tab indents in it.
  await page.keyboard.press("ControlOrMeta+f");
  await page.keyboard.type("Closed");
  await page.keyboard.press("Escape");
  await expect(text).toBeFocused();
  await page.keyboard.press("Escape");
  await keys.press(page.getByRole("navigation", { name: l("files.path") }).getByRole("link", { name: "public_html" }), {
    back: true,
  });

  const actions = page.getByRole("button", { name: l("files.actions", { name: "hello.html" }) });
  await keys.press(actions);
  await keys.menu(l("files.earlier"));
  await atPage(page, l("backups.title"));
  await keys.press(page.getByRole("button", { name: l("backups.restore"), exact: true }));
  await expect(dialog.getByLabel(l("backups.field.paths"), { exact: true })).toHaveValue("/public_html/hello.html");
  await keys.press(dialog.getByRole("button", { name: l("backups.restore"), exact: true }));
  await keys.press(page.getByRole("link", { name: l("backups.restore.look") }));
  expect(await served(customer, service, "/hello.html")).toBe("200 <h1>Hello</h1>");

  // What is deleted asks first, and the focus stays in the list.
  await atPage(page, l("files.title"));
  await keys.press(page.getByRole("link", { name: "public_html", exact: true }));
  await keys.press(actions);
  await keys.menu(l("files.delete"));
  await keys.press(dialog.getByRole("button", { name: l("files.delete") }));
  await expect(page.getByRole("link", { name: "hello.html" })).toBeHidden();
  await somewhere(page);
});

test("rows 5, 6 and 9, in uz: domains, DNS records and certificates", async ({ page, customer, expected }) => {
  expected.push("422", "404"); // what this server does not have
  const { keys, l, open, domain } = await begin(page, customer, "uz");
  const dialog = page.getByRole("dialog");

  await open("domains");
  const add = page.getByRole("button", { name: l("hosteddomains.add") });
  for (const [kind, name] of [
    ["subdomain", `blog.${domain}`],
    ["alias", unique("nom") + ".example.net"],
    ["redirect", `old.${domain}`],
  ] as const) {
    await keys.press(add, { back: kind !== "subdomain" });
    await keys.choose(
      dialog.getByRole("radiogroup", { name: l("hosteddomains.field.kind") }),
      l(`hosteddomains.add.${kind}`),
    );
    await keys.type(dialog.getByLabel(l("hosteddomains.field.name"), { exact: true }), name);
    if (kind === "redirect") {
      await keys.type(
        dialog.getByLabel(l("hosteddomains.field.redirect_to"), { exact: true }),
        `https://${domain}/new`,
      );
    }
    await page.keyboard.press("Enter");
    // Its settings open, with what the DNS shows. Closing them leads back to where the person was.
    await expect(page.getByRole("dialog", { name })).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(dialog).toHaveCount(0);
    await expect(add).toBeFocused();
    await expect(page.getByRole("row").filter({ hasText: name })).toBeVisible();
  }
  await keys.press(page.getByRole("button", { name: l("hosteddomains.remove", { name: `old.${domain}` }) }));
  await keys.press(dialog.getByRole("button", { name: l("hosteddomains.remove", { name: `old.${domain}` }) }));
  await expect(page.getByRole("row").filter({ hasText: `old.${domain}` })).toBeHidden();
  await somewhere(page);

  await open("dns");
  await keys.press(page.getByRole("button", { name: l("dns.add"), exact: true }).first());
  const fresh = page.getByRole("form", { name: l("dns.add") });
  await keys.pick(fresh.getByLabel(l("dns.field.type")), "TXT");
  await keys.type(fresh.getByLabel(l("dns.field.name")), "note");
  await keys.type(fresh.getByLabel(l("dns.field.value")), "hello");
  await page.keyboard.press("Enter");
  const note = page.getByRole("row").filter({ hasText: "hello" });
  await expect(note).toBeVisible();
  await somewhere(page);
  await keys.press(page.getByRole("button", { name: l("dns.edit", { name: "note", type: "TXT" }) }));
  const edit = page.getByRole("form", { name: l("dns.edit", { name: "note", type: "TXT" }) });
  await keys.type(edit.getByLabel(l("dns.field.value")), "hello again");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("row").filter({ hasText: "hello again" })).toBeVisible();
  await expect(page.getByRole("button", { name: l("dns.edit", { name: "note", type: "TXT" }) })).toBeFocused();
  await keys.press(page.getByRole("button", { name: l("dns.remove", { name: "note", type: "TXT" }) }));
  await expect(note).toBeHidden();
  await keys.press(page.getByRole("button", { name: l("ui.undo"), exact: true }));
  await expect(note).toBeVisible();

  const more = page.getByRole("button", { name: l("dns.more") });
  const saved = page.waitForEvent("download");
  await keys.press(more, { back: true });
  await keys.menu(l("dns.export"));
  expect((await saved).suggestedFilename()).toContain(domain);
  await keys.press(more, { back: true });
  await keys.menu(l("dns.import"));
  await keys.type(page.getByRole("textbox", { name: l("dns.import.zone") }), "blog2 600 IN A 192.0.2.9");
  await keys.press(page.getByRole("button", { name: l("dns.import.preview") }));
  await keys.press(page.getByRole("button", { name: l("dns.import.apply", { count: 1 }) }));
  await expect(page.getByRole("row").filter({ hasText: "192.0.2.9" })).toBeVisible();
  await somewhere(page);

  await open("certificates");
  await expect(page.getByText(domain).first()).toBeVisible();
  await keys.press(page.getByRole("button", { name: l("certificates.own") }));
  await keys.type(dialog.getByLabel(l("certificates.field.certificate")), "no certificate");
  await keys.type(dialog.getByLabel(l("certificates.field.private_key")), "no key");
  await keys.press(dialog.getByRole("button", { name: l("certificates.install") }));
  await expect(dialog.getByRole("alert").or(dialog.locator("[aria-invalid=true]")).first()).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: l("certificates.own") })).toBeFocused();
});

/** The beginning of a text with a number of months. */
const monthsOf = (l: ReturnType<typeof reader>, count: number) => l("order.months", { count });

/** Presses a button that opens the choice of files, which is the system's own dialog, and uploads into this folder. */
async function upload(page: Page, keys: Keys, button: Locator, path: string) {
  const chooser = page.waitForEvent("filechooser");
  await keys.press(button, { back: true });
  await (await chooser).setFiles(path);
}
