// Fails when the first load exceeds its budget: the entries and what they import statically, as gzip.
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

const first = new Set();
for (const key of Object.keys(manifest)) if (manifest[key].isEntry) reach(key, first);
const total = [...first].reduce((sum, key) => sum + size(manifest[key].file), 0);
console.log(`first load: ${(total / 1024).toFixed(1)} KB of script (gzip), of ${budget / 1024}`);
if (total > budget) process.exitCode = 1;
