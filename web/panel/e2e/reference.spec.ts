import { type Page } from "@playwright/test";

import { expect, test } from "./fixture";

// The pages of the interface at /docs/: a reader gets a token there by PKCE, or pastes one, and makes calls with it.

const field = (page: Page) => page.getByLabel("Access token or API key");

/** Signs in for a token on a page of the reference, and answers it. */
async function token(page: Page, path: string): Promise<string> {
  await page.goto(path);
  await page.getByText("Try it with a token").click();
  await page.getByRole("button", { name: "Sign in for a token" }).click();
  // The reference is of the same company: who is signed in is not asked for consent.
  await expect(field(page)).toHaveValue(/^sta_/);
  await expect(page).toHaveURL(new RegExp(`${path}$`)); // where the reader was
  return field(page).inputValue();
}

/** Asks for the profile from the page on which the call is described, and answers where the answer is. */
async function profile(page: Page) {
  const form = page.locator("form[data-path='/api/v1/me'][data-method='GET']");
  if (!(await form.isVisible())) await page.locator("details.try").filter({ has: form }).locator("summary").click();
  await form.getByRole("button", { name: "Send GET" }).click();
  return form.locator("[role=status]");
}

test("a reader signs in for a token on a page of the reference, calls with it, and forgets it", async ({
  page,
  customer,
  expected,
}) => {
  expected.push("401");
  const given = await token(page, "/docs/account");
  const answer = await profile(page);
  await expect(answer).toContainText("200");
  await expect(answer).toContainText(customer.email);

  await page.getByText("Try it with a token").click();
  await page.getByRole("button", { name: "Forget the token" }).click();
  await expect(page.getByText("Forgotten.")).toBeVisible();
  await expect(field(page)).toHaveValue("");

  await field(page).fill(given); // it was revoked, too
  await expect(await profile(page)).toContainText("401");
});

test("a pasted token works on each page of the reference, in its tab alone", async ({ page, customer }) => {
  const given = await token(page, "/docs/services");

  const tab = await page.context().newPage();
  await tab.goto("/docs/services");
  await expect(field(tab)).toHaveValue("");
  await tab.getByText("Try it with a token").click();
  await field(tab).fill(given);
  await field(tab).blur();
  await tab.goto("/docs/account");
  await expect(await profile(tab)).toContainText(customer.email);
});
