import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { get } from "node:http";
import { promisify } from "node:util";

import { test as base, expect, type APIRequestContext, type BrowserContext, type Page } from "@playwright/test";

const run = promisify(execFile);

/** Runs a command of the installation under test, such as `admin wallet credit`, and answers its JSON. */
export async function stead<T>(...args: string[]): Promise<T> {
  const { stdout } = await run(process.env.PANEL_BINARY ?? "../../bin/stead", [...args, "--json"]);
  return JSON.parse(stdout) as T;
}

/** A customer with an account of their own, who is signed in on the test's page. */
export class Customer {
  constructor(
    readonly email: string,
    readonly password: string,
    private readonly request: APIRequestContext,
  ) {}

  private page: string | null = null;

  /** Whom the pages of the panel are made for in this browser: what they send of themselves. */
  private async holder(): Promise<string> {
    if (this.page === null) {
      const headers = { "Sec-Fetch-Site": "same-origin" };
      const answer = await this.request.get("/panel/api/v1/me", { headers });
      this.page = `account/${((await answer.json()) as { id: number }).id}`;
    }
    return this.page;
  }

  /** Calls the interface as the panel does. */
  async call<T>(
    method: string,
    path: string,
    data?: unknown,
    { key, headers = {} }: { key?: string; headers?: Record<string, string> } = {},
  ): Promise<T> {
    const answer = await this.request.fetch(`/panel/api/v1${path}`, {
      method,
      data,
      headers: { "X-Stead-Panel": await this.holder(), ...headers, ...(key ? { "Idempotency-Key": key } : {}) },
    });
    if (!answer.ok()) throw new Error(`${method} ${path}: ${answer.status()} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  /** Sends a file as a form does. */
  async upload(path: string, name: string, content: string) {
    const answer = await this.request.fetch(`/panel/api/v1${path}`, {
      method: "POST",
      multipart: { file: { name, mimeType: "application/octet-stream", buffer: Buffer.from(content) } },
      headers: { "X-Stead-Panel": await this.holder() },
    });
    if (!answer.ok()) throw new Error(`${path}: ${answer.status()} ${await answer.text()}`);
  }

  /** Gives the customer money. */
  credit(dollars: number) {
    return stead("admin", "wallet", "credit", this.email, String(dollars), "--reason", "test");
  }

  /** Buys a hosting service and waits until it is there. */
  async service({ domain = unique("site") + ".example.com", plan: which = -1 } = {}): Promise<number> {
    await this.credit(500);
    const { data } = await this.call<{
      data: { type: string; plans: { id: number; prices: { period_months: number }[] }[] }[];
    }>("GET", "/catalog");
    const plan = data.find((product) => product.type === "hosting")?.plans.at(which); // the last one has the widest limits
    if (!plan?.prices[0]) throw new Error("the demo sells no hosting");
    const order = await this.call<{ id: number; service_id: number | null }>(
      "POST",
      "/orders",
      { plan_id: plan.id, domain, period_months: plan.prices[0].period_months },
      { key: unique("order") },
    );
    await this.call("POST", `/orders/${order.id}/pay`, {}, { key: unique("pay") });
    for (let i = 0; i < 300; i++) {
      const { data: list } = await this.call<{ data: { id: number; status: string; domain: string }[] }>(
        "GET",
        "/services",
      );
      const mine = list.find((one) => one.domain === domain);
      if (mine?.status === "active") return mine.id;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error("the service is not there after a minute");
  }
}

export const unique = (prefix: string) => prefix + randomBytes(5).toString("hex");

/** Waits until the application has replaced the frame that the server draws, whose heading is the same. */
export const drawn = (page: Page) => page.locator(".frame").waitFor({ state: "detached" });

/** Signs a page in, by the form that people use. */
export async function signIn(page: Page, email: string, password: string) {
  await page.goto("/login?next=/panel/");
  await page.locator("[name=email]").fill(email);
  await page.locator("[name=password]").fill(password);
  await page.locator("main form button").first().click();
  await page.waitForURL((url) => url.pathname.startsWith("/panel/"));
  await drawn(page);
}

/** What the hosting machine serves for a domain, whatever the DNS says. */
export async function served(customer: Customer, service: number, path: string): Promise<string> {
  const { origin_url, domain } = await customer.call<{ origin_url: string; domain: string }>(
    "GET",
    `/services/${service}`,
  );
  return new Promise((resolve, reject) => {
    get(new URL(path, origin_url), { headers: { Host: domain } }, (response) => {
      let body = "";
      response.on("data", (piece) => (body += piece));
      response.on("end", () => resolve(`${response.statusCode} ${body}`));
    }).on("error", reject);
  });
}

/** Makes an account and answers its address and password. */
export async function newAccount(...more: string[]) {
  const email = unique("anna") + "@example.com";
  const made = await stead<{ password: string }>(
    "admin",
    "users",
    "create",
    email,
    "--name",
    "Anna Karimova",
    "--locale",
    "en",
    ...more,
  );
  return { email, password: made.password };
}

/** A browser without a session: contexts would take that of the test. */
const signedOut = { cookies: [], origins: [] };

type State = Awaited<ReturnType<BrowserContext["storageState"]>>;

interface Shared {
  /** A customer with a service, who is a reseller too, shared by the tests of a worker that only look. */
  resident: { state: State; service: number; account: number; order: number; ticket: number };
  /** An owner of the company, shared by the tests of a worker: the cookies. */
  owner: State;
  /** What the pages that show one thing are of: ids of things of the resident and of the owner. */
  details: Omit<Shared["resident"], "state"> & {
    domain: number;
    invoice: number;
    monitor: number;
    application: number;
    /** A service that the resident has sold, and the cookies of its client. */
    resold: number;
    client: State;
    announcement: number;
    article: number;
  };
}

interface Fixtures {
  customer: Customer;
  /** Texts of problems that a test expects, such as a refused request; each is a part of what the browser says. */
  expected: string[];
}

export const test = base.extend<Fixtures, Shared>({
  expected: async ({ browserName: _ }, provide) => provide([]),

  // Every page is watched: an error on the console, a violation of the policy, a request to another host.
  page: async ({ page, expected }, provide) => {
    const problems: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning")
        problems.push(`console: ${message.text()} at ${message.location().url}`);
    });
    page.on("pageerror", (error) => problems.push(`thrown: ${error.message}`));
    page.on("request", (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (protocol.startsWith("http") && hostname !== "127.0.0.1" && hostname !== "localhost")
        problems.push(`a third party: ${request.url()}`);
    });
    await provide(page);
    // Another test may change the company's logo, whose address is of its content, between a page and its pictures.
    // The server ends a stream whose session has ended, or has got another token by a proof of who is there.
    const others = (problem: string) =>
      (problem.includes("404") && problem.includes("/brand/logo-")) ||
      /api\/v1\/(events\/stream|services\/\d+\/events)$/.test(problem);
    expect(problems.filter((problem) => !others(problem) && !expected.some((text) => problem.includes(text)))).toEqual(
      [],
    );
  },

  customer: async ({ page }, provide) => {
    const { email, password } = await newAccount();
    await signIn(page, email, password);
    await provide(new Customer(email, password, page.context().request));
  },

  resident: [
    async ({ browser }, provide, { project }) => {
      const context = await browser.newContext({ baseURL: project.use.baseURL, storageState: signedOut });
      const { email, password } = await newAccount();
      await stead("admin", "resellers", "appoint", email, "--tier", "silver", "--discount", "10");
      await signIn(await context.newPage(), email, password);
      const customer = new Customer(email, password, context.request);
      const service = await customer.service();
      const { id: account } = await customer.call<{ id: number }>("GET", "/me");
      const { data: orders } = await customer.call<{ data: { id: number }[] }>("GET", "/orders");
      const { id: ticket } = await customer.call<{ id: number }>(
        "POST",
        "/tickets",
        { subject: "My site is slow", message: "Since this morning.", service_id: service },
        { key: unique("ticket") },
      );
      const order = orders[0]?.id ?? 0;
      await provide({ state: await context.storageState(), service, account, order, ticket });
      await context.close();
    },
    { scope: "worker" },
  ],

  details: [
    async ({ browser, resident: { state, ...own }, owner }, provide, { project }) => {
      const open = async (storageState: State) => {
        const context = await browser.newContext({ baseURL: project.use.baseURL, storageState });
        return { context, person: new Customer("", "", context.request) };
      };
      const [customer, staff, client] = await Promise.all([open(state), open(owner), open(signedOut)]);
      const call = customer.person.call.bind(customer.person);
      const is = (path: string, status: string) =>
        expect.poll(async () => (await call<{ status: string }>("GET", path)).status).toBe(status);
      const { id: domain } = await call<{ id: number }>(
        "POST",
        "/domains",
        {
          domain: unique("name") + ".com",
          years: 1,
          contact: {
            name: "Anna Karimova",
            email: "anna@example.com",
            phone: "+998901234567",
            street: "Navoiy 1",
            city: "Tashkent",
            country: "UZ",
          },
        },
        { key: unique("domain") },
      );
      const monitor = await call<{ id: number; push_url: string }>("POST", "/monitors", {
        type: "heartbeat",
        name: "Nightly",
      });
      await customer.context.request.get(new URL(monitor.push_url).pathname);
      const { id: application } = await call<{ id: number }>("POST", "/apps", {
        name: "Backup tool",
        redirect_uris: ["http://127.0.0.1/callback"],
        scopes: ["profile", "services:read"],
      });
      await call("PUT", `/services/${own.service}/files/content`, {
        path: "/public_html/index.html",
        content: "<!doctype html>\n<title>Shop</title>\n<h1>It works</h1>\n",
      });
      const { data: catalog } = await call<{ data: { type: string; plans: { id: number }[] }[] }>("GET", "/catalog");
      const { id: resold } = await call<{ id: number }>(
        "POST",
        "/reseller/services",
        {
          plan_id: catalog.find(({ type }) => type === "hosting")?.plans[0]?.id,
          domain: unique("shop") + ".example.com",
          client_ref: "client-42",
        },
        { key: unique("resold") },
      );
      await is(`/domains/${domain}`, "active");
      await is(`/reseller/services/${resold}`, "active");
      const link = await call<{ url: string }>("POST", `/reseller/services/${resold}/login-link`, {});
      const visit = await client.context.newPage();
      await visit.goto(new URL(link.url).pathname);
      await visit.locator("main form button").click();
      await visit.waitForURL(/\/client\/panel\//);
      // An invoice gets its number, and is listed, shortly after it is paid.
      let invoice = 0;
      await expect(async () => {
        const { data } = await call<{ data: { id: number }[] }>("GET", "/invoices");
        invoice = data[0]?.id ?? 0;
        expect(invoice).toBeGreaterThan(0);
      }).toPass();
      const { announcement } = await staff.person.call<{ announcement: { id: number } }>(
        "POST",
        "/admin/announcements",
        {
          title: { en: "New disks" },
          body: { en: "Sites are slower tonight." },
          link: "/status",
          level: "warning",
          audience: "all",
          audience_of: "",
          starts_at: null,
          ends_at: null,
          notify: false,
          mail: false,
        },
      );
      const { data: articles } = await staff.person.call<{ data: { id: number }[] }>("GET", "/admin/articles");
      await provide({
        ...own,
        domain,
        invoice,
        monitor: monitor.id,
        application,
        resold,
        client: await client.context.storageState(),
        announcement: announcement.id,
        article: articles[0]?.id ?? 0,
      });
      await Promise.all([customer, staff, client].map(({ context }) => context.close()));
    },
    { scope: "worker" },
  ],

  owner: [
    async ({ browser }, provide, { project }) => {
      const context = await browser.newContext({ baseURL: project.use.baseURL, storageState: signedOut });
      const { email, password } = await newAccount("--admin");
      await signIn(await context.newPage(), email, password);
      await provide(await context.storageState());
      await context.close();
    },
    { scope: "worker" },
  ],
});

export { expect };
