import { tanstackRouter } from "@tanstack/router-plugin/vite";
import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

// The server in development: `make run` beside `npm run dev`.
const server = process.env.STEAD_SERVER ?? "http://127.0.0.1:8080";

export default defineConfig({
  base: "/panel/",
  publicDir: false,
  plugins: [
    tanstackRouter({
      target: "react",
      autoCodeSplitting: true,
      // A page's loader is in the page's chunk too: with dozens of pages, their queries would fill the first load.
      codeSplittingOptions: {
        defaultBehavior: [["loader", "component", "pendingComponent", "errorComponent", "notFoundComponent"]],
      },
      quoteStyle: "double",
      semicolons: true,
    }),
    react(),
  ],
  resolve: { alias: { "~": fileURLToPath(new URL("src", import.meta.url)) } },
  build: {
    outDir: "../dist/panel",
    emptyOutDir: true,
    manifest: "manifest.json",
    target: "es2022",
    sourcemap: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000, // scripts/budget.js bounds the first load
    // The lists of what each page's chunk needs would be half of the routes' code in the first load. Styles are loaded by
    // them alone; scripts import what they need.
    modulePreload: { polyfill: false, resolveDependencies: (_, deps) => deps.filter((file) => file.endsWith(".css")) },
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: ["src/app/start.ts", "src/app/main.tsx"],
      // Each file costs a round trip on a slow line: the first load is one file, and what pages share is packed into few.
      output: {
        codeSplitting: {
          groups: [
            { name: "start", test: /\/src\/app\/start\.ts$|vite\/preload-helper/ },
            { name: "first", tags: ["$initial"] },
            // By as many pages, so that the first page has little of what only others need.
            { name: "often", minShareCount: 30 },
            { name: "shared", minShareCount: 20 },
          ],
        },
      },
    },
  },
  server: {
    proxy: { "^/(?!panel/(src|node_modules|@)|panel/assets)": { target: server, changeOrigin: false } },
  },
});
