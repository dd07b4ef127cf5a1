import { expect, signIn, stead, test, unique } from "./fixture";

test("a session that ends while somebody types is renewed over the page", async ({
  page,
  customer,
  expected,
  context,
}) => {
  expected.push("401", "422");
  const service = await customer.service();
  await page.goto(`/panel/services/${service}/databases`);
  await page.getByRole("button", { name: "New database" }).first().click();
  await page.getByRole("dialog").getByLabel("Name").fill("shop");
  await context.clearCookies({ name: "stead_session" });
  // Not by the mouse: what the page reads by itself may have noticed first, and the question may cover the button.
  await page.getByRole("dialog").getByRole("button", { name: "New database" }).dispatchEvent("click");
  const dialog = page.getByRole("alertdialog");
  await expect(dialog).toBeVisible();
  const [window] = await Promise.all([
    context.waitForEvent("page"),
    dialog.getByRole("button", { name: "Sign in" }).click(),
  ]);
  await window.locator("[name=email]").fill(customer.email);
  await window.locator("[name=password]").fill(customer.password);
  await window.locator("main form button").first().click();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("dialog").getByLabel("Name")).toHaveValue("shop");
});

test("a tab of one account becomes no tab of another", async ({ page, customer, context, expected }) => {
  expected.push("409");
  const domain = unique("mine") + ".example.com";
  await customer.service({ domain });
  await page.goto("/panel/account/profile");
  await expect(page.getByRole("textbox", { name: "Name" })).toHaveValue("Anna Karimova");
  // The stream would tell this tab at once; what is told here is what it says itself.
  await page.route("**/events/stream", (route) => route.abort());
  await page.getByRole("textbox", { name: "Name" }).fill("Not Boris");
  const email = unique("boris") + "@example.com";
  const { password } = await stead<{ password: string }>(
    ...["admin", "users", "create", email, "--name", "Boris", "--locale", "en"],
  );
  await context.clearCookies({ name: "stead_session" });
  await signIn(await context.newPage(), email, password);
  await page.getByRole("main").getByRole("button", { name: "Save" }).first().click();
  await expect(page.getByText(`Now it shows ${email}`)).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Name" })).toHaveValue("Boris");
  await page.goto("/panel/services");
  await expect(page.getByText("No services yet")).toBeVisible();
  await expect(page.getByText(domain)).toHaveCount(0);
});

test("who is not signed out is told so", async ({ page, customer: _, expected }) => {
  expected.push("503");
  await page.route("**/logout", (route) =>
    route.fulfill({ status: 503, contentType: "text/html", body: "no database" }),
  );
  await page.getByRole("button", { name: /Account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page.getByText("You are still signed in here")).toBeVisible();
  await expect(page).toHaveURL(/\/panel\//);
  await page.unroute("**/logout");
  await page.getByRole("button", { name: /Account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.waitForURL((url) => !url.pathname.startsWith("/panel"));
  await page.goto("/panel/");
  await page.waitForURL(/\/login/);
});

test("another person who signs in finds nothing of the one before", async ({ page, customer }) => {
  const domain = unique("mine") + ".example.com";
  await customer.service({ domain });
  await page.goto("/panel/services");
  await expect(page.getByRole("link", { name: domain })).toBeVisible();
  await page.getByRole("button", { name: /Account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.waitForURL((url) => !url.pathname.startsWith("/panel"));
  await page.goto("/panel/services");
  await page.waitForURL(/\/login/);
  const email = unique("boris") + "@example.com";
  const { password } = await stead<{ password: string }>(
    ...["admin", "users", "create", email, "--name", "Boris", "--locale", "en"],
  );
  await signIn(page, email, password);
  await page.goto("/panel/services");
  await expect(page.getByRole("heading", { level: 1, name: "Services" })).toBeVisible();
  await expect(page.getByText("No services yet")).toBeVisible();
  await expect(page.getByText(domain)).toHaveCount(0);
});

test("the language changes at once, and stays", async ({ page, customer: _ }) => {
  await page.getByRole("button", { name: /^Language/ }).click();
  await page.getByRole("menuitem", { name: "Русский" }).click();
  await expect(page.getByRole("link", { name: "Услуги", exact: true }).first()).toBeVisible();
  await page.reload();
  await expect(page.getByRole("link", { name: "Услуги", exact: true }).first()).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("lang", "ru");
});
