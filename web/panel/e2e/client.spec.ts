import { drawn, expect, test } from "./fixture";
import { appoint, soldInSandbox } from "./visits";

const logo =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 20"><rect width="90" height="20" rx="9" fill="#7a0f5f"/></svg>';

test("a reseller's client finds the site in the reseller's brand, and nothing of ours", async ({
  page,
  customer,
  browser,
  expected,
}) => {
  expected.push("422");
  await appoint(customer);
  // The reseller sees the brand before the clients do.
  await page.goto("/panel/reseller/settings?world=sandbox");
  const save = page.getByRole("button", { name: "Save" });
  await expect(save).toBeDisabled();
  await page.getByLabel("Name", { exact: true }).fill("Samarkand Web");
  await page.getByLabel("Colour of buttons and links").fill("#7a0f5f");
  await page.getByLabel("Support address").fill("help@reseller.example");
  await page.getByLabel("Privacy").fill("https://reseller.example/privacy");
  await page.getByLabel("Terms of service").fill("javascript:alert(1)");
  const files = page.locator('input[type="file"]');
  const picture = (content: string) => ({ name: "logo.svg", mimeType: "image/svg+xml", buffer: Buffer.from(content) });
  await files.first().setInputFiles(picture(logo.replace("<rect", "<script>alert(1)</script><rect")));
  await expect(page.getByRole("img", { name: "Dark" })).toContainText("help@reseller.example");
  await save.click();
  await expect(page.getByText("A whole address that begins with https://")).toBeVisible();
  await page.getByLabel("Terms of service").fill("https://reseller.example/terms");
  await save.click();
  await expect(page.getByRole("group", { name: "Logo" }).getByRole("alert")).toContainText("<script>");
  await files.first().setInputFiles(picture(logo));
  await save.click();
  await expect(page.getByText("Your clients see it from the next page on")).toBeVisible();
  await expect(save).toBeDisabled();
  const { link, usernames } = await soldInSandbox(customer);

  const visitor = await (await browser.newContext({ viewport: { width: 390, height: 844 } })).newPage();
  const theirs: string[] = [];
  visitor.on("request", (request) => theirs.push(new URL(request.url()).pathname));
  const branded = async () => {
    const shown = visitor.getByRole("banner").getByRole("img", { name: "Samarkand Web" });
    await expect(shown).toBeVisible();
    expect(await shown.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(0);
    await expect(visitor.locator('link[rel="icon"]')).toHaveAttribute("href", /^data:image\/svg/);
  };
  await visitor.goto(new URL(link).pathname);
  await expect(visitor).toHaveTitle(/Samarkand Web/);
  await branded();
  await expect(visitor.getByRole("contentinfo").getByRole("link", { name: "help@reseller.example" })).toBeVisible();
  await expect(visitor.locator("main form button")).toHaveCSS("background-color", "rgb(122, 15, 95)");
  await visitor.locator("main form button").click();
  await visitor.waitForURL(/\/client\/panel\//);
  await drawn(visitor);
  await branded();
  await visitor.getByRole("button", { name: "Open the menu" }).click();
  for (const [name, address] of [
    ["Terms", "https://reseller.example/terms"],
    ["Privacy", "https://reseller.example/privacy"],
    ["help@reseller.example", "mailto:help@reseller.example"],
  ] as const) {
    await expect(visitor.getByRole("link", { name })).toHaveAttribute("href", address);
  }
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
  await branded(); // also when it is over
  expect(theirs.filter((path) => path.startsWith("/brand/") || path === "/favicon.ico")).toEqual([]);
});
