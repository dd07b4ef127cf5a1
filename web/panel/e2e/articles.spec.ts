import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { drawn, expect, test, unique, type Customer } from "./fixture";
import { languages, like, reader, type Lang, type Reader } from "./texts";

// The steps of the knowledge base's articles are tried: those of each article by a walk of this file, or by the test that
// `tested` names. A walk takes the pictures that its article shows where PICTURES names the folder for them (`make pictures`).

const library = "../../internal/content/articles/library";

/** The articles whose steps another test takes: its file, and a part of its title. */
const tested: Record<string, string> = {
  "cron-jobs": "web/panel/e2e/cron.spec.ts: a task is made",
  "forwards-and-autoreplies": "web/panel/e2e/mail.spec.ts: a mailbox is made",
  "hacked-site": "web/panel/e2e/files.spec.ts: a folder comes back from a backup",
  "let-the-agent-work": "web/panel/e2e/agent.spec.ts: the agent asks before it changes a page",
  "mail-on-a-phone": "web/panel/e2e/mail.spec.ts: a mailbox is made",
  "transfer-a-domain": "web/panel/e2e/commerce.spec.ts: a domain is registered, locked",
  "watch-your-site": "web/panel/e2e/monitors.spec.ts: a job that calls is watched",
  // On machines with databases, mail, PHP and shells, which a demo need not have:
  "mail-does-not-arrive": "internal/node/mail/elsewhere_test.go: TestWhereTheDNSLeadsMail",
  "move-a-database": "internal/node/databases/databases_test.go: TestADatabaseIsUsedDumpedAndImported",
  "php-limits": "internal/node/php/php_test.go: TestSettingsTakeEffect",
  "read-the-logs": "internal/node/web/web_test.go: TestAccessLogTellsWhatWasServed",
  "wordpress-by-ftp": "internal/e2e/wordpress_test.go: TestWordPressIsInstalledAndServedByHTTPS",
};

interface Walk {
  page: Page;
  customer: Customer;
  service: number;
  domain: string;
  lang: Lang;
  l: Reader;
  picture: (name: string, width?: number) => Promise<void>;
}

const exact = true;

const walks: Record<string, (walk: Walk) => Promise<void>> = {
  "first-site": async ({ page, l, picture }) => {
    await page.goto("/panel/service/templates");
    await expect(page.locator("#page img").first()).toBeVisible();
    await picture("templates");
    await page
      .getByRole("button", { name: l("templates.install"), exact: false })
      .first()
      .click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: l("templates.install"), exact })
      .click();
    await expect(page.getByRole("link", { name: l("templates.look") })).toBeVisible();

    await page.goto("/panel/service/files");
    await page.getByRole("link", { name: "public_html" }).click();
    await page.getByRole("button", { name: l("files.new"), exact }).click();
    await page.getByRole("menuitem", { name: l("files.new.file") }).click();
    await page.getByRole("dialog").getByLabel(l("files.field.name")).fill("about.html");
    await page
      .getByRole("dialog")
      .getByRole("button", { name: l("files.make") })
      .click();
    await page.getByRole("link", { name: "about.html" }).click();
    await page
      .getByRole("textbox", { name: l("files.editor.label", { name: "about.html" }) })
      .fill("<h1>It works</h1>");
    await picture("editor");
    await page.getByRole("button", { name: l("files.editor.save"), exact }).click();
    await expect(page.getByText(l("files.editor.saved", { name: "about.html" }))).toBeVisible();
  },

  "upload-an-archive": async ({ page, l, picture }) => {
    await page.goto("/panel/service/files");
    await page.getByRole("button", { name: l("files.actions", { name: "public_html" }) }).click();
    await page.getByRole("menuitem", { name: l("files.pack") }).click();
    await page.getByRole("dialog").getByLabel(l("files.field.archive")).fill("site.zip");
    await page
      .getByRole("dialog")
      .getByRole("button", { name: l("files.pack") })
      .click();
    await page.getByRole("button", { name: l("files.actions", { name: "site.zip" }) }).click();
    await page.getByRole("menuitem", { name: l("files.extract"), exact }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(l("files.field.overwrite")).check();
    await expect(dialog.getByText("public_html")).toBeVisible();
    await picture("extract");
    await dialog.getByText("public_html").click();
    await dialog.getByRole("button", { name: l("files.extract.here") }).click();
    await expect(dialog).toBeHidden();
  },

  "your-account": async ({ page, l, picture }) => {
    await page.goto("/panel/");
    await drawn(page);
    await picture("overview", 1080); // with the menu
    await page.goto("/panel/account/profile");
    await expect(page.getByRole("combobox", { name: l("account.profile.locale") })).toBeVisible();
    await expect(page.getByText(l("account.email.title"), { exact }).first()).toBeVisible();
    await expect(page.getByRole("button", { name: l("account.email.send") })).toBeVisible();
    await page.goto("/panel/account/security");
    await expect(page.getByLabel(l("account.password.current"))).toBeVisible();
    await expect(page.getByLabel(l("account.password.new"))).toBeVisible();
    await expect(page.getByLabel(l("account.password.applications"))).toBeVisible();
    await expect(page.getByRole("button", { name: l("account.password.change") })).toBeVisible();
  },

  "two-factor": async ({ page, l, picture }) => {
    await page.goto("/panel/account/security");
    await expect(page.getByRole("heading", { name: l("account.passkeys.title"), exact })).toBeVisible();
    await page.getByRole("button", { name: l("account.factor.setup"), exact }).click();
    await expect(page.getByRole("dialog").getByRole("textbox", { name: l("account.factor.code") })).toBeVisible();
    await expect(page.getByRole("dialog").getByRole("button", { name: l("account.factor.enable") })).toBeVisible();
    await picture("scan");
  },

  "create-a-database": async ({ page, l, picture }) => {
    await page.goto("/panel/service/databases");
    await page
      .getByRole("button", { name: l("databases.add") })
      .first()
      .click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(l("databases.field.name")).fill("shop");
    const engine = dialog.getByRole("combobox", { name: l("databases.field.engine") });
    await engine.press("ArrowDown"); // opens the list
    await page.getByRole("option", { name: l("databases.engine.mariadb") }).click();
    await picture("new");
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: l("databases.password.link") }).click();
    await expect(page).toHaveURL(/\/passwords$/);
  },

  "ftp-with-filezilla": async ({ page, l, picture }) => {
    await page.goto("/panel/service/access");
    await page
      .getByRole("button", { name: l("access.ftp.add") })
      .first()
      .click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(l("access.field.username")).fill("anna");
    await dialog.getByLabel(l("access.field.home")).fill("/public_html");
    await picture("new");
  },

  "ssh-keys-and-sftp": async ({ page, l, picture }) => {
    await page.goto("/panel/service/access");
    await expect(page.getByRole("heading", { name: l("access.server"), exact })).toBeVisible();
    await expect(page.getByRole("switch", { name: l("access.shell") })).toBeVisible();
    await page
      .getByRole("button", { name: l("access.key.add") })
      .first()
      .click();
    await page
      .getByRole("dialog")
      .getByLabel(l("access.field.public_key"))
      .fill("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl my laptop");
    await picture("key");
  },

  "backups-and-restores": async ({ page, l, picture }) => {
    await page.goto("/panel/service/backups");
    await page
      .getByRole("button", { name: l("backups.make") })
      .first()
      .click();
    await page.getByRole("dialog").getByLabel(l("backups.field.note")).fill(l("backups.field.note_hint"));
    await page
      .getByRole("dialog")
      .getByRole("button", { name: l("backups.make") })
      .click();
    await expect(page.getByText(l("backups.status.completed"), { exact })).toBeVisible();
    await page.getByRole("button", { name: l("backups.restore"), exact }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(l("backups.restore.all")).check();
    await expect(dialog.getByText(l("backups.replace.title"))).toBeVisible();
    await dialog.getByLabel(l("backups.restore.paths")).check();
    await dialog.getByLabel(l("backups.field.paths"), { exact }).fill("/public_html");
    await picture("restore");
    await dialog.getByLabel(l("backups.field.beside")).check();
    await dialog.getByLabel(l("backups.field.target"), { exact }).fill("/restored");
    await dialog.getByRole("button", { name: l("backups.restore"), exact }).click();
    await expect(page.getByRole("link", { name: l("backups.restore.look") })).toBeVisible();
    await expect(page.getByLabel(l("backups.download")).first()).toBeVisible();
  },

  "certificates-and-https": async ({ page, l, domain }) => {
    await page.goto("/panel/service/certificates");
    await expect(page.getByText(domain).first()).toBeVisible();
    await expect(page.getByRole("button", { name: l("certificates.own") })).toBeVisible();
    await page.goto("/panel/service/domains");
    await page.getByRole("button", { name: l("hosteddomains.settings", { name: domain }) }).click();
    await expect(page.getByRole("dialog").getByLabel(l("hosteddomains.field.force_https"))).toBeVisible();
    await expect(page.getByRole("dialog").getByRole("button", { name: l("hosteddomains.save") })).toBeVisible();
  },

  "addon-domains-and-redirects": async ({ page, l, picture, domain }) => {
    await page.goto("/panel/service/domains");
    await page
      .getByRole("button", { name: l("hosteddomains.add") })
      .first()
      .click();
    const dialog = page.getByRole("dialog");
    for (const kind of ["alias", "subdomain", "redirect", "addon"]) {
      await dialog.getByRole("radio", { name: l(`hosteddomains.add.${kind}`) }).check();
    }
    await dialog.getByLabel(l("hosteddomains.field.name"), { exact }).fill("second.example");
    await picture("add");
    await dialog.getByRole("radio", { name: l("hosteddomains.add.subdomain") }).check();
    await dialog.getByLabel(l("hosteddomains.field.name"), { exact }).fill("shop." + domain);
    await dialog.getByRole("button", { name: l("hosteddomains.add") }).click();
    const settings = page.getByRole("dialog", { name: "shop." + domain });
    await expect(settings.getByRole("button", { name: l("hosteddomains.primary.make") })).toBeVisible();
  },

  "point-a-domain": async ({ page, l, picture }) => {
    await page.goto("/panel/services");
    await page.getByRole("table").getByRole("link").first().click();
    await expect(page.getByRole("heading", { name: l("services.address"), exact })).toBeVisible();
    await picture("address");
    await page.goto("/panel/service/domains");
    await expect(page.getByRole("columnheader", { name: l("hosteddomains.column.dns"), exact })).toBeVisible();
    await page
      .getByRole("button", { name: l("hosteddomains.dns.what") })
      .or(page.getByText(l("hosteddomains.dns.unknown")))
      .first()
      .waitFor();
  },

  "dns-records": async ({ page, l, picture }) => {
    await page.goto("/panel/service/dns");
    await page
      .getByRole("button", { name: l("dns.add"), exact })
      .first()
      .click();
    const form = page.getByRole("form", { name: l("dns.add") });
    await form.getByLabel(l("dns.field.type")).selectOption("CNAME");
    await form.getByLabel(l("dns.field.name")).fill("shop");
    await form.getByLabel(l("dns.field.value")).fill("shops.example.net");
    await expect(form.getByLabel(l("dns.field.ttl"))).toBeVisible();
    await picture("add");
    await form.getByRole("button", { name: l("dns.add") }).click();
    await page.getByRole("button", { name: l("dns.remove", { name: "shop", type: "CNAME" }) }).click();
    await page.getByRole("button", { name: l("ui.undo"), exact }).click();
    await expect(page.getByRole("row", { name: /shop.*shops\.example\.net/ })).toBeVisible();
    await page.getByRole("button", { name: l("dns.more") }).click();
    await expect(page.getByRole("menuitem", { name: l("dns.template") })).toBeVisible();
  },

  "dns-propagation": async ({ page, l, domain }) => {
    await page.goto("/panel/service/dns");
    await page
      .getByRole("button", { name: l("dns.add"), exact })
      .first()
      .click();
    const form = page.getByRole("form", { name: l("dns.add") });
    await form.getByLabel(l("dns.field.name")).fill("soon");
    await form.getByLabel(l("dns.field.value")).fill("192.0.2.7");
    await form.getByRole("button", { name: l("dns.add") }).click();
    await page.getByRole("button", { name: l("dns.edit", { name: "soon", type: "A" }) }).click();
    const edit = page.getByRole("form", { name: l("dns.edit", { name: "soon", type: "A" }) });
    await edit.getByLabel(l("dns.field.ttl")).fill("300");
    await edit.getByRole("button", { name: l("dns.save") }).click();
    await expect(page.getByRole("row", { name: /soon.*192\.0\.2\.7.*300/ }), domain).toBeVisible();
  },

  "import-dns-records": async ({ page, l, picture }) => {
    await page.goto("/panel/service/dns");
    await page.getByRole("button", { name: l("dns.more") }).click();
    await expect(page.getByRole("menuitem", { name: l("dns.export") })).toBeVisible();
    await page.getByRole("menuitem", { name: l("dns.import") }).click();
    await page
      .getByRole("textbox", { name: l("dns.import.zone") })
      .fill("blog 600 IN A 192.0.2.9\n@ IN NS ns1.example.net.\n");
    await page.getByRole("button", { name: l("dns.import.preview") }).click();
    await expect(page.getByRole("button", { name: l("dns.import.apply", { count: 1 }) })).toBeVisible();
    await picture("preview");
    await page.getByRole("button", { name: l("dns.import.apply", { count: 1 }) }).click();
    await expect(page.getByRole("row", { name: /blog.*192\.0\.2\.9/ })).toBeVisible();
  },

  renewals: async ({ page, l, picture }) => {
    await page.goto("/panel/service/plan");
    await expect(page.getByRole("switch", { name: l("plan.auto") })).toBeVisible();
    await expect(page.getByRole("heading", { name: l("plan.tariffs") })).toBeVisible();
    await picture("plan");
    await page.getByRole("button", { name: l("plan.renew"), exact }).click();
    const dialog = page.getByRole("dialog", { name: l("plan.renew") });
    await expect(dialog.getByText(l("ui.renewal.period"))).toBeVisible();
    await dialog.getByRole("button", { name: like(l("ui.renewal.pay", { amount: "§" })) }).click();
    await expect(page.getByText(l("plan.renewed"))).toBeVisible();
  },

  "top-up-your-wallet": async ({ page, l, picture }) => {
    await page.goto("/panel/wallet");
    await page.getByRole("textbox", { name: l("topup.amount") }).fill("20");
    await expect(page.getByText(l("topup.gateway"), { exact })).toBeVisible();
    await expect(page.getByRole("button", { name: like(l("topup.go", { amount: "§" })) })).toBeVisible();
    await expect(page.getByLabel(l("wallet.low.field"))).toBeVisible();
    await expect(page.getByText(l("wallet.renewals"))).toBeVisible();
    await picture("pay");
  },

  "invoices-and-tax": async ({ page, l, picture }) => {
    await page.goto("/panel/invoices?kind=invoice");
    await page.getByRole("table").getByRole("link").first().click();
    await expect(page.getByRole("link", { name: l("invoices.pdf"), exact })).toBeVisible();
    await picture("invoice");
    await page.goto("/panel/invoices");
    await page.getByRole("link", { name: l("invoices.billing") }).click();
    await page.getByLabel(l("billing.company")).check();
    await expect(page.getByLabel(l("billing.name.company"))).toBeVisible();
    await expect(page.getByLabel(l("billing.tax_number"))).toBeVisible();
  },

  "register-a-domain": async ({ page, l, picture }) => {
    const name = "my-new-shop-" + unique("") + ".com";
    await page.goto("/panel/domains");
    await page
      .getByRole("link", { name: l("domains.new") })
      .first()
      .click();
    await page.getByLabel(l("domains.new.name"), { exact }).fill(name);
    await page
      .locator("#page")
      .getByRole("button", { name: l("domains.new.search") })
      .click();
    await expect(page.getByText(like(l("domains.free", { name, price: "§" })))).toBeVisible();
    await expect(page.getByLabel(l("domains.years"))).toBeVisible();
    await expect(page.getByText(l("domains.owner"), { exact })).toBeVisible();
    await picture("free");
  },

  "api-access": async ({ page, l, picture }) => {
    await page.goto("/panel/account/applications");
    await page
      .getByRole("button", { name: l("account.applications.new") })
      .first()
      .click();
    await page.getByLabel(l("account.application.name"), { exact }).fill("My scripts");
    await page.getByRole("radio", { name: l("account.application.type.public"), exact }).check();
    await page.getByLabel(l("account.application.redirects")).fill("http://127.0.0.1/callback");
    await page.getByLabel(l("account.scope.services:read")).check();
    await picture("application");
    await page.getByRole("button", { name: l("account.application.create"), exact }).click();
    await expect(page.getByText(l("account.application.client_id")).first()).toBeVisible();
  },
};

/** The articles that ship. */
const articles = readdirSync(join(library, "kb"))
  .filter((file) => file.endsWith(".en.md"))
  .map((file) => file.replace(".en.md", ""));

test("each article is walked here or tested elsewhere", () => {
  expect([...Object.keys(walks), ...Object.keys(tested)].sort()).toEqual(articles);
  for (const [article, where] of Object.entries(tested)) {
    const [file = "", title = ""] = where.split(": ");
    expect(readFileSync(join("../..", file), "utf8"), article).toContain(title);
  }
});

const pictures = process.env.PICTURES;

// A walk is taken in one language, each language has a third of them; for pictures, in all.
languages.forEach((lang, turn) => {
  test(`the steps of articles, in ${lang}`, async ({ page, customer, expected }) => {
    test.setTimeout(600_000);
    expected.push("403", "404", "422"); // proofs that are asked for, and what this server does not have
    const domain = (pictures ? { en: "shop", ru: "lavka", uz: "dokon" }[lang] : unique("shop")) + ".example.com";
    const service = await customer.service({ domain });
    await customer.call("PATCH", "/me", { locale: lang });
    const l = reader(lang);
    const failures: string[] = [];
    for (const [index, [article, walk]] of Object.entries(walks).entries()) {
      if (!pictures && index % languages.length !== turn) continue;
      const picture: Walk["picture"] = (name, width) => take(page, `${article}-${name}-${lang}`, width);
      try {
        await test.step(article, () => walk({ page, customer, service, domain, lang, l, picture }));
      } catch (failure) {
        const shown = await page.locator("body").ariaSnapshot({ timeout: 5_000 }).catch(String);
        failures.push(`${article}: ${String(failure)}\n${shown}`);
      }
    }
    expect(failures.join("\n")).toBe("");
  });
});

/** Takes a picture of what the page shows, for an article. */
async function take(page: Page, name: string, width = 960) {
  if (!pictures) return;
  await page.setViewportSize({ width, height: 640 });
  await page.waitForTimeout(500); // what moves comes to rest
  const browser = await page.context().newCDPSession(page);
  const { data } = await browser.send("Page.captureScreenshot", { format: "webp", quality: 60 });
  await writeFile(join(pictures, `${name}.webp`), Buffer.from(data, "base64"));
}
