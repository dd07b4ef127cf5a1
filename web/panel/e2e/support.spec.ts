import { expect, test } from "./fixture";

test("a question with a picture, closing it, taking that back, and writing again", async ({ page, customer }) => {
  const service = await customer.service();
  await page.goto(`/panel/support/new?service=${service}`);
  await page.getByLabel("Subject").fill("Mail does not arrive");
  await page.getByLabel("Message").fill("Since this morning info@ gets nothing.\nWhat is wrong?");
  const picture = Buffer.alloc(40_000, 7);
  await page.locator("input[type=file]").setInputFiles({ name: "screen.png", mimeType: "image/png", buffer: picture });
  await expect(page.getByRole("button", { name: "Remove screen.png" })).toBeVisible();
  await page.getByRole("button", { name: "Send to support" }).click();

  await expect(page.getByRole("heading", { name: "Mail does not arrive" })).toBeVisible();
  await expect(page.getByText("With support")).toBeVisible();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: /screen\.png/ }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("screen.png");

  await page.getByRole("button", { name: "Close: it is answered" }).click();
  await page.getByRole("button", { name: "Undo" }).press("Enter");
  await expect(page.getByText("With support")).toBeVisible();

  await page.getByLabel("Your message").fill("It works again, thank you: https://example.com/kb/mail.");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect(page.getByRole("list", { name: "Messages" }).getByRole("listitem").last()).toContainText("thank you");
  await expect(page.getByRole("link", { name: "https://example.com/kb/mail", exact: true })).toBeVisible();
  await expect(page.getByLabel("Your message")).toHaveValue("");
});
