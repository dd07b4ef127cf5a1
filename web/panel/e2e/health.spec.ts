import { expect, test } from "./fixture";

// Row 16 of the tasks: a scan and its remedy. The domains of tests lead nowhere, so the proof is asked for.
test("a scan of a site that does not lead here says what proves it, and insights lead to their remedy", async ({
  page,
  customer,
  expected,
}) => {
  expected.push("422");
  const service = await customer.service();
  await page.goto(`/panel/services/${service}/health`);
  await expect(page.getByRole("heading", { level: 1, name: "Health" })).toBeFocused();
  await expect(page.getByText("Not scanned yet")).toBeVisible();
  await page.getByRole("button", { name: "Scan the site now" }).click();
  await expect(page.getByText("The site has to be yours first")).toBeVisible();
  await expect(page.getByText(/^stead-verify=/)).toBeVisible();

  await page.getByRole("button", { name: "Look at the site" }).click();
  const insight = page.getByRole("article").filter({ hasText: "First page hidden from search" });
  await expect(insight).toBeVisible();
  await insight.getByRole("link", { name: "Ask the agent to mend it" }).click();
  await expect(page).toHaveURL(/\/agent\?task=/);

  await page.goto(`/panel/services/${service}/health`);
  await expect(page.getByText("Promised by the plan")).toBeVisible();
  await page.getByText("Set it up").click();
  await expect(page).toHaveURL(/\/account\/security/);
});
