import { expect, stead, test, unique } from "./fixture";

test("a reseller's client finds the site in the reseller's brand, and nothing of ours", async ({
  page,
  customer,
  browser,
  expected,
}) => {
  expected.push("422");
  await stead("admin", "resellers", "appoint", customer.email, "--tier", "silver", "--discount", "10");
  const world = { "X-Stead-World": "sandbox" };
  await customer.call(
    "PATCH",
    "/reseller/me",
    { brand: { name: "Samarkand Web", color: "#7a0f5f" } },
    { headers: world },
  );
  const { data } = await customer.call<{ data: { plans: { id: number }[] }[] }>("GET", "/catalog");
  const domain = unique("shop") + ".example.com";
  const made = await customer.call<{ id: number }>(
    "POST",
    "/reseller/services",
    { plan_id: data[0]?.plans[0]?.id, domain },
    { headers: world, key: unique("service") },
  );
  await expect
    .poll(
      async () =>
        (await customer.call<{ status: string }>("GET", `/reseller/services/${made.id}`, undefined, { headers: world }))
          .status,
    )
    .toBe("active");
  const { login_link: link, usernames } = await customer.call<{ login_link: { url: string }; usernames: string[] }>(
    "POST",
    `/reseller/services/${made.id}/reset-password`,
    {},
    { headers: world },
  );

  const visitor = await (await browser.newContext({ viewport: { width: 390, height: 844 } })).newPage();
  await visitor.goto(new URL(link.url).pathname);
  await visitor.locator("main form button").click();
  await visitor.waitForURL(/\/client\/panel\//);
  await expect(visitor.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(visitor.getByText("Samarkand Web")).toBeVisible();
  await visitor.getByRole("button", { name: "Open the menu" }).click();
  await visitor.getByRole("link", { name: "Databases" }).click();
  await expect(visitor.getByRole("heading", { level: 1, name: "Databases" })).toBeVisible();
  for (const text of ["Stead", "Wallet", "Renew", "Price"]) {
    await expect(visitor.getByText(text, { exact: false })).toHaveCount(0);
  }
  expect(await visitor.title()).not.toContain("Stead");
  // The new password is shown to the client, once; the former address leads there, too.
  await visitor.goto("/client");
  await visitor.getByRole("main").getByRole("link", { name: "Passwords" }).click();
  await expect(visitor.getByText(usernames[0] ?? "nobody")).toBeVisible();
  await visitor.getByRole("button", { name: /^Show once/ }).click();
  const shown = visitor.getByRole("dialog", { name: "The password" });
  const password = await shown.getByText(/^[A-Za-z0-9]{24}$/).innerText();
  await shown.getByRole("button", { name: "Done" }).click();
  await expect(visitor.getByRole("button", { name: /^Make a new one/ })).toBeVisible();
  await expect(visitor.getByText(password)).toHaveCount(0);
  await visitor.goto("/client/panel/");
  await visitor.getByRole("button", { name: "End the visit" }).click();
  await expect(visitor.getByRole("main")).toBeVisible();
  await page.goto("/panel/");
});
