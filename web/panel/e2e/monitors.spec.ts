import { expect, test, unique } from "./fixture";
import { like, reader } from "./texts";

// Row 15 in ru: an outage's story on a site of this server, with the chart of its response times.
test("a page is watched, goes away and comes back: its times, its outage, its uptime", async ({ page, customer }) => {
  const l = reader("ru");
  await customer.call("PATCH", "/me", { locale: "ru" });
  const domain = unique("shop") + ".test"; // which a demo's monitors look for on its own node
  const service = await customer.service({ domain });
  const path = "/public_html/state.html";
  const write = () => customer.call("PUT", `/services/${service}/files/content`, { path, content: "<p>Good</p>" });
  await write();
  await page.goto("/panel/monitors");
  await page
    .getByRole("button", { name: l("monitors.add") })
    .first()
    .click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(l("monitors.field.url")).fill(`http://${domain}/state.html`);
  await dialog.getByLabel(l("monitors.field.name"), { exact: true }).fill("Страница");
  await dialog.getByRole("button", { name: l("monitors.more") }).click();
  await dialog.getByLabel(l("monitors.field.retries")).fill("0");
  await dialog.getByRole("button", { name: l("monitors.add") }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Страница" })).toBeVisible();
  const checks = page.getByRole("table", { name: l("monitors.checks") });
  await expect(checks.getByText(l("monitors.status.up"), { exact: true }).first()).toBeVisible();

  // A monitor that is to be checked otherwise is checked at once.
  const again = async (seconds: string) => {
    await page.getByRole("button", { name: l("monitors.edit.short"), exact: true }).click();
    await dialog.getByRole("button", { name: l("monitors.more") }).click();
    await dialog.getByLabel(l("monitors.field.retry_interval")).fill(seconds);
    await dialog.getByRole("button", { name: l("monitors.save"), exact: true }).click();
    await expect(dialog).toHaveCount(0);
  };
  await customer.call("DELETE", `/services/${service}/files?path=${path}`);
  await again("10");
  const outages = page.getByRole("table", { name: l("monitors.outages") });
  await expect(outages.getByText(l("monitors.outage.on"))).toBeVisible();
  await write();
  await again("20");
  await expect(outages.getByText(l("monitors.outage.on"))).toHaveCount(0);
  await expect(outages.getByRole("row")).toHaveCount(2);
  const chart = page.getByRole("img", { name: like(l("monitors.chart.summary", { mean: "§", slowest: "§" })) });
  await expect(chart).toBeVisible();
  const line = chart.locator("path").last();
  await expect(line).toHaveAttribute("d", /^M.+/);
  // The former range is shown until the answer for the other is there. A new monitor has no older outages: they are played.
  const older: Record<string, number> = { "7d": 1, "30d": 2 };
  await page.route(/\/api\/v1\/monitors\/\d+\?/, async (route) => {
    const story = (await (await route.fetch()).json()) as { outages: object[] };
    const range = new URL(route.request().url()).searchParams.get("range") ?? "";
    const more = Array.from({ length: older[range] ?? 0 }, (_, n) => ({ ...story.outages[0], id: -1 - n }));
    await route.fulfill({ json: { ...story, outages: [...story.outages, ...more] } });
  });
  for (const [range, count] of Object.entries(older)) {
    await page
      .getByRole("radiogroup", { name: l("monitors.range") })
      .getByText(l(`monitors.range.${range}`), { exact: true })
      .click();
    await expect(page).toHaveURL(new RegExp(`range=${range}`));
    await expect(outages.getByRole("row")).toHaveCount(2 + count);
    await expect(line).toHaveAttribute("d", /^M.+/);
  }
  await page.goto("/panel/notifications");
  await expect(page.getByRole("main").getByText("Страница").first()).toBeVisible();
});

// Row 15 of the tasks: a monitor with alerts, an outage's story, the badge.
test("a job that calls is watched: the call, an outage with its cause, and the badge", async ({ page, customer }) => {
  await customer.service(); // its plan allows monitors
  await page.goto("/panel/monitors");
  await expect(page.getByRole("heading", { level: 1, name: "Monitors" })).toBeFocused();
  await page.getByRole("button", { name: "New monitor" }).first().click();
  const dialog = page.getByRole("dialog", { name: "New monitor" });
  await dialog.getByLabel("Address").fill("shop");
  await dialog.getByRole("button", { name: "New monitor" }).click();
  await expect(dialog.getByText("An address with http:// or https://")).toBeVisible();
  await dialog.getByLabel("What is watched").selectOption("Job that calls");
  await expect(dialog.getByLabel("Address")).toBeHidden();
  await dialog.getByLabel("Name").fill("Nightly");
  await dialog.getByRole("button", { name: "New monitor" }).click();

  await expect(page.getByRole("heading", { level: 1, name: "Nightly" })).toBeVisible();
  await expect(page.getByText("Waits for the first call")).toBeVisible();
  const { data } = await customer.call<{ data: { name: string; push_url: string | null }[] }>("GET", "/monitors");
  const call = data.find((monitor) => monitor.name === "Nightly")?.push_url ?? "";
  await expect(page.getByText(call)).toBeVisible();
  const { pathname } = new URL(call);
  await page.request.get(pathname);
  await expect(async () => {
    await page.reload();
    await expect(page.getByRole("main").getByText("Up", { exact: true }).first()).toBeVisible({ timeout: 1000 });
  }).toPass();
  await page.request.get(`${pathname}/1`);
  await expect(async () => {
    await page.reload();
    await expect(page.getByRole("row", { name: /It called with an exit code/ }).first()).toBeVisible({ timeout: 1000 });
  }).toPass();
  await expect(page.getByRole("img", { name: "Nightly: uptime" })).toBeVisible();
  await page.getByLabel("It shows").selectOption("state");
  await expect(page.getByText(/!\[Nightly: state\]/)).toBeVisible();
});

test("a monitor's request, places, warnings and maintenance are set, and its headers stay unseen", async ({
  page,
  customer,
}) => {
  await customer.service();
  await page.goto("/panel/monitors");
  await page.getByRole("button", { name: "New monitor" }).first().click();
  const dialog = page.getByRole("dialog", { name: "New monitor" });
  await dialog.getByLabel("Address").fill("https://hook.example.com/");
  await dialog.getByLabel("Name", { exact: true }).fill("Hook");
  await dialog.getByRole("button", { name: "More settings" }).click();
  await dialog.getByLabel("Method").selectOption("POST");
  await dialog.getByRole("button", { name: "Add header" }).click();
  await dialog.getByLabel("Name of header 1").fill("Authorization");
  await dialog.getByLabel("Value of header 1").fill("Bearer secret");
  await dialog.getByLabel("Body").fill('{"ping": true}');
  await dialog.getByLabel("Checked from").fill("control");
  await dialog.getByLabel("Warn before the certificate ends, days").fill("soon");
  await dialog.getByLabel("Remind while it lasts").selectOption("3600");
  await dialog.getByRole("button", { name: "Add a time" }).click();
  await dialog.getByRole("checkbox", { name: "Sun" }).check();
  await dialog.getByRole("button", { name: "New monitor" }).click();
  await expect(dialog.getByText("Days before the end, such as 30, 14, 7.")).toBeVisible();
  await dialog.getByLabel("Warn before the certificate ends, days").fill("14, 3");
  await dialog.getByRole("button", { name: "New monitor" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Hook" })).toBeVisible();

  // What is there is shown again and kept, the value of the header by itself.
  await page.getByRole("button", { name: "Change", exact: true }).click();
  const edit = page.getByRole("dialog", { name: /Hook/ });
  await edit.getByRole("button", { name: "More settings" }).click();
  await expect(edit.getByLabel("Name of header 1")).toHaveValue("Authorization");
  await expect(edit.getByLabel("Value of header 1")).toHaveValue("");
  await edit.getByRole("button", { name: "Remove time 1" }).click();
  await edit.getByRole("button", { name: "Save" }).click();
  await expect(edit).toBeHidden();
  const { data } = await customer.call<{ data: Record<string, unknown>[] }>("GET", "/monitors");
  expect(data.find(({ name }) => name === "Hook")).toMatchObject({
    method: "POST",
    headers: { Authorization: null },
    body: '{"ping": true}',
    regions: ["control"],
    ssl_expiry_days: [14, 3],
    reminder_every_s: 3600,
    maintenance_windows: [],
  });
});

test("an alert channel waits for its code", async ({ page, customer, expected }) => {
  expected.push("422");
  await customer.service();
  await page.goto("/panel/monitors");
  await page.getByRole("button", { name: "New channel" }).click();
  const dialog = page.getByRole("dialog", { name: "New channel" });
  await dialog.getByLabel("Mail address").fill(customer.email);
  await dialog.getByRole("button", { name: "New channel" }).click();
  const code = page.getByRole("dialog", { name: "Enter the code" });
  await code.getByLabel("Code").fill("000000");
  await code.getByRole("button", { name: "Confirm" }).click();
  await expect(code.getByText("The code is wrong or too old")).toBeVisible();
  await expect(code.getByLabel("Code")).toHaveValue("000000");
});
