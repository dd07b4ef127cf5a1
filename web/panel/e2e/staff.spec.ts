import type { Browser, Page } from "@playwright/test";

import { Customer, expect, newAccount, signIn, stead, test, unique } from "./fixture";
import { like, reader } from "./texts";

test.use({ storageState: async ({ owner }, provide) => provide(owner) });

test("anything is found from one field, and leads to its page", async ({ page, resident }) => {
  await page.goto("/panel/staff");
  await expect(page.getByRole("region", { name: "Needs attention" })).toBeVisible();
  const number = `ORD-${new Date().getFullYear()}-${String(resident.order).padStart(6, "0")}`;
  await page.getByLabel("Find anything").fill(number);
  await page.getByLabel("Find anything").press("Enter");
  await page.getByRole("table", { name: "Search" }).getByRole("link").first().click();
  await expect(page.getByRole("heading", { level: 1, name: number })).toBeVisible();
});

test("a ticket that waits leads from the dashboard to its answer", async ({ page, resident }) => {
  await page.goto("/panel/staff");
  await page.getByRole("link", { name: /tickets? (is|are) to be answered/ }).click();
  await expect(page).toHaveURL(/status=open/);
  await page.goto(`/panel/staff/tickets/${resident.ticket}`);
  await page.getByLabel("Internal note: the customer does not see it").check();
  await page.getByRole("textbox", { name: "Internal note" }).fill("Look at the node first.");
  await page.getByRole("button", { name: "Write the note" }).click();
  await expect(page.getByRole("article").getByText("Look at the node first.")).toBeVisible();
});

test("money is given with a reason, and the reason is asked for", async ({ page, expected }) => {
  expected.push("409"); // what the page of the customer still asks when its session ends
  await signInAsOwner(page);
  const email = unique("boris") + "@example.com";
  const { id } = await stead<{ id: number }>("admin", "users", "create", email, "--name", "Boris");
  await page.goto(`/panel/staff/customers/${id}`);
  await page.getByRole("button", { name: "Give money" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Amount").fill("12.50");
  await dialog.getByRole("button", { name: "Give money" }).click();
  await expect(dialog.getByText("Say why.")).toBeVisible();
  await dialog.getByLabel("Reason").fill("For the trouble");
  await dialog.getByRole("button", { name: "Give money" }).click();
  await expect(page.getByRole("table", { name: "Movements of money" }).getByText("For the trouble")).toBeVisible();
  await expect(page.getByRole("region", { name: "Money", exact: true }).getByText("$12.50")).toBeVisible();

  await page.getByRole("button", { name: "Sign in as the customer" }).click();
  await dialog.getByLabel("Reason").fill("A test");
  await dialog.getByRole("button", { name: "Sign in as the customer" }).click();
  await expect(page.getByText(`You are signed in as ${email}`)).toBeVisible();
  await page.getByRole("button", { name: "Back to staff pages" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Boris" })).toBeVisible();
});

test("staff see of which time the backup is that a service is restored from", async ({ page, resident }) => {
  const backupAt = "2026-11-21T10:15:00Z";
  // A machine that died is tested in internal/e2e; here the server's answer stands for it.
  await page.route(`**/api/v1/admin/moves?service_id=${resident.service}*`, async (route) => {
    const answer = await route.fetch();
    const move = {
      id: 1,
      from: "web1",
      to: "web2",
      state: "running",
      step: "restore",
      created_at: "2026-11-22T08:00:00Z",
    };
    await route.fulfill({
      response: answer,
      json: {
        ...((await answer.json()) as object),
        data: [{ ...move, backup_at: backupAt, cause: "", committed_at: null }],
      },
    });
  });
  await page.goto(`/panel/staff/services/${resident.service}`);
  const moves = page.getByRole("region", { name: "Moves" });
  await expect(moves.getByText("What is newer than this backup is lost:")).toBeVisible();
  await expect(moves.locator(`time[datetime="${backupAt}"]`)).toBeVisible();
});

test("an abusive site is suspended and comes back", async ({ page, resident }) => {
  await page.goto(`/panel/staff/services/${resident.service}`);
  await page.getByRole("button", { name: "Suspend" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("A phishing page");
  await dialog.getByRole("button", { name: "Suspend" }).click();
  await expect(dialog.getByText("Choose one.")).toBeVisible();
  await dialog.getByRole("combobox", { name: "For" }).selectOption({ label: "Abuse" });
  await dialog.getByRole("button", { name: "Suspend" }).click();
  await page.getByRole("button", { name: "Bring back" }).click();
  await dialog.getByLabel("Reason").fill("The page is gone");
  await dialog.getByRole("button", { name: "Bring back" }).click();
  await expect(page.getByRole("button", { name: "Suspend" })).toBeVisible();
});

test("no role is chosen for a colleague, and a change begins with the present one", async ({ page }) => {
  const email = unique("rano") + "@example.com";
  await stead("admin", "users", "create", email, "--name", "Rano");
  await signInAsOwner(page);
  await page.goto("/panel/staff/staff");
  await page.getByRole("button", { name: "Appoint somebody" }).click();
  const dialog = page.getByRole("dialog");
  const role = dialog.getByRole("combobox", { name: "Role" });
  await expect(role).toHaveValue("");
  await dialog.getByLabel("Address").fill(email);
  await dialog.getByRole("button", { name: "Appoint somebody" }).click();
  await expect(dialog.getByText("Choose one.")).toBeVisible();
  await role.selectOption("technician");
  await dialog.getByRole("button", { name: "Appoint somebody" }).click();
  const row = page.getByRole("row", { name: new RegExp(email) });
  await expect(row.getByText("Technician")).toBeVisible();
  await row.getByRole("button", { name: "Change the role" }).click();
  await expect(role).toHaveValue("technician");
});

test("a price is previewed before it is live, and a coupon is made", async ({ page }) => {
  await page.goto("/panel/staff/catalog");
  const file = page.getByRole("textbox", { name: "The file" });
  const before = await file.inputValue();
  await file.fill(`# Looked at by staff.\n${before}`);
  await expect(page.getByRole("button", { name: "Make it live" })).toBeDisabled();
  await page.getByRole("button", { name: "What changes?" }).click();
  await expect(page.getByText("The file is right. With it there would be:")).toBeVisible();
  await expect(page.getByText("Nothing changes for customers.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Make it live" })).toBeEnabled();
  await file.fill(before.replace(/(\nproducts:[^]*?disk_mb: )/, "$19"));
  await page.getByRole("button", { name: "What changes?" }).click();
  await expect(page.getByRole("row", { name: /Limit disk_mb/ })).toBeVisible();

  const code = unique("SPRING").toUpperCase();
  await page.goto("/panel/staff/coupons");
  await page.getByRole("button", { name: "New coupon" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Code").fill(code);
  await dialog.getByRole("combobox").selectOption({ label: "A percentage" });
  await dialog.getByLabel("How much").fill("12.5");
  await expect(dialog.getByText(/: \$\d+\.\d\d → \$\d+\.\d\d/).first()).toBeVisible();
  await dialog.getByRole("button", { name: "New coupon" }).click();
  await expect(page.getByRole("row", { name: new RegExp(code) }).getByText("12.5%")).toBeVisible();

  await page.goto("/panel/staff/audit?action=coupon.create");
  await expect(page.getByRole("listitem").filter({ hasText: code }).first()).toBeVisible();
});

// The taxes begin in a hundred years and are taken back, so that nobody pays them.
test("taxes are compared before they are set, hold from a day on, and are taken back", async ({ page, expected }) => {
  expected.push("422"); // a tax without a name
  await page.goto("/panel/staff/tax");
  const file = page.getByRole("textbox", { name: "The file" });
  await file.fill('countries:\n  UZ: {rate: "12"}\n');
  await page.getByRole("button", { name: "What changes?" }).click();
  await expect(page.getByText(/a tax has a name/)).toBeVisible();
  await file.fill('home: UZ\ncountries:\n  UZ: {name: QQS, rate: "12"}\n');
  await expect(page.getByRole("button", { name: "Make it live" })).toBeDisabled();
  await page.getByRole("button", { name: "What changes?" }).click();
  const preview = page.getByRole("table", { name: "What a price of $10 would become" });
  await expect(preview.getByRole("row", { name: /Uzbekistan/ }).first()).toContainText("$11.20");
  await page.getByRole("button", { name: "Make it live" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Holds from").fill("2126-01-01T00:00");
  await dialog.getByLabel("Reason").fill("The law of 2126");
  await dialog.getByRole("button", { name: "Make it live" }).click();
  const ahead = page.getByRole("table", { name: "Versions" }).getByRole("row", { name: /2126/ });
  await expect(ahead.getByText("Ahead")).toBeVisible();
  await ahead.getByRole("button", { name: "Take back" }).click();
  await dialog.getByLabel("Reason").fill("A test");
  await dialog.getByRole("button", { name: "Take back" }).click();
  await expect(ahead).toHaveCount(0);
});

test("who only reads is offered nothing that changes", async ({ page, resident, owner }) => {
  expect(owner.cookies.length).toBeGreaterThan(0);
  await page.context().clearCookies();
  const email = unique("vera") + "@example.com";
  const { password } = await stead<{ password: string }>(
    "admin",
    "users",
    "create",
    email,
    "--name",
    "Vera",
    "--role",
    "read_only",
  );
  await signIn(page, email, password);
  await page.goto(`/panel/staff/customers/${resident.account}`);
  await expect(page.getByRole("region", { name: "Money", exact: true })).toBeVisible();
  await expect(page.getByRole("button", { name: /Give money|Suspend|Sign in as/ })).toHaveCount(0);
  await expect(page.getByRole("link", { name: "Audit log" })).toHaveCount(0);
  await page.goto("/panel/staff/nodes");
  await expect(page.getByRole("heading", { level: 1, name: "Hosting machines" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Invite a machine" })).toHaveCount(0);
});

test("the brand is seen before it is live, and then on every page", async ({ page }) => {
  await page.goto("/panel/staff/brand");
  const live = page.getByRole("button", { name: "Make it live" });
  await expect(live).toBeDisabled();
  await page.getByLabel("Name", { exact: true }).fill("Bulut Hosting");
  await page.getByLabel("Colour of buttons and links").fill("#1c4ed8");
  await expect(page.getByRole("img", { name: "Light" })).toBeVisible();
  await page.getByRole("button", { name: "Choose a picture" }).first().waitFor();
  await page
    .locator('input[type="file"]')
    .first()
    .setInputFiles({
      name: "logo.svg",
      mimeType: "image/svg+xml",
      buffer: Buffer.from(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 20"><rect width="90" height="20" rx="9" fill="#1c4ed8"/></svg>',
      ),
    });
  await live.click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("The new brand");
  await dialog.getByRole("button", { name: "Make it live" }).click();
  await expect(page.getByText("The brand is live")).toBeVisible();
  await page.goto("/");
  await expect(page).toHaveTitle(/Bulut Hosting/);
  await expect(page.getByRole("link", { name: "Bulut Hosting" }).getByRole("img")).toBeVisible();

  // The other tests know the company by its name.
  await page.goto("/panel/staff/brand");
  await page.getByLabel("Name", { exact: true }).fill("");
  await page.getByLabel("Colour of buttons and links").fill("");
  await page.getByRole("button", { name: "Take it away" }).first().click();
  await live.click();
  await dialog.getByLabel("Reason").fill("As it was");
  await dialog.getByRole("button", { name: "Make it live" }).click();
  await expect(page.getByText("The brand is live")).toBeVisible();
});

test("the text of a mail is tried, made live and taken back", async ({ page, expected }) => {
  expected.push("422"); // the text without its address
  await page.goto("/panel/staff/mails");
  await page.getByRole("link", { name: /set a new password/ }).click();
  const text = page.getByLabel("Text", { exact: true });
  await text.fill("Without an address");
  await page.getByRole("button", { name: "Show a preview" }).click();
  await expect(page.getByText("The text needs {{.Link}}")).toBeVisible();
  await text.fill("Choose a new one within the hour:\n\n{{.Link}}");
  await page.getByRole("button", { name: "Make it live" }).click();
  await expect(page.getByText("The new text is live.")).toBeVisible();
  await expect(page.getByRole("img", { name: /Choose a new one within the hour/ })).toBeVisible();
  await page.getByRole("button", { name: "Send it to me" }).click();
  await expect(page.getByText("A mail with sample data is on its way to you.")).toBeVisible();
  await page.getByRole("button", { name: "Back to the shipped text" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Back to the shipped text" }).click();
  await expect(text).toHaveValue(/Somebody, probably you/);
});

test("jobs are filtered by state and kind, and one is looked at", async ({ page }) => {
  await page.goto("/panel/staff/jobs");
  await page.getByRole("combobox", { name: "State" }).selectOption({ label: "Done" });
  await page.waitForURL(/state=completed/);
  await page.getByRole("textbox", { name: "Job" }).fill("nobody.does.this");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(page.getByText("There is no such job")).toBeVisible();
  await page.getByRole("textbox", { name: "Job" }).fill("");
  await page.getByRole("button", { name: "Filter" }).click();
  const details = page.getByRole("button", { name: /^Details/ });
  await details.first().click();
  const dialog = page.getByRole("dialog", { name: "Details" });
  await expect(dialog.getByText("Attempts that failed")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await expect(details.first()).toBeFocused();
});

test("an article is written, looked at, published and taken back", async ({ page, expected }) => {
  expected.push("422"); // a link that leads nowhere
  const slug = unique("watch-");
  const title = `Mail on a watch ${slug}`;
  await page.goto("/panel/staff/articles?kind=kb");
  await page.getByRole("link", { name: "Write an article" }).first().click();
  await expect(page.getByRole("heading", { level: 1, name: "New article of the knowledge base" })).toBeVisible();
  await page.getByLabel("Address").fill(slug);
  await page.getByLabel("Title").fill(title);
  await page.getByLabel("What it is about").fill("The settings, one by one.");
  await page.getByLabel("Category", { exact: true }).selectOption("developers");
  const text = page.getByRole("textbox", { name: "Text" });
  await text.fill("## First\n\nSee [nothing](/kb/nothing-is-here).");
  const preview = page.getByRole("region", { name: "What readers get" });
  await page.getByRole("button", { name: "Show a preview" }).click();
  await expect(page.getByText("Line 3: there is no kb/nothing-is-here.")).toBeVisible();
  await text.fill("## First\n\nOpen **Settings**.");
  await page.getByRole("button", { name: "Add a picture" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.locator("input[type=file]").setInputFiles({
    name: `${slug} 1.PNG`,
    mimeType: "image/png",
    buffer: Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
      "base64",
    ),
  });
  await expect(dialog.getByLabel("Name")).toHaveValue(`${slug}-1.png`);
  await dialog.getByLabel("What it shows").fill("The watch");
  await dialog.getByRole("button", { name: "Add a picture" }).click();
  await expect(text).toHaveValue(new RegExp(`!\\[The watch\\]\\(/media/${slug}-1.png\\)`));
  await page.getByRole("button", { name: "Show a preview" }).click();
  await expect(preview.getByRole("heading", { name: "First" })).toBeVisible();
  await expect(preview.getByRole("img", { name: "The watch" })).toBeVisible();
  await page.getByRole("button", { name: "Save the draft" }).click();
  await expect(page).toHaveURL(/articles\/\d+/);
  const readers = () => page.request.get(`/api/v1/kb/${slug}`).then((answer) => answer.status());
  expect(await readers()).toBe(404);
  await page.getByRole("button", { name: "Publish" }).click();
  await expect(page.getByText("Published", { exact: true })).toBeVisible();
  expect(await readers()).toBe(200);

  // A colleague writes meanwhile: what was read before is not written over it.
  const id = /articles\/(\d+)/.exec(page.url())?.[1];
  const colleague = await page.context().newPage();
  await colleague.goto(`/panel/staff/articles/${id}`);
  await colleague.getByLabel("Title").fill(`${title}, again`);
  await colleague.getByRole("button", { name: "Make the change live" }).click();
  await expect(colleague.getByText("Readers get the new text")).toBeVisible();
  await colleague.close();
  expected.push("409");
  await text.fill("## Last\n\nClose **Settings**.");
  await page.getByRole("button", { name: "Make the change live" }).click();
  await expect(page.getByText("Somebody has changed this article meanwhile")).toBeVisible();

  await page.goto(`/panel/staff/articles/${id}`);
  await expect(page.getByLabel("Title")).toHaveValue(`${title}, again`);
  await page.getByRole("button", { name: "Take it back" }).click();
  await expect(page.getByText("Draft", { exact: true })).toBeVisible();
  expect(await readers()).toBe(404);
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(page.getByText("The text is removed")).toBeVisible();

  // With the article gone, nothing shows its picture.
  await page.getByRole("link", { name: "Pictures" }).click();
  await page.getByLabel("Name").fill(slug);
  await page.keyboard.press("Enter");
  const picture = page.getByRole("row", { name: new RegExp(`${slug}-1.png`) });
  await expect(picture.getByText("1 × 1 pixels")).toBeVisible();
  await picture.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(page.getByText("The picture is removed")).toBeVisible();
  await expect(page.getByText("No such pictures")).toBeVisible();
});

// The last one: other tests use the first.
test("a site template is hidden from customers, and offered again", async ({ page, browser, expected }) => {
  expected.push("404"); // the page of the template, while it is hidden
  const context = await browser.newContext({ storageState: { cookies: [], origins: [] }, locale: "en" });
  const visitor = await context.newPage();
  const link = visitor.getByRole("link", { name: "Coming soon" });
  const seen = async (count: number) => {
    await visitor.goto("/templates?lang=en");
    await expect(link).toHaveCount(count);
  };
  await page.goto("/panel/staff");
  await page.getByRole("link", { name: "Site templates" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Site templates" })).toBeVisible();
  const row = page.getByRole("row", { name: /Coming soon/ });
  await expect(row.getByText("Offered", { exact: true })).toBeVisible();
  await seen(1);
  await link.click();
  const address = visitor.url();

  const dialog = page.getByRole("dialog");
  await row.getByRole("button", { name: "Hide Coming soon" }).click();
  await dialog.getByRole("button", { name: "Hide" }).click();
  await expect(row.getByText("Hidden", { exact: true })).toBeVisible();
  await seen(0);
  expect((await visitor.goto(address))?.status()).toBe(404);
  const { data } = (await (await context.request.get("/api/v1/templates")).json()) as { data: { slug: string }[] };
  expect(data.map(({ slug }) => slug)).not.toContain("coming-soon");

  // Staff still see what it is.
  const picture = row.locator("img");
  await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(400);
  const opened = page.context().waitForEvent("page");
  await row.getByRole("link", { name: "Preview of Coming soon" }).click();
  const preview = await opened;
  await expect(preview.getByRole("heading", { level: 1 })).toBeVisible();
  await preview.close();

  await row.getByRole("button", { name: "Offer Coming soon" }).click();
  await dialog.getByRole("button", { name: "Offer" }).click();
  await expect(row.getByText("Offered", { exact: true })).toBeVisible();
  await seen(1);
  await context.close();
  await page.goto("/panel/staff/audit?action=template.hide");
  await expect(page.getByRole("listitem").filter({ hasText: "template" }).first()).toBeVisible();
});

test("an article's texts are kept while one goes from language to language", async ({ page }) => {
  const slug = unique("draft-");
  await page.goto("/panel/staff/articles/new?kind=glossary");
  const language = (name: string) =>
    page.getByRole("radiogroup", { name: "Language of the text" }).getByText(name, { exact: true }).click();
  const text = page.getByRole("textbox", { name: "Text" });
  await language("Русский");
  await text.fill("Часы.");
  await language("English");
  await expect(text).toHaveValue("");
  await page.getByLabel("Address").fill(slug);
  await page.getByLabel("Term").fill(`Watch ${slug}`);
  await page.getByLabel("Definition in a sentence").fill("It tells the time.");
  await text.fill("A watch.");
  await language("Русский");
  await expect(text).toHaveValue("Часы.");
  await language("English");
  await expect(text).toHaveValue("A watch.");

  // The other text goes on as one of the article that was made.
  await page.getByRole("button", { name: "Save the draft" }).click();
  await expect(page).toHaveURL(/articles\/\d+/);
  await language("Русский");
  await expect(text).toHaveValue("Часы.");
  await page.getByLabel("Term").fill(`Часы ${slug}`);
  await page.getByLabel("Definition in a sentence").fill("Показывают время.");
  await page.getByRole("button", { name: "Save the draft" }).click();
  await expect(page.getByText("Draft", { exact: true })).toBeVisible();
  await text.fill("Часы идут.");
  await page.getByRole("link", { name: "Customers" }).first().click();
  const question = page.getByRole("dialog", { name: "Leave this page?" });
  await question.getByRole("button", { name: "Stay" }).click();
  await expect(text).toHaveValue("Часы идут.");
  await page.getByRole("link", { name: "Customers" }).first().click();
  await question.getByRole("button", { name: "Leave anyway" }).click();
  await expect(page).toHaveURL(/staff\/customers/);
});

test("a queue is paused and works again", async ({ page }) => {
  await page.goto("/panel/staff/jobs");
  // Others that run beside wait for webhooks a few seconds at most.
  const row = page.getByRole("row", { name: /webhooks/ });
  const dialog = page.getByRole("dialog");
  for (const [act, state] of [
    ["Pause webhooks", "Paused"],
    ["Resume webhooks", "Works"],
  ] as const) {
    await row.getByRole("button", { name: act }).click();
    await dialog.getByLabel("Reason").fill("A test");
    await dialog.getByRole("button", { name: act }).click();
    await expect(row.getByText(state)).toBeVisible();
  }
  await page.goto("/panel/staff/audit?action=queue.resume");
  await expect(page.getByRole("listitem").filter({ hasText: "webhooks" }).first()).toBeVisible();
});

/** Signs a new owner in: what is dangerous needs a recent sign-in, and that of the worker's owner may be old. */
async function signInAsOwner(page: Page) {
  const { email, password } = await newAccount("--admin");
  await page.context().clearCookies();
  await signIn(page, email, password);
}

/** A customer's order that is delivered. */
async function delivered(browser: Browser) {
  const context = await browser.newContext({ storageState: { cookies: [], origins: [] } });
  const email = unique("boris") + "@example.com";
  const { password } = await stead<{ password: string }>(
    "admin",
    "users",
    "create",
    email,
    "--name",
    "Boris",
    "--locale",
    "en",
  );
  await signIn(await context.newPage(), email, password);
  const customer = new Customer(email, password, context.request);
  const domain = unique("site") + ".example.com";
  const service = await customer.service({ domain, plan: 0 });
  const { data } = await customer.call<{ data: { id: number }[] }>("GET", "/orders");
  await context.close();
  return { email, domain, service, id: data[0]?.id ?? 0 };
}
// Row 24: whatever staff have in hand leads to the page.
test("a customer is found by mail, and who came from an address", async ({ page, resident }) => {
  const { email } = await page.request
    .get(`/panel/api/v1/admin/customers/${resident.account}`, { headers: { "Sec-Fetch-Site": "same-origin" } })
    .then((answer) => answer.json() as Promise<{ email: string }>);
  const hits = page.getByRole("table", { name: "Search" }).getByRole("link");
  for (const [text, found] of [
    [email, hits.filter({ hasText: email })],
    ["127.0.0.1", hits.filter({ hasText: "@example.com" })], // of so many, the latest
  ] as const) {
    await page.goto("/panel/staff");
    await page.getByLabel("Find anything").fill(text);
    await page.getByLabel("Find anything").press("Enter");
    await expect(found.first()).toBeVisible();
  }
});

// Row 25: money comes back with its credit note, and a service is removed for good.
test("an order is refunded in part, which writes a credit note, in ru", async ({ page, browser }) => {
  const l = reader("ru");
  const order = await delivered(browser);
  await signInAsOwner(page);
  await page.goto(`/panel/staff/orders/${order.id}?lang=ru`);
  await page.getByRole("button", { name: l("staffsales.refund"), exact: true }).click();
  const dialog = page.getByRole("dialog");
  const ask = (name: string) => dialog.getByRole("button", { name, exact: true });
  const reason = dialog.getByLabel(l("staff.reason"));
  await dialog.getByLabel(l("staffsales.amount")).fill("0.50");
  await reason.fill("Медленный день");
  await ask(l("staffsales.refund")).click();
  await expect(page.getByText(like(l("staffsales.refund.done", { amount: "§" })))).toBeVisible();
  await page.goto("/panel/staff/invoices?kind=credit_note");
  await expect(page.getByRole("row", { name: new RegExp(order.email) }).first()).toContainText("0,50");

  await page.goto(`/panel/staff/services/${order.service}`);
  await page.getByRole("button", { name: l("staffservices.suspend"), exact: true }).click();
  await dialog
    .getByRole("combobox", { name: l("staffservices.suspend.kind") })
    .selectOption({ label: l("staffservices.reason.manual") });
  await reason.fill("По просьбе клиента");
  await ask(l("staffservices.suspend")).click();
  await page.getByRole("button", { name: l("staffservices.terminate"), exact: true }).click();
  await reason.fill("По просьбе клиента");
  await dialog.getByRole("textbox").last().fill(order.domain);
  await ask(l("staffservices.terminate")).click();
  await expect(page.getByText(l("staffservices.terminate.done"))).toBeVisible();
});

// Row 26: what the status page says goes on from where it is.
test("an incident is opened, goes on and ends, in uz", async ({ page }) => {
  const l = reader("uz");
  const title = unique("Mail waits ");
  await page.goto("/panel/staff/incidents?lang=uz");
  const dialog = page.getByRole("dialog");
  const inEach = async (field: "name" | "message", text: string) => {
    for (const lang of ["English", "Русский", "Oʻzbekcha"])
      await dialog.getByLabel(`${l(`staffcontent.incidents.${field}`)} (${lang})`).fill(text);
  };
  await page.getByRole("button", { name: l("staffcontent.incidents.open"), exact: true }).click();
  await inEach("name", title);
  await inEach("message", "We look into it.");
  await dialog.getByRole("combobox", { name: l("staffcontent.incidents.impact") }).selectOption("minor");
  await dialog.getByRole("button", { name: l("staffcontent.incidents.open"), exact: true }).click();
  const row = page.getByRole("row", { name: new RegExp(title) });
  await expect(row).toContainText(l("staffcontent.stage.investigating"));
  const update = l("staffcontent.incidents.update");
  const stage = dialog.getByRole("combobox");
  const goOn = async (next: string) => {
    await row.getByRole("button", { name: update }).click();
    await stage.selectOption(next);
    await inEach("message", "It is better.");
    await dialog.getByRole("button", { name: update }).click();
    await expect(dialog).toHaveCount(0);
  };
  await goOn("monitoring");
  await expect(row).toContainText(l("staffcontent.stage.monitoring"));
  await row.getByRole("button", { name: update }).click();
  await expect(stage).toHaveValue("monitoring");
  await page.keyboard.press("Escape");
  await page.request.get("/status").then(async (answer) => expect(await answer.text()).toContain(title));
  await goOn("resolved");
  await expect(row.getByRole("button", { name: update })).toHaveCount(0);
});

// Row 23: what the dashboard counts is listed, and the rest of the list is one click away.
test("a list of what is stuck says so, and leads to the whole list", async ({ page, resident }) => {
  await page.goto("/panel/staff/services?attention=renewals_failing");
  await expect(page.getByRole("note")).toContainText("Only what the dashboard counts");
  await expect(page.getByRole("link", { name: `#${resident.service}` })).toHaveCount(0);
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(page.getByRole("note")).toHaveCount(0);
  await expect(page.getByRole("table", { name: "Services" })).toBeVisible();
});
