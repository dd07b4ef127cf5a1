import { expect, test } from "./fixture";

// Row 17 of the tasks: ask, watch, approve, undo; with the rehearsed model of demonstrations, which needs no provider.
test("the agent asks before it changes a page, and the change is taken back", async ({ page, customer }) => {
  const service = await customer.service();
  const path = "/public_html/index.html";
  const before = "<!doctype html>\n<title>Shop</title>\n<h1>It works</h1>\n";
  await customer.call("PUT", `/services/${service}/files/content`, { path, content: before });
  const content = async () =>
    (await customer.call<{ content: string }>("GET", `/services/${service}/files/content?path=${path}`)).content;

  await page.goto(`/panel/services/${service}/agent`);
  await expect(page.getByText("The agent is off")).toBeVisible();
  await page.getByRole("radio", { name: "Read; it asks before each change" }).check();
  await page.getByRole("button", { name: "Switch it on" }).click();

  await page.getByLabel("Your task").fill("Change the heading of the home page");
  await expect(page.getByText(/A task holds at most \$1 in the wallet/)).toBeVisible();
  await page.getByRole("button", { name: "Send" }).click();

  // Nothing is written before a person has seen the difference and approved it.
  const question = page.getByRole("alert").filter({ hasText: "The agent asks you" });
  await expect(question).toBeVisible();
  await expect(question.getByText("<h1>It works, and the agent was here</h1>")).toBeVisible();
  expect(await content()).toBe(before);
  await question.getByRole("button", { name: "Approve", exact: true }).click();
  await expect(page.getByText("Done", { exact: true }).first()).toBeVisible();
  expect(await content()).not.toBe(before);

  await page.getByRole("button", { name: "Take back all changes" }).click();
  await expect(page.getByText("taken back").first()).toBeVisible();
  expect(await content()).toBe(before);
});
