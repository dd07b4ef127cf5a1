import { expect, test, unique } from "./fixture";
import { appoint, soldInSandbox, visitor } from "./visits";

// A service of a client by mouse, from the empty list to its end and back.
test("a reseller sells a service, and does with it what its life asks for", async ({
  page,
  customer,
  browser,
  expected,
}) => {
  expected.push("422");
  await appoint(customer);
  await page.goto("/panel/reseller");
  await expect(page.getByText("Sell the first one here")).toBeVisible();
  await page.getByRole("link", { name: "Sell a service" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "New service" })).toBeFocused();

  // The price is there before anything is paid, with the way to the money that lacks.
  const cost = page.getByRole("region", { name: "What you pay" });
  await page.getByRole("radio", { name: /^12 months/ }).check();
  await expect(page).toHaveURL(/period=12/);
  await expect(cost.getByText(/^The wallet lacks \$/)).toBeVisible();
  await expect(cost.getByRole("link", { name: "Top up the wallet" })).toHaveAttribute("href", /amount=\d+.*back=/);
  await customer.credit(200);
  await page.reload();
  await expect(page.getByRole("radio", { name: /^12 months/ })).toBeChecked();
  const pay = cost.getByRole("button", { name: /^Pay \$[\d.]+ and make it$/ });
  await pay.click();
  await expect(page.getByText("Type the domain of the site.")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Domain" })).toBeFocused();
  await expect(cost.getByText(/^The wallet lacks/)).toHaveCount(0);

  // A name that everybody knows has to be proven; the record is there to be copied.
  await page.getByRole("combobox", { name: "Your tag of the client" }).fill("client-7");
  await page.getByRole("textbox", { name: "Domain" }).fill("google.com");
  await pay.click();
  await expect(cost.getByRole("button", { name: "Check now" })).toBeVisible();
  await expect(cost.getByRole("definition").filter({ hasText: /^TXT$/ })).toBeVisible();

  const domain = unique("shop") + ".example.com";
  await page.getByRole("textbox", { name: "Domain" }).fill(`https://${domain}/`);
  await pay.click();
  await page.waitForURL(/\/reseller\/services\/\d+/);
  await expect(page.getByRole("heading", { level: 1, name: domain })).toBeFocused();
  await expect(page.getByText(/^client-7/)).toBeVisible();
  const state = page.locator("#page").getByRole("status").first();
  await expect(state).toHaveText("Active", { timeout: 60_000 });

  // The client comes in by the link, and has no account.
  await page.getByRole("button", { name: "One-time link to the panel" }).click();
  const link = await page
    .getByRole("dialog")
    .getByText(/\/client\//)
    .innerText();
  await page.keyboard.press("Escape");
  const theirs = await visitor(browser, link);
  await expect(theirs.getByRole("heading", { level: 1, name: domain })).toBeVisible();
  await theirs.context().close();

  await page.getByRole("button", { name: "Renew now" }).click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^Pay \$/ })
    .click();
  await expect(page.getByText("The service is renewed")).toBeVisible();
  const auto = page.getByRole("switch", { name: "Renews by itself" });
  const before = await auto.isChecked();
  await auto.click();
  await expect(auto).toBeChecked({ checked: !before });
  await page.getByLabel("Your tag of the client").fill("client-8");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText(/^client-8/)).toBeVisible();

  await page.getByRole("button", { name: "Suspend", exact: true }).click();
  await page.getByLabel("Reason (optional)").fill("has not paid me");
  await page.getByRole("dialog").getByRole("button", { name: "Suspend" }).click();
  await expect(page.getByRole("alert", { name: "You suspended it" })).toContainText("has not paid me");
  await page.getByRole("button", { name: "Lift the suspension" }).click();
  await expect(state).toHaveText("Active");

  // What cannot be taken back asks for the name.
  await page.getByRole("button", { name: "End the service" }).click();
  const ending = page.getByRole("dialog");
  await ending.getByRole("radio", { name: "At once" }).check();
  await expect(ending.getByRole("button", { name: "End the service" })).toBeDisabled();
  await ending.getByLabel(`Type ${domain} to confirm`).fill(domain);
  await ending.getByRole("button", { name: "End the service" }).click();
  await expect(state).toHaveText("Ended", { timeout: 60_000 });
  await page.getByRole("button", { name: "Bring it back" }).click();
  await expect(state).toHaveText("Active", { timeout: 60_000 });
  await expect(page.getByRole("row", { name: /service\.terminated/ })).toBeVisible();

  await page.getByRole("navigation", { name: "Pages of a reseller" }).getByRole("link", { name: "Clients" }).click();
  await expect(page.getByRole("row", { name: /client-8/ }).getByRole("link", { name: domain })).toBeVisible();
});

test("the sandbox is sold in by the same page, with its play money", async ({ page, customer }) => {
  await appoint(customer);
  await page.goto("/panel/reseller?world=sandbox");
  await page.getByRole("link", { name: "New service" }).click();
  await page.getByRole("combobox", { name: "Your tag of the client" }).fill("client-1");
  await page.getByRole("textbox", { name: "Domain" }).fill(unique("play") + ".example.com");
  await page.getByRole("button", { name: /^Pay \$/ }).click();
  await page.waitForURL(/\/reseller\/services\/\d+\?world=sandbox/);
  await expect(page.locator("#page").getByRole("status").first()).toHaveText("Active", { timeout: 60_000 });
  // A tag that is there is offered the next time.
  await page.goto("/panel/reseller/new?world=sandbox");
  await page.getByRole("combobox", { name: "Your tag of the client" }).fill("cl");
  await page.getByRole("option", { name: "client-1" }).click();
  await expect(page.getByRole("combobox", { name: "Your tag of the client" })).toHaveValue("client-1");
});

// Row 22: what is secret, and the shell.
test("a reseller's client sees passwords once, replaces them, and has a terminal", async ({
  page,
  customer,
  browser,
}) => {
  await appoint(customer);
  const { id: service, link, usernames } = await soldInSandbox(customer);
  await page.goto("about:blank"); // whatever the reseller does, the client is alone
  const theirs = await visitor(browser, link);
  const problems: string[] = [];
  theirs.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  await theirs.getByRole("main").getByRole("link", { name: "Passwords" }).click();
  const name = usernames[0] ?? "nobody";
  const dialog = theirs.getByRole("dialog", { name: "The password" });
  await theirs.getByRole("button", { name: `Show once: password of ${name}` }).click();
  const first = await dialog.getByText(/^[A-Za-z0-9]{24}$/).innerText();
  await dialog.getByRole("button", { name: "Done" }).click();
  await theirs.getByRole("button", { name: /^Make a new one/ }).click();
  await theirs
    .getByRole("dialog")
    .getByRole("button", { name: /^Make a new one/ })
    .click();
  const second = await dialog.getByText(/^[A-Za-z0-9]{24}$/).innerText();
  expect(second).not.toBe(first);
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(theirs.getByText(second)).toHaveCount(0);

  // The machine of these tests gives no shells, so the server's side is played here; internal/front/webui tests it.
  const terminal = `**/client/panel/services/${service}/terminal`;
  await theirs.route(`${terminal}/ticket`, (route) => route.fulfill({ json: { ticket: "once" } }));
  await theirs.routeWebSocket(`${terminal}/socket?*`, (socket) => {
    socket.send(Buffer.from("welcome to the client's shell\r\n"));
    socket.onMessage((message) => typeof message !== "string" && socket.send(Buffer.from(`[${message.toString()}]`)));
  });
  await theirs.getByRole("button", { name: "Open the menu" }).click();
  await theirs.getByRole("link", { name: "Terminal" }).click();
  await expect(theirs.getByText("Connected")).toBeVisible();
  await expect(theirs.locator(".xterm-rows")).toContainText("welcome to the client's shell");
  await theirs.keyboard.type("ls");
  await expect(theirs.locator(".xterm-rows")).toContainText("[l][s]");

  // The server itself has no shells and says so; of another service it says nothing.
  await theirs.unrouteAll();
  const answer = await theirs.request.post(`/client/panel/services/${service}/terminal/ticket`);
  expect(answer.status()).toBe(422);
  const other = await theirs.request.post(`/client/panel/services/${service + 1}/terminal/ticket`);
  expect(other.status()).toBe(404);
  expect(problems).toEqual([]);
  await theirs.context().close();
});

test("the play money of the sandbox is topped up on its page", async ({ page, customer }) => {
  await appoint(customer);
  await page.goto("/panel/reseller?world=sandbox");
  await expect(page.getByText("$50,000.00")).toBeVisible();
  await page.getByRole("button", { name: "Top up the play money" }).click();
  const dialog = page.getByRole("dialog", { name: "Top up the play money" });
  await dialog.getByRole("textbox", { name: "Amount" }).fill("125");
  await dialog.getByRole("button", { name: "Pay $125.00" }).click();
  await page.waitForURL(/\/pay\//);
  await page.getByRole("button").first().click();
  await page.waitForURL(/\/panel\/reseller\?.*world=sandbox/);
  await expect(page.getByText("$50,125.00")).toBeVisible();
  const { available } = await customer.call<{ available: { usd_cents: number } }>("GET", "/wallet");
  expect(available.usd_cents).toBe(0);
});
