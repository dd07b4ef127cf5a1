import type { Page } from "@playwright/test";

import { Customer, expect, newAccount, served, signIn, stead, test } from "./fixture";

// Three nodes, which TestStaffMoveServicesInABrowser of internal/e2e starts.

interface Service {
  node: string;
  status: string;
}

test("staff move a service, call a move off, and empty a node", async ({ page, browser }) => {
  const owner = await newAccount("--admin");
  await signIn(page, owner.email, owner.password);
  const context = await browser.newContext({ storageState: { cookies: [], origins: [] } });
  const { email, password } = await newAccount();
  await signIn(await context.newPage(), email, password);
  const customer = new Customer(email, password, context.request);
  const id = await customer.service();
  await customer.call("PUT", `/services/${id}/files/content`, {
    path: "/public_html/index.html",
    content: "Moved whole",
  });
  const node = async () => (await stead<Service>("admin", "services", "show", String(id))).node;
  const first = await node();
  const [second, third] = ["node1", "node2", "node3"].filter((name) => name !== first) as [string, string];

  await page.goto(`/panel/staff/services/${id}`);
  const moves = page.getByRole("region", { name: "Moves" });
  await move(page, second);
  await expect(page.getByText("The service moves")).toBeVisible();
  await expect(moves.getByText(`${first} → ${second}`)).toBeVisible();
  await expect(moves.getByText("Moved", { exact: true })).toBeVisible();
  expect(await node()).toBe(second);
  await expect.poll(() => served(customer, id, "/")).toBe("200 Moved whole");

  // The first one has its former files, for visitors whose DNS is old, and the third one is drained: the page says that it waits.
  const dialog = page.getByRole("dialog");
  const nodes = () => page.getByRole("navigation").getByRole("link", { name: "Hosting machines", exact: true }).click();
  const empty = page.getByRole("region", { name: third, exact: true });
  await nodes();
  await empty.getByRole("button", { name: "Drain" }).click();
  await dialog.getByRole("button", { name: "Drain" }).click();
  await expect(page.getByText(`${third} gets no more services`, { exact: true })).toBeVisible();
  await expect(empty.getByText("Drained", { exact: true })).toBeVisible();
  const full = page.getByRole("region", { name: second, exact: true });
  const evacuate = async (reason: string, to = "") => {
    await full.getByRole("button", { name: "Move its services away" }).click();
    await dialog.getByRole("combobox", { name: "When" }).selectOption({ label: "At once" });
    await dialog.getByLabel("To the node").fill(to);
    await dialog.getByLabel("Reason").fill(reason);
    await dialog.getByRole("button", { name: "Move its services away" }).click();
    await expect(page.getByText("Services that move: 1")).toBeVisible();
  };
  await evacuate("It is slow");
  const underWay = page.getByRole("region", { name: "Services on their way" });
  await expect(underWay.getByText("Moving")).toBeVisible();
  await underWay.getByRole("link", { name: `#${id}` }).click();
  await expect(moves.getByText("Moving")).toBeVisible();
  await moves.getByRole("button", { name: "Call off" }).click();
  await dialog.getByLabel("Reason").fill("Not there");
  await dialog.getByRole("button", { name: "Call off" }).click();
  await expect(page.getByText("The move is being called off")).toBeVisible();
  await expect(moves.getByText("Stayed")).toBeVisible();
  expect(await node()).toBe(second);

  await nodes();
  await expect(underWay).toBeHidden();
  await full.getByRole("button", { name: "Place and limits" }).click();
  await dialog.getByLabel("Accounts at most").fill("7");
  await dialog.getByLabel("Disk that may be sold, in percent").fill("150");
  await dialog.getByLabel("Reason").fill("It is large");
  await dialog.getByRole("button", { name: "Place and limits" }).click();
  await expect(full.getByText("1 / 7", { exact: true })).toBeVisible();
  await expect(full.getByText("(150%)")).toBeVisible();
  await empty.getByRole("button", { name: "Resume" }).click();
  await dialog.getByRole("button", { name: "Resume" }).click();
  await expect(empty.getByText("Active", { exact: true })).toBeVisible();
  await evacuate("It gets a new disk", third);
  await expect(full.getByText("Drained", { exact: true })).toBeVisible();
  await expect.poll(node).toBe(third);
  await expect(dialog).toBeHidden();
  await expect(full.getByRole("button", { name: "Move its services away" })).toBeHidden(); // nothing is left on it
  await expect.poll(() => served(customer, id, "/")).toBe("200 Moved whole");
  await page.goto("/panel/staff/audit");
  for (const text of ["It gets a new disk", "Not there", "It is slow", "A test"])
    await expect(page.getByRole("listitem").getByText(text).first()).toBeVisible();
});

async function move(page: Page, to: string) {
  await page.getByRole("button", { name: "Move", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox", { name: "When" }).selectOption({ label: "At once" });
  await dialog.getByLabel("To the server").fill(to);
  await dialog.getByLabel("Reason").fill("A test");
  await dialog.getByRole("button", { name: "Move", exact: true }).click();
}
