import { drawn, expect, test, unique } from "./fixture";

// What takes time ends in a notice, also when the page was closed or loaded anew meanwhile, and in one only.
test("what ends while the page is away is told once", async ({ page, customer }) => {
  const domain = unique("live") + ".example.com";
  const told = page.getByText(`${domain} is ready`);
  const heard = () =>
    page.waitForFunction(() => Object.keys(localStorage).some((key) => key.startsWith("stead.live.cursor")));
  await heard();

  await page.goto("about:blank");
  const service = await customer.service({ domain });
  await page.goto("/panel/services");
  await expect(told).toBeVisible();
  await page.getByRole("alert").filter({ has: told }).getByRole("link", { name: "Go there" }).click();
  await expect(page).toHaveURL(new RegExp(`/services/${service}$`));
  await expect(told).toBeHidden();

  await page.reload();
  await drawn(page);

  // A second one is told while the page is open, and the list follows by itself. The first one is not told again.
  await page.goto("/panel/services");
  await drawn(page);
  const other = unique("open") + ".example.com";
  await customer.service({ domain: other });
  await expect(page.getByText(`${other} is ready`)).toBeVisible();
  await expect(page.getByRole("main").getByText(other)).toBeVisible();
  await expect(told).toBeHidden();
});
