import { t } from "./texts";

/** A browser by name: "Firefox on Windows". */
export function deviceName({ browser, system }: { browser: string; system: string }): string {
  if (browser && system) return t("device.both", { browser, system });
  return browser || system || t("device.unknown");
}
