// Prints the licences of the packages that are built in.
import { readFile, readdir } from "node:fs/promises";

const lock = JSON.parse(await readFile("package-lock.json", "utf8"));
const texts = [];
for (const [path, entry] of Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1))) {
  if (!path || entry.dev || entry.optional || entry.peer) continue;
  const { name, version, license } = JSON.parse(await readFile(`${path}/package.json`, "utf8"));
  const file = (await readdir(path)).find((f) => /^licen[cs]e/i.test(f));
  const text = file ? (await readFile(`${path}/${file}`, "utf8")).trim() : "";
  texts.push(`${name} ${version} (${license})\n\n${text}\n`);
}
process.stdout.write(texts.join("\n----\n\n"));
