import { expect, test, unique } from "./fixture";

// Refusals are part of these tests.
test.use({ expected: ["status of 422"] });

// Row 6 of the tasks: records by keyboard on a phone.
test.use({ viewport: { width: 390, height: 844 } });

test("a record is added, edited, refused, deleted and brought back by keyboard", async ({ page, customer }) => {
  await page.goto(`/panel/services/${await customer.service()}/dns`);
  const add = page.getByRole("button", { name: "Add record", exact: true }).first();
  await add.focus();
  await page.keyboard.press("Enter");
  const fresh = page.getByRole("form", { name: "Add record" });
  await expect(fresh.getByLabel("Name")).toBeFocused();

  // What is typed is checked once the field is left.
  await page.keyboard.type("api");
  await page.keyboard.press("Tab");
  await page.keyboard.type("192.0.2.300");
  await page.keyboard.press("Enter");
  await expect(fresh.getByText("An IPv4 address, such as 192.0.2.7.")).toBeVisible();
  await expect(fresh.getByLabel("Value")).toBeFocused();
  await fresh.getByLabel("Value").fill("192.0.2.7");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("row", { name: /api.*192\.0\.2\.7/ })).toBeVisible();

  // What the server refuses comes back with the draft and its reason.
  await page.getByRole("button", { name: "Edit api A" }).focus();
  await page.keyboard.press("Enter");
  const edit = page.getByRole("form", { name: "Edit api A" });
  await edit.getByLabel("Name").fill("www");
  await edit.getByLabel("Value").fill("127.0.0.1");
  await page.keyboard.press("Enter");
  await expect(edit.getByText(/The zone has this record already/)).toBeVisible();
  await expect(edit.getByLabel("Name")).toHaveValue("www");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "Edit api A" })).toBeFocused();

  // An edit is on the page at once.
  await page.keyboard.press("Enter");
  await edit.getByLabel("Value").fill("192.0.2.8");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("row", { name: /api.*192\.0\.2\.8/ })).toBeVisible();

  await page.getByRole("button", { name: "Delete api A" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("row", { name: /api/ })).toBeHidden();
  await expect(page.getByRole("button", { name: "Undo" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("row", { name: /api.*192\.0\.2\.8/ })).toBeVisible();
});

test("a zone file is previewed, and a mail provider's records are added", async ({ page, customer }) => {
  await page.goto(`/panel/services/${await customer.service()}/dns`);
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Import a zone file" }).click();
  await page.getByRole("textbox", { name: "Zone file" }).fill("blog 600 IN A 192.0.2.9\n@ IN NS ns1.example.net.\n");
  await page.getByRole("button", { name: "Preview" }).click();
  await expect(page.getByText("1 record would be added")).toBeVisible();
  await expect(page.getByText("The name servers are ours")).toBeVisible();
  await page.getByRole("button", { name: "Add 1 record" }).click();
  await expect(page.getByRole("row", { name: /blog.*192\.0\.2\.9/ })).toBeVisible();

  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Records of a mail provider" }).click();
  await page.getByLabel("Mail provider", { exact: true }).selectOption("Zoho Mail");
  await page.getByRole("button", { name: "Use these records" }).click();
  await expect(page.getByRole("row", { name: /mx3\.zoho\.com/ })).toBeVisible();
});

test("an edit that is refused is told of, also when another follows it", async ({ page, customer }) => {
  const service = await customer.service();
  for (const name of ["one", "two", "three"])
    await customer.call("POST", `/services/${service}/dns`, { type: "A", name, value: "192.0.2.1" });
  await page.goto(`/panel/services/${service}/dns`);
  let release = () => {};
  const both = new Promise<void>((resolve) => (release = resolve));
  await page.route(/\/dns\/\d+$/, async (route) => {
    await both;
    await route.continue();
  });
  const first = page.getByRole("form", { name: "Edit one A" });
  await page.getByRole("button", { name: "Edit one A" }).click();
  await first.getByLabel("Name").fill("three");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Edit two A" }).click();
  await page.getByRole("form", { name: "Edit two A" }).getByLabel("Value").fill("192.0.2.2");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("row", { name: /two.*192\.0\.2\.2/ })).toBeVisible();
  release();
  await expect(first.getByText(/The zone has this record already/)).toBeVisible();
  await expect(first.getByLabel("Name")).toHaveValue("three");
  await expect(page.getByRole("row", { name: /two.*192\.0\.2\.2/ })).toBeVisible();
});

test("what was begun on the page of one service does not stand on that of another", async ({ page, customer }) => {
  const domain = `${unique("other")}.example.com`;
  const [service, other] = [await customer.service(), await customer.service({ domain })];
  await page.goto(`/panel/services/${service}/dns`);
  await page.getByRole("button", { name: "Add record", exact: true }).first().click();
  const form = page.getByRole("form", { name: "Add record" });
  await form.getByLabel("Name").fill("api");
  // As a notice leads there: the document stays.
  await page.evaluate((path) => history.pushState({}, "", path), `/panel/services/${other}/dns`);
  await expect(page.getByText(domain).first()).toBeVisible();
  await expect(form).toHaveCount(0);
});
