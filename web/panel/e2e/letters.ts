import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { expect } from "./fixture";

/** The path of a link in a mail to somebody, which begins with a text, as the server's folder for mails has it. */
export async function linkTo(email: string, begin: string): Promise<string> {
  const folder = join(process.env.STEAD_DATA_DIR ?? "data", "mail");
  let path = "";
  await expect(async () => {
    for (const name of await readdir(folder)) {
      const mail = (await readFile(join(folder, name), "utf8")).replace(/=\r?\n/g, "").replace(/=3D/g, "=");
      const at = mail.indexOf(begin);
      if (at < 0 || !mail.includes(email)) continue;
      path = /^[\w/.-]+/.exec(mail.slice(at))?.[0] ?? "";
      return;
    }
    throw new Error(`no mail to ${email} has a link to ${begin}`);
  }).toPass();
  return path;
}
