import { drawn, expect, test } from "./fixture";

test("Ctrl-K finds pages and services, and the assistant hands over to support", async ({ page, customer }) => {
  const name = "palette-" + Date.now() + ".example.com";
  const service = await customer.service({ domain: name });
  await page.goto("/panel/");
  await drawn(page);

  const search = page.getByPlaceholder("Find pages, services, domains and articles");
  await expect(async () => {
    await page.keyboard.press("Control+k"); // nobody hears it before the page is ready
    await expect(search).toBeVisible({ timeout: 5_000 });
  }).toPass();
  await search.fill("walle");
  await page.getByRole("button", { name: "Wallet", exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/panel\/wallet$/);

  await page.keyboard.press("Control+k");
  await search.fill(name.slice(0, 15));
  await page.getByRole("button", { name }).click();
  await expect(page).toHaveURL(new RegExp(`/panel/services/${service}$`));

  await page.keyboard.press("Control+k");
  await search.fill("Why is the sky blue?");
  await page.getByRole("button", { name: "Ask the assistant: Why is the sky blue?" }).click();
  const drawer = page.getByRole("dialog", { name: "Help" });
  await expect(drawer.getByRole("log").getByText("Why is the sky blue?")).toBeVisible();
  await expect(drawer.getByRole("log").getByText("Assistant")).toBeVisible();
  await drawer.getByRole("button", { name: "Write to support" }).click();
  const ticket = page.getByRole("dialog", { name: "Write to support" });
  await expect(ticket.getByLabel("Subject")).toHaveValue("Why is the sky blue?");
  await expect(ticket.getByLabel("Message")).toHaveValue(
    /What was said to the assistant:[^]*You: Why is the sky blue[?][^]*Assistant: /,
  );
  await ticket.getByRole("button", { name: "Send to support" }).click();
  await expect(page.getByRole("heading", { name: "Why is the sky blue?" })).toBeVisible();
  await expect(page.getByRole("link", { name })).toBeVisible();
});
