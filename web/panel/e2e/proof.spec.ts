import { expect, newAccount, signIn, test, unique, Customer } from "./fixture";

test("hosting for a popular name is ordered only after a proof, whose record is shown", async ({
  page,
  customer,
  expected,
}) => {
  expected.push("422");
  await page.goto("/panel/order?domain=google.com");
  await page.getByRole("button", { name: "Go to payment" }).click();
  const proof = page.getByRole("alert").filter({ hasText: "Prove that google.com is yours" });
  await expect(proof.getByRole("definition").filter({ hasText: /^TXT$/ })).toBeVisible();
  await expect(proof.getByText("_stead-verify.google.com")).toBeVisible();
  await expect(proof.getByRole("button", { name: "Copy Value" })).toBeVisible();
  await proof.getByRole("button", { name: "Check now" }).click();
  await expect(proof.getByText(/^Not proven yet/)).toBeVisible({ timeout: 60_000 });

  // The refusal has left nothing, so the page has seen to it that the DNS is looked into from now on.
  const { data } = await customer.call<{ data: { domain: string }[] }>("GET", "/domain-claims");
  expect(data.map((one) => one.domain)).toEqual(["google.com"]);

  // Another name is another matter.
  await page.getByLabel("Name of the site").fill(unique("shop") + ".example.com");
  await expect(proof).toHaveCount(0);
});

test("an order goes on when the domain is proven", async ({ page, customer, expected, browser }) => {
  expected.push("422");
  // A stranger has a service under the name, of which nothing is proven.
  const domain = unique("mine") + "-co.com";
  const context = await browser.newContext({ storageState: { cookies: [], origins: [] } });
  const { email, password } = await newAccount();
  await signIn(await context.newPage(), email, password);
  await new Customer(email, password, context.request).service({ domain, plan: 0 });
  await context.close();

  await page.goto(`/panel/order?domain=${domain}`);
  await page.getByRole("button", { name: "Go to payment" }).click();
  const proof = page.getByRole("alert").filter({ hasText: `Prove that ${domain} is yours` });
  await expect(proof.getByText(`_stead-verify.${domain}`)).toBeVisible();

  // A registration here proves the name as a record does.
  await customer.credit(100);
  const contact = {
    name: "Anna Karimova",
    email: "anna@example.com",
    phone: "+998901234567",
    street: "Navoiy 1",
    city: "Tashkent",
    country: "UZ",
  };
  const { id } = await customer.call<{ id: number }>(
    "POST",
    "/domains",
    { domain, years: 1, contact },
    { key: unique("domain") },
  );
  const status = async () => (await customer.call<{ status: string }>("GET", `/domains/${id}`)).status;
  await expect.poll(status, { timeout: 60_000 }).toBe("active");
  await proof.getByRole("button", { name: "Check now" }).click();
  await expect(page.getByRole("heading", { level: 1, name: /^Order ORD-/ })).toBeVisible({ timeout: 60_000 });
  await expect(page.getByText(domain).first()).toBeVisible();
});
