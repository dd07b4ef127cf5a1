import { expect, newAccount, signIn, test } from "./fixture";
import { reader } from "./texts";
import { totp } from "./totp";

// A demo asks no member of staff for a second factor, so its refusal is played here; internal/platform/api tests it.
test("staff without a second factor are led to it, and come in with it, in uz", async ({ page, expected }) => {
  expected.push("403");
  const l = reader("uz");
  const { email, password } = await newAccount("--admin");
  await signIn(page, email, password);
  const admin = "**/panel/api/v1/admin/**";
  await page.route(admin, (route) =>
    route.fulfill({ status: 403, json: { error: "second_factor_required", message: "Ikkinchi omil kerak." } }),
  );
  await page.goto("/panel/staff?lang=uz");
  await expect(page.getByText("Ikkinchi omil kerak.")).toBeVisible();
  await page.getByRole("link", { name: l("staffmenu.frame.second_factor") }).click();
  await expect(page.getByRole("heading", { level: 1, name: l("account.security.title") })).toBeFocused();
  await page.getByRole("button", { name: l("account.factor.setup"), exact: true }).click();
  const dialog = page.getByRole("dialog");
  const key = (await dialog.locator("code").first().textContent()) ?? "";
  await dialog.getByRole("textbox", { name: l("account.factor.code") }).fill(totp(key));
  await dialog.getByRole("button", { name: l("account.factor.enable") }).click();
  await dialog.getByLabel(l("account.codes.kept")).check();
  await dialog.getByRole("button", { name: l("account.codes.close") }).click();
  await expect(page.getByText(l("account.factor.codes_left", { count: 10 }))).toBeVisible();
  await page.unroute(admin);

  await page.context().clearCookies({ name: "stead_session" });
  await page.goto("/login?next=/panel/staff/staff");
  await page.locator("[name=email]").fill(email);
  await page.locator("[name=password]").fill(password);
  await page.locator("main form button").first().click();
  await page.locator("[name=code]").fill(totp(key, 30)); // each code is used once
  await page.locator("main form button").first().click();
  await expect(page.getByRole("heading", { level: 1, name: l("staffcompany.staff.title") })).toBeVisible();
  const own = page.getByRole("row").filter({ hasText: email });
  await expect(own.getByText(l("staffcompany.staff.on"))).toBeVisible();
});
