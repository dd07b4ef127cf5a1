import { createHash } from "node:crypto";

import { expect, served, test } from "./fixture";

test("deployments are listed, and the site goes back to an earlier one after a question", async ({
  page,
  customer,
}) => {
  const service = await customer.service();
  await customer.call("PUT", `/services/${service}/files/content`, {
    path: "/public_html/index.html",
    content: "by hand",
  });
  await page.goto(`/panel/services/${service}/deploys`);
  await expect(page.getByText("Nothing was deployed here yet")).toBeVisible();

  const deploy = async (content: string) => {
    const sha256 = createHash("sha256").update(content).digest("hex");
    await customer.upload(`/services/${service}/deploys/contents`, sha256, content);
    const files = [{ path: "index.html", sha256 }];
    const { id } = await customer.call<{ id: number }>("POST", `/services/${service}/deploys`, { files });
    return id;
  };
  const first = await deploy("one");
  await page.reload();
  await expect(page.getByRole("row", { name: "Before the first deployment" })).toBeVisible();
  // Another one comes while the list is looked at: what is chosen from the old list is not done.
  const second = await deploy("two");
  await page.getByRole("row", { name: "Before the first deployment" }).getByRole("button").click();
  const before = page.getByRole("dialog", { name: "Go back to the files before the first deployment?" });
  await before.getByRole("button", { name: "Go back to this" }).click();
  await expect(page.getByText("Something was deployed meanwhile.")).toBeVisible();
  expect(await served(customer, service, "/")).toBe("200 two");
  const row = (id: number) => page.getByRole("row", { name: `No. ${id}` });
  await expect(row(second).getByText("On the site")).toBeVisible();
  await expect(row(second).getByRole("button")).toHaveCount(0);
  expect(await served(customer, service, "/")).toBe("200 two");

  await row(first).getByRole("button", { name: "Go back to this" }).click();
  const dialog = page.getByRole("dialog", { name: `Go back to deployment no. ${first}?` });
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(await served(customer, service, "/")).toBe("200 two");
  await row(first).getByRole("button", { name: "Go back to this" }).click();
  await dialog.getByRole("button", { name: "Go back to this" }).click();
  await expect(page.getByText(`Went back to no. ${first}`)).toBeVisible();
  expect(await served(customer, service, "/")).toBe("200 one");
  await expect(page.getByText("On the site")).toHaveCount(1);
});
