import { defineConfig } from "@playwright/test";

// Run by internal/e2e (TestThePanelInABrowser), which starts the built program and says where it is.
export default defineConfig({
  testDir: "e2e",
  testIgnore: [
    ...(process.env.PANEL_SITES ? [] : ["machine*.spec.ts"]), // a Linux machine
    ...(process.env.DOCUMENT_PICTURES ? [] : ["pictures.spec.ts"]), // no test: what the documents show
    ...(process.env.PANEL_NODES ? [] : ["nodes.spec.ts"]), // hosting machines of their own
  ],
  fullyParallel: true,
  workers: 2,
  timeout: 360_000, // beside all other tests
  expect: { timeout: 60_000 },
  reporter: process.env.PANEL_REPORT ? [["json", { outputFile: process.env.PANEL_REPORT }]] : "list",
  outputDir: process.env.PANEL_RESULTS ?? "test-results",
  use: {
    actionTimeout: 90_000,
    baseURL: process.env.PANEL_URL ?? "http://127.0.0.1:8080",
    locale: "en-US",
    viewport: { width: 1280, height: 800 },
    launchOptions: {
      executablePath: process.env.PANEL_CHROMIUM ?? "/usr/bin/chromium-headless-shell",
      args: [
        "--no-sandbox", // it refuses root
        "--disable-gpu",
        "--disable-component-update",
        // A request to any other host fails at once, and is reported.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
      ],
    },
  },
});
