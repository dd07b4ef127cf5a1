import { chromium, type Page } from "@playwright/test";
import lighthouse from "lighthouse";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

import { expect, test } from "./fixture";

// Lighthouse judges the shop front and the panel, as on a phone. The score of performance depends on the load of the machine that
// measures, because the work of the scripts is a third of it, so it is printed only; the rest of what it is made of is asserted.
for (const [name, path] of [
  ["the shop front", "/"],
  ["the panel", "/panel/"],
] as const) {
  test(`Lighthouse: ${name}`, async ({ page, customer, baseURL }, { project }) => {
    test.setTimeout(180_000); // on a machine that may be busy
    if (path !== "/") await customer.service();
    const inPanel = path.startsWith("/panel");
    const report = await judge(
      new URL(path, baseURL).href,
      inPanel ? await cookies(page) : "",
      project.use.launchOptions,
    );
    const score = (category: string) => report.categories[category]?.score ?? 0;
    const numeric = (audit: string) => report.audits[audit]?.numericValue ?? Infinity;
    const shown = ["first-contentful-paint", "largest-contentful-paint", "speed-index", "total-blocking-time"]
      .map((audit) => `${audit} ${report.audits[audit]?.displayValue}`)
      .join(", ");
    console.log(`Lighthouse, ${path}: performance ${Math.round(score("performance") * 100)} (${shown})`);
    const failed = (category: string) =>
      report.categories[category]?.auditRefs
        .filter(({ id, weight }) => weight > 0 && (report.audits[id]?.score ?? 1) < 1)
        .map(({ id }) => `${id}: ${report.audits[id]?.explanation ?? report.audits[id]?.title ?? ""}`)
        .join("; ");
    for (const category of ["accessibility", "best-practices", ...(inPanel ? [] : ["seo"])]) {
      expect(score(category), `${category}: ${failed(category)}`).toBeGreaterThanOrEqual(0.95);
    }
    expect(numeric("cumulative-layout-shift"), "cumulative layout shift").toBeLessThan(0.1);
    expect(numeric("first-contentful-paint"), "first contentful paint").toBeLessThan(2500);
    expect(numeric("total-byte-weight"), "bytes").toBeLessThan(inPanel ? 450_000 : 100_000);
  });
}

const cookies = async (page: Page) =>
  (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");

/** Looks at a page with a browser of its own, which sends these cookies. */
async function judge(url: string, cookie: string, options: Parameters<typeof chromium.launch>[0]) {
  const port = await freePort();
  const browser = await chromium.launch({
    ...options,
    args: [...(options?.args ?? []), `--remote-debugging-port=${port}`],
  });
  try {
    const result = await lighthouse(url, {
      port,
      logLevel: "silent",
      onlyCategories: ["performance", "accessibility", "best-practices", "seo"],
      ...(cookie ? { extraHeaders: { Cookie: cookie } } : {}),
    });
    if (!result) throw new Error("Lighthouse says nothing");
    expect(result.lhr.runtimeError).toBeUndefined();
    return result.lhr;
  } finally {
    await browser.close();
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
