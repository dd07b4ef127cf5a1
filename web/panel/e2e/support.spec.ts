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

test("what is typed to support is not lost by a change of language, by leaving, or while it is sent", async ({
  page,
  customer: _,
}) => {
  await page.goto("/panel/support/new");
  await page.getByLabel("Subject").fill("Two questions");
  await page.getByLabel("Message").fill("How much is a domain?");
  await page.getByRole("button", { name: /Language/ }).click();
  await page.getByRole("menuitem", { name: "Русский" }).click();
  await expect(page.locator("html")).toHaveAttribute("lang", "ru");
  await expect(page.locator("textarea").first()).toHaveValue("How much is a domain?");
  await page.getByRole("button", { name: /Язык/ }).click();
  await page.getByRole("menuitem", { name: "English" }).click();
  await expect(page.getByLabel("Subject")).toHaveValue("Two questions");

  await page.getByRole("link", { name: "Wallet" }).first().click();
  const question = page.getByRole("dialog", { name: "Leave this page?" });
  await question.getByRole("button", { name: "Stay" }).click();
  await expect(page.getByLabel("Message")).toHaveValue("How much is a domain?");
  await page.getByRole("button", { name: "Send to support" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Two questions" })).toBeVisible();

  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route(/\/tickets\/\d+\/messages$/, async (route) => {
    await released;
    await route.continue();
  });
  const answer = page.getByLabel("Your message");
  await answer.fill("And who is its owner?");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect(answer).not.toBeEditable();
  release();
  await expect(answer).toHaveValue("");
  await expect(answer).toBeEditable();
  await page.getByRole("link", { name: "Wallet" }).first().click();
  await expect(page.getByRole("heading", { level: 1, name: "Wallet" })).toBeVisible();
});
