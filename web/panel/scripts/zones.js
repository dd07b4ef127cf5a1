// Fails when a feature imports another feature.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const features = "src/features";
let wrong = 0;
const folders = readdirSync(features, { withFileTypes: true }).filter((one) => one.isDirectory());
for (const { name: feature } of folders) {
  for (const file of readdirSync(join(features, feature), { recursive: true })) {
    if (!/\.tsx?$/.test(file)) continue;
    const text = readFileSync(join(features, feature, file), "utf8");
    for (const [, other] of text.matchAll(/from "~\/features\/([^/"]+)/g)) {
      if (other === feature) continue;
      console.error(`${feature}/${file} imports the feature ${other}`);
      wrong++;
    }
  }
}
process.exitCode = wrong ? 1 : 0;
