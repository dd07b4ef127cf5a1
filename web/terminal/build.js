// Builds ../dist from this folder and its packages. With --check it builds nothing and fails when what is
// committed is not what it would build.
import { build } from "esbuild";
import { readFile, writeFile, mkdir } from "node:fs/promises";

const license = async (name) => {
  const { version, license } = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
  const text = await readFile(`node_modules/${name}/LICENSE`, "utf8");
  return `${name} ${version} (${license})\n\n${text.trim()}\n`;
};

const bundle = async (entry) => {
  const result = await build({
    entryPoints: [entry], bundle: true, minify: true, write: false, legalComments: "none", format: "iife", target: "es2021", charset: "utf8",
    logLevel: "warning",
  });
  return result.outputFiles[0].text;
};

const files = {
  "terminal.js": await bundle("terminal.js"),
  "terminal.css": await bundle("terminal.css"),
  "LICENSES.txt": (await Promise.all(["@xterm/xterm", "@xterm/addon-fit"].map(license))).join("\n----\n\n"),
};

const check = process.argv.includes("--check");
await mkdir("../dist", { recursive: true });
for (const [name, content] of Object.entries(files)) {
  if (!check) {
    await writeFile(`../dist/${name}`, content);
  } else if ((await readFile(`../dist/${name}`, "utf8")) !== content) {
    console.error(`web/dist/${name} is not what web/terminal builds (npm ci && npm run build)`);
    process.exitCode = 1;
  }
}
