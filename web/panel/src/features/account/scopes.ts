import type en from "./texts.en.json";
import { t } from "./texts";

type Name = keyof typeof en extends infer Key ? (Key extends `scope.${infer Scope}` ? Scope : never) : never;

/** What applications of third parties may ask for, in the order of the interface. */
export const scopes: Name[] = [
  "profile",
  "services:read",
  "services:write",
  "orders:read",
  "orders:write",
  "wallet:read",
  "wallet:write",
  "ai:read",
  "ai:write",
  "domains:read",
  "domains:write",
  "monitors:read",
  "monitors:write",
];

/** What a scope allows, in words; the server may know of more than this page. */
export const scopeText = (scope: string) => {
  const known = scopes.find((name) => name === scope);
  return known ? t(`scope.${known}`) : scope;
};
