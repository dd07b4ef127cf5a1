import { expect, test } from "./fixture";

test("a shell is typed into, ends, and is opened again", async ({ page, customer }) => {
  // The machine of these tests gives no shells, so the server's side is played here; internal/front/webui tests it.
  const service = await customer.service();
  const sizes: unknown[] = [];
  await page.route(`**/panel/services/${service}/terminal/ticket`, (route) =>
    route.fulfill({ json: { ticket: "once" } }),
  );
  await page.routeWebSocket(`**/panel/services/${service}/terminal/socket?*`, (socket) => {
    socket.send(Buffer.from("welcome to s7\r\n"));
    socket.onMessage((message) => {
      if (typeof message === "string") sizes.push(JSON.parse(message));
      else if (message.toString() === "q") void socket.close({ code: 1000 });
      else socket.send(Buffer.from(`[${message.toString()}]`));
    });
  });
  await page.goto(`/panel/services/${service}/terminal`);
  await expect(page.getByText("Connected")).toBeVisible();
  await expect(page.locator(".xterm-rows")).toContainText("welcome to s7");
  await page.keyboard.type("ls");
  await expect(page.locator(".xterm-rows")).toContainText("[l][s]");
  // Tab belongs to the shell; another key leads out, and Shift-Tab back in.
  await page.keyboard.press("Control+F6");
  await expect(page.getByRole("switch", { name: "For screen readers" })).toBeFocused();
  await page.keyboard.press("Shift+Tab");
  await expect(page.getByRole("textbox", { name: "Terminal" })).toBeFocused();
  await page.setViewportSize({ width: 700, height: 500 });
  await expect.poll(() => sizes.length).toBeGreaterThan(0);
  await page.keyboard.type("q");
  await expect(page.getByText("Ended", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Open again" }).click();
  await expect(page.getByText("Connected")).toBeVisible();
});
