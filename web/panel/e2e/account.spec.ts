import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { expect, test } from "./fixture";
import { reader } from "./texts";
import { totp } from "./totp";

test("a customer changes name and language, and asks for another address", async ({ page, customer, expected }) => {
  expected.push("422");
  await page.goto("/panel/account/profile");
  await page.getByLabel("Name").fill("www.evil.example");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("A name cannot contain a link.")).toBeVisible();
  await page.getByLabel("Name").fill("Anna K.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Your profile is saved.")).toBeVisible();
  expect((await customer.call<{ name: string }>("GET", "/me")).name).toBe("Anna K.");
  await page.getByLabel("Address").fill("new-" + customer.email);
  await page.getByRole("button", { name: "Send the link" }).click();
  await expect(page.getByText(/A link is on its way to new-/)).toBeVisible();
  expect((await customer.call<{ email: string }>("GET", "/me")).email).toBe(customer.email);
});

test("two-factor sign-in is set up, asked for, and switched off", async ({ page, customer, expected }) => {
  expected.push("403"); // the proof that is asked for
  await page.goto("/panel/account/security");
  await page.getByRole("button", { name: "Set up" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("img", { name: /QR code/ })).toBeVisible();
  const key = (await dialog.locator("code").first().textContent()) ?? "";
  await dialog.getByRole("textbox", { name: "Code" }).fill(totp(key));
  await dialog.getByRole("button", { name: "Switch on" }).click();
  await expect(dialog.getByText(/Keep them/)).toBeVisible();
  const codes = await dialog.locator("li code").allTextContents();
  expect(codes).toHaveLength(10);
  await dialog.getByLabel("I have kept them").check();
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(page.getByText("10 recovery codes are left.")).toBeVisible();

  await page.context().clearCookies({ name: "stead_session" });
  await page.goto("/login");
  await page.locator("[name=email]").fill(customer.email);
  await page.locator("[name=password]").fill(customer.password);
  await page.locator("main form button").first().click();
  await page.locator("[name=code]").fill(codes[0] ?? "");
  await page.locator("main form button").first().click();
  await page.waitForURL(/\/panel\/$/);

  // After a while the password is asked for, over the page, and the change goes on.
  await page.goto("/panel/account/security");
  await page.route(
    "**/me/two-factor",
    (route) => route.fulfill({ status: 403, json: { error: "reauthentication_required", message: "" } }),
    {
      times: 1,
    },
  );
  await page.getByRole("button", { name: "Switch off" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Switch off" }).click();
  const proof = page.getByRole("dialog", { name: "Is it you?" });
  await proof.getByRole("textbox", { name: "Password", exact: true }).fill(customer.password);
  await proof.getByRole("textbox", { name: /^Code/ }).fill(totp(key, 30));
  await proof.getByRole("button", { name: "Confirm" }).click();
  await expect(page.getByText("Two-factor sign-in is off.")).toBeVisible();
});

test("a passkey is made, by a device with a fingerprint reader, and removed", async ({
  page,
  customer: _,
  baseURL,
  expected,
}) => {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  // Passkeys are bound to a name; the server's address is a bare one.
  await page.goto("/panel/account/security");
  await expect(page.getByText(/Passkeys are bound to a name/)).toBeVisible();
  const named = (baseURL ?? "").replace("127.0.0.1", "localhost");
  const session = (await page.context().cookies()).find(({ name }) => name === "stead_session");
  if (session) await page.context().addCookies([{ ...session, domain: "localhost" }]);
  await page.goto(`${named}/panel/account/security`);
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("My phone");
  await page.getByRole("dialog").getByRole("button", { name: "Add a passkey" }).click();
  await expect(page.getByText("My phone", { exact: true })).toBeVisible();

  // It signs in by itself.
  await page.context().clearCookies();
  await page.goto(`${named}/login?next=%2Fpanel%2Faccount%2Fsecurity`);
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await page.waitForURL(/\/panel\/account\/security$/);

  // It proves who is there, in the place of the password.
  expected.push("403");
  await page.route(
    "**/me/passkeys/*",
    (route) => route.fulfill({ status: 403, json: { error: "reauthentication_required", message: "" } }),
    { times: 1 },
  );
  const before = (await page.context().cookies()).find(({ name }) => name === "stead_session")?.value;
  await page.getByRole("button", { name: "Remove the passkey My phone" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove the passkey My phone" }).click();
  const proof = page.getByRole("dialog", { name: "Is it you?" });
  await proof.getByRole("button", { name: "Use a passkey" }).click();
  await expect(page.getByText("The passkey is removed.")).toBeVisible();
  const after = (await page.context().cookies()).find(({ name }) => name === "stead_session")?.value;
  expect(after).not.toBe(before);
});

test("a device that nobody knows is signed out, and the log tells of it", async ({
  page,
  customer,
  browser,
  expected,
}) => {
  expected.push("401", "422");
  const other = await browser.newContext({
    userAgent: "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1) Version/18.1 Safari/604.1",
  });
  const phone = await other.newPage();
  await phone.goto("/login");
  await phone.locator("[name=email]").fill(customer.email);
  await phone.locator("[name=password]").fill(customer.password);
  await phone.locator("main form button").first().click();
  await phone.waitForURL(/\/panel\/$/);

  await page.goto("/panel/account/sessions");
  await expect(page.getByText("This device")).toHaveCount(1);
  await page.getByRole("button", { name: "Sign out: Safari on iPhone" }).click();
  await expect(page.getByText("Signed out.")).toBeVisible();
  await expect(page.getByText("Safari on iPhone")).toHaveCount(0);
  await phone.goto("/panel/");
  await phone.waitForURL(/\/login/);
  await other.close();

  await page.goto("/panel/account/security");
  await page.getByLabel("Present password").fill("not the password");
  await page.getByLabel("New password").fill("staple of the wrong colour");
  await page.getByRole("button", { name: "Change the password" }).click();
  await expect(page.getByText("The password is wrong.")).toBeVisible();
  await page.getByLabel("Present password").fill(customer.password);
  await page.getByRole("button", { name: "Change the password" }).click();
  await expect(page.getByText(/The password is changed/)).toBeVisible();
  await page.goto("/panel/account/log");
  await expect(page.getByRole("cell", { name: /Password changed/ })).toBeVisible();
  await expect(page.getByRole("cell", { name: /Safari on iPhone/ })).toBeVisible();
});

test("an integrator registers an application, gets a new secret, and deletes it", async ({ page, customer: _ }) => {
  await page.goto("/panel/account/applications");
  await page.getByRole("button", { name: "New application" }).first().click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("checkbox", { checked: true })).toHaveCount(0);
  await dialog.getByRole("textbox", { name: "Name" }).fill("Backup tool");
  await dialog.getByRole("radio", { name: /Confidential/ }).check();
  await dialog.getByLabel("Redirect addresses").fill("https://app.example.com/callback");
  await dialog.getByRole("button", { name: "Register" }).click();
  await expect(dialog.getByText("Choose at least one.")).toBeVisible();
  await dialog.getByRole("checkbox", { name: /services:read/ }).check();
  await dialog.getByRole("button", { name: "Register" }).click();
  const shown = page.getByRole("dialog", { name: "Your application is ready" });
  await expect(shown).toBeVisible();
  const first = await shown.locator("code").nth(1).textContent();
  expect(first).toMatch(/^sts_/);
  await page.getByRole("button", { name: "Done" }).click();

  await page.getByRole("link", { name: "Backup tool" }).click();
  await page.getByRole("button", { name: "New secret" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "New secret" }).click();
  await expect(page.getByText("shown only this once")).toBeVisible();
  expect(await shown.locator("code").nth(1).textContent()).not.toBe(first);
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("Backups");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("The application is saved.")).toBeVisible();
  await page.getByRole("button", { name: "Delete the application" }).click();
  await page.getByRole("dialog").getByLabel("Type Backups to confirm").fill("Backups");
  await page.getByRole("dialog").getByRole("button", { name: "Delete the application" }).click();
  await expect(page.getByText("You have no applications yet")).toBeVisible();
});

test("a customer chooses what is mailed, and an essential topic stays on", async ({ page, customer }) => {
  await page.goto("/panel/notifications");
  await page.getByRole("link", { name: "Settings" }).click();
  await expect(page.getByRole("heading", { name: "Notification settings" })).toBeVisible();
  const mails = page.getByRole("switch", { name: "By mail: payments and orders" });
  await expect(mails).toBeChecked();
  await mails.focus();
  await page.keyboard.press("Space");
  await expect(mails).not.toBeChecked();
  await expect(page.getByRole("switch", { name: "On devices: payments and orders" })).toBeChecked();
  await expect(page.getByRole("switch", { name: /what you must know/ })).toHaveCount(0);
  const { data } = await customer.call<{ data: { topic: string; mail: boolean; push: boolean }[] }>(
    "GET",
    "/notifications/preferences",
  );
  expect(data.find(({ topic }) => topic === "payments")).toMatchObject({ mail: false, push: true });
  await page.reload();
  await expect(mails).not.toBeChecked();
});

test("a phone that is lost gets no more notifications", async ({ page, customer }) => {
  await customer.call("POST", "/me/devices", {
    platform: "android",
    token: "a-phone-that-is-lost-1234567890",
    name: "Pixel 9",
  });
  await page.goto("/panel/account/devices");
  await page.getByRole("button", { name: "Remove Pixel 9" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove Pixel 9" }).click();
  await expect(page.getByText("No device is registered")).toBeVisible();
  await page.goto("/panel/account/connections");
  await expect(page.getByText("No application is connected")).toBeVisible();
});

test("a review that is deleted is not written again", async ({ page, customer, expected }) => {
  expected.push("404"); // there is none afterwards
  await customer.service({ plan: 0 });
  const review = {
    author: "Anna K.",
    rating: 5,
    title: "It works",
    body: "Half a year without a fault.",
    locale: "en",
  };
  await customer.call("PUT", "/me/review", review);
  await page.goto("/panel/rewards");
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.method() !== "GET" && request.url().endsWith("/me/review")) sent.push(request.method());
  });
  const own = page.getByRole("region", { name: "Your review" });
  await own.getByRole("button", { name: "Delete the review" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the review" }).click();
  await expect(own.getByText("Tell others how it is here.")).toBeVisible();
  expect(sent).toEqual(["DELETE"]);
});

// Row 18, applications: from the question of consent to the end of it.
test("an application that was allowed stands among the connected ones, and is disconnected, in ru", async ({
  page,
  customer,
}) => {
  const l = reader("ru");
  await customer.call("PATCH", "/me", { locale: "ru" });
  // The application.
  const server = createServer((_, response) => response.end("The application has it."));
  await new Promise<void>((listens) => server.listen(0, "127.0.0.1", listens));
  const callback = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
  const { client_id: client } = await customer.call<{ client_id: string }>("POST", "/apps", {
    name: "Backup tool",
    type: "confidential", // a public one is asked for each time
    redirect_uris: [callback],
    scopes: ["profile", "services:read"],
  });
  const ask = new URLSearchParams({
    client_id: client,
    response_type: "code",
    redirect_uri: callback,
    scope: "profile services:read",
    state: "a-state",
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
  });
  await page.goto(`/oauth/authorize?${ask}`);
  await page.locator("[name=decision][value=allow]").click();
  await page.waitForURL(/\/callback\?/);
  expect(new URL(page.url()).searchParams.get("state")).toBe("a-state");
  expect(new URL(page.url()).searchParams.get("code")).toBeTruthy();
  await page.goto(`/oauth/authorize?${ask}`); // what was allowed is not asked for again
  await page.waitForURL(/\/callback\?/);
  server.close();

  await page.goto("/panel/account/connections");
  await expect(page.getByRole("heading", { level: 2, name: "Backup tool" })).toBeVisible();
  await expect(page.getByText(l("account.scope.services:read"))).toBeVisible();
  const name = l("account.connections.disconnect", { name: "Backup tool" });
  await page.getByRole("button", { name }).click();
  await page.getByRole("dialog").getByRole("button", { name }).click();
  await expect(page.getByText(l("account.connections.empty"))).toBeVisible();
  await page.goto(`/oauth/authorize?${ask}`);
  await expect(page.locator("[name=decision][value=allow]")).toBeVisible(); // that is over
});
