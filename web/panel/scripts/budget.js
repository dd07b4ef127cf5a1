// Fails when the first load exceeds its budget: all scripts that the overview is drawn with, in the language with the longest texts, as
// gzip: the entries, the language's texts, the page, and what they import statically.
import { gzipSync } from "node:zlib";
import { readFileSync } from "node:fs";

const budget = 220 * 1024;
const dist = "../dist/panel/";
const manifest = JSON.parse(readFileSync(dist + "manifest.json", "utf8"));
const size = (file) => gzipSync(readFileSync(dist + file), { level: 9 }).length;

const reach = (key, seen = new Set()) => {
  if (seen.has(key)) return seen;
  seen.add(key);
  for (const next of manifest[key].imports ?? []) reach(next, seen);
  return seen;
};

const keys = Object.keys(manifest);
const entries = keys.filter((key) => manifest[key].isEntry);
const page = keys.filter((key) => key.startsWith("src/routes/index.tsx"));
const firstLoad = (lang) => {
  const first = new Set();
  for (const key of [...entries, ...page, `src/i18n/${lang}.ts`]) reach(key, first);
  return [...first].reduce((sum, key) => sum + size(manifest[key].file), 0);
};

const total = Math.max(...["en", "ru", "uz"].map(firstLoad));
console.log(`first load: ${(total / 1024).toFixed(1)} KB of script (gzip), of ${budget / 1024}`);
if (page.length !== 1 || !(total <= budget)) process.exitCode = 1;
