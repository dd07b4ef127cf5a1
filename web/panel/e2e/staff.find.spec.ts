import { Customer, drawn, expect, newAccount, signIn, test, unique } from "./fixture";
import { like, reader } from "./texts";
import { appoint } from "./visits";

test.use({ storageState: async ({ owner }, provide) => provide(owner) });

// Row 24: what a customer quotes leads to the page. Mail, address and order number are in staff.spec.ts.
test("staff find a site by its domain, and what a request did by its id, in ru", async ({
  page,
  browser,
  resident,
}) => {
  const l = reader("ru");
  // The customer presses a button, and later quotes the id that the answer had.
  const context = await browser.newContext({ storageState: resident.state });
  const theirs = await context.newPage();
  await theirs.goto(`/panel/services/${resident.service}/backups?lang=ru`);
  await drawn(theirs);
  const answered = theirs.waitForResponse(
    (one) => one.request().method() === "POST" && one.url().endsWith(`/services/${resident.service}/backups`),
  );
  await theirs
    .locator("#page")
    .getByRole("button", { name: l("backups.make") })
    .first()
    .click();
  await theirs
    .getByRole("dialog")
    .getByRole("button", { name: l("backups.make"), exact: true })
    .click();
  const answer = await answered;
  const request = (await answer.headerValue("x-request-id")) ?? "";
  expect(request).toMatch(/^req_/);
  const { id: backup } = (await answer.json()) as { id: number };
  const { domain } = await new Customer("", "", context.request).call<{ domain: string }>(
    "GET",
    `/services/${resident.service}`,
  );
  await context.close();

  await page.goto("/panel/staff?lang=ru");
  const find = async (text: string) => {
    const search = page.getByRole("search");
    await search.getByRole("searchbox").fill(text);
    await search.getByRole("button", { name: l("staff.search.find") }).click();
    await expect(page).toHaveURL(new RegExp(`q=.*${text.slice(-8)}`));
  };
  const hits = page.getByRole("table", { name: l("staffhome.search.title") });
  const hit = (kind: string, text: string) =>
    hits.getByRole("row", { name: new RegExp(`^${l(`staffhome.kind.${kind}`)}.*${text}`) }).getByRole("link");
  await find(domain);
  await hit("service", domain).first().click();
  await expect(page).toHaveURL(new RegExp(`/staff/services/${resident.service}$`));
  await expect(page.getByRole("heading", { level: 1 })).toContainText(domain);

  await page.goto("/panel/staff");
  await find(request);
  await expect(hit("service", domain).first()).toBeVisible(); // of which it made a backup
  await hit("job", "backups.make").first().click();
  await expect(page.getByText(l("staffrunning.jobs.of_request", { request }))).toBeVisible();
  const jobs = page.getByRole("table", { name: l("staffrunning.jobs.title") });
  await expect(jobs.getByRole("row", { name: /backups\.make/ })).toContainText(`{"backup_id":${backup}`);

  // One that did nothing says where to look further.
  await page.goto("/panel/staff");
  await find("req_nobodysentthis");
  await expect(page.getByText("journalctl -u stead | grep req_nobodysentthis")).toBeVisible();
});

// Row 27: a job that fails is looked into and tried again. The sandbox's simulated server is busy for a domain that begins so.
test("staff look into a job that fails and try it again until it ends, in uz", async ({ page, browser }) => {
  const l = reader("uz");
  const context = await browser.newContext({ storageState: { cookies: [], origins: [] } });
  const { email, password } = await newAccount();
  await signIn(await context.newPage(), email, password);
  const reseller = new Customer(email, password, context.request);
  await appoint(reseller);
  const world = { headers: { "X-Stead-World": "sandbox" } };
  const balance = async () =>
    (await reseller.call<{ balance: { usd_cents: number } }>("GET", "/reseller/stats", undefined, world)).balance
      .usd_cents;
  const before = await balance();
  const { data } = await reseller.call<{ data: { type: string; plans: { id: number }[] }[] }>("GET", "/catalog");
  const { id } = await reseller.call<{ id: number }>(
    "POST",
    "/reseller/services",
    {
      plan_id: data.find(({ type }) => type === "hosting")?.plans[0]?.id,
      domain: `busy.${unique("shop")}.example.com`,
    },
    { ...world, key: unique("sale") },
  );
  const status = async () =>
    (await reseller.call<{ status: string }>("GET", `/reseller/services/${id}`, undefined, world)).status;
  expect(await status()).toBe("provisioning");
  expect(await balance()).toBeLessThan(before);

  await page.goto("/panel/staff?lang=uz");
  await page.getByRole("link", { name: l("staffmenu.nav.jobs"), exact: true }).click();
  const jobs = page.getByRole("table", { name: l("staffrunning.jobs.title") });
  const row = jobs.getByRole("row").filter({ hasText: `"service_id":${id}}` });
  const attempts = (count: number) => `${l("staffrunning.job.retryable")} (${count}/7)`;
  await expect(async () => {
    await page.reload();
    await expect(row).toContainText(attempts(3), { timeout: 2000 }); // the fourth comes by itself in more than a minute
  }).toPass();
  await row.getByRole("button", { name: like(`${l("staffrunning.jobs.details")}§`) }).click();
  const details = page.getByRole("dialog", { name: l("staffrunning.jobs.details") });
  await expect(details.getByRole("listitem")).toHaveCount(3);
  await page.keyboard.press("Escape");

  const again = async () => {
    await row.getByRole("button", { name: l("staffrunning.jobs.retry") }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: l("staffrunning.jobs.retry") })
      .click();
    await expect(page.getByText(l("staffrunning.jobs.retried")).last()).toBeVisible();
    await expect(page.getByRole("dialog")).toHaveCount(0);
  };
  for (const next of [4, 5, 6]) {
    await again();
    await expect(async () => {
      await page.reload();
      await expect(row).toContainText(attempts(next), { timeout: 2000 });
    }).toPass({ timeout: 45_000 });
    expect(await status()).toBe("provisioning");
  }
  await again();
  // The last attempt ends it: the service failed, and the money is back.
  await expect.poll(status, { timeout: 45_000 }).toBe("failed");
  expect(await balance()).toBe(before);
  await page.reload();
  await expect(row).toHaveCount(0);
  await context.close();
});
