import { expect, signIn, stead, test, unique } from "./fixture";

test.use({ storageState: async ({ owner }, provide) => provide(owner), expected: ["422"] });

// Only this test's customer is a reseller while the announcement is shown, or does not mind: it is withdrawn at the end, and no
// other test looks at what is announced to resellers.
test("what is announced is seen by those whom it concerns, told once, and dismissed on all devices", async ({
  page,
  browser,
}) => {
  const title = unique("Wholesale ");
  const { email, password } = await newReseller();
  await page.goto("/panel/staff/announcements");
  await page.getByRole("link", { name: "Write an announcement" }).first().click();
  await page.getByRole("textbox", { name: "Title" }).fill(title);
  await page.getByRole("textbox", { name: "Text" }).fill("New prices from January.");
  await page.getByLabel("Leads to").fill("https://elsewhere.example/");
  await page.getByLabel("For whom").selectOption("Resellers");
  await page.getByLabel("Notify each account that is concerned").check();
  await expect(page.getByRole("note", { name: title })).toContainText("New prices from January.");
  await page.getByRole("button", { name: "Save the draft" }).click();
  await expect(page.getByText(/Give the path of a page on this site/)).toBeVisible();
  await page.getByLabel("Leads to").fill("/panel/reseller");
  await page.getByRole("button", { name: "Save the draft" }).click();
  await expect(page).toHaveURL(/announcements\/\d+/);
  await page.getByText("Oʻzbekcha", { exact: true }).first().click();
  await page.getByRole("textbox", { name: "Title" }).fill("Ulgurji narxlar");
  await page.getByRole("textbox", { name: "Text" }).fill("Yanvardan yangi narxlar.");
  await page.getByRole("button", { name: "Save the draft" }).click();
  await page.getByRole("button", { name: "Publish" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByText(/accounts? sees? the banner and gets? a notification/)).toBeVisible();
  await dialog.getByRole("button", { name: "Publish" }).click();
  await expect(page.getByText(/accounts? (was|were) notified/)).toBeVisible();
  await expect(page.getByLabel("For whom")).toBeDisabled();

  // The reseller, on two devices.
  const phone = await browser.newContext({
    storageState: { cookies: [], origins: [] },
    viewport: { width: 390, height: 800 },
  });
  const laptop = await browser.newContext({ storageState: { cookies: [], origins: [] } });
  const [first, second] = [await phone.newPage(), await laptop.newPage()];
  await signIn(first, email, password);
  await signIn(second, email, password);
  const banner = first.getByRole("note", { name: title });
  await expect(banner.getByRole("link", { name: "More about it" })).toHaveAttribute("href", "/panel/reseller");
  const dismissed = first.waitForResponse(/announcements\/\d+\/dismiss/);
  await banner.getByRole("button", { name: `Do not show again: ${title}` }).click();
  await dismissed;
  await expect(banner).toHaveCount(0);
  await second.reload();
  await second.getByRole("heading", { level: 1 }).waitFor();
  await second.goto("/panel/notifications");
  await expect(second.getByText(title).first()).toBeVisible(); // in the list
  await expect(second.getByRole("note", { name: title })).toHaveCount(0);
  await phone.close();
  await laptop.close();

  await page.getByRole("button", { name: "Withdraw" }).click();
  await expect(page.getByText("Withdrawn", { exact: true })).toBeVisible();
});

async function newReseller() {
  const email = unique("reseller") + "@example.com";
  const { password } = await stead<{ password: string }>(
    "admin",
    "users",
    "create",
    email,
    "--name",
    "Rustam",
    "--locale",
    "en",
  );
  await stead("admin", "resellers", "appoint", email, "--tier", "silver", "--discount", "10");
  return { email, password };
}
