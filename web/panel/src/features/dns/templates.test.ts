import { expect, test } from "vitest";

import { inTheWay, templates, zoneFile } from "./templates";

const template = (id: string) => {
  const found = templates.find((one) => one.id === id);
  if (!found) throw new Error(id);
  return found;
};

test("a template is a zone file", () => {
  expect(zoneFile(template("microsoft"), "shop.uz")).toBe(
    "@ 3600 IN MX 0 shop-uz.mail.protection.outlook.com.\n" +
      '@ 3600 IN TXT "v=spf1 include:spf.protection.outlook.com -all"\n' +
      "autodiscover 3600 IN CNAME autodiscover.outlook.com.\n",
  );
});

test("other providers' records are in the way, the platform's and the same are not", () => {
  const record = (id: number, type: string, value: string, managed_by: string | null = null, name = "@") => ({
    id,
    name,
    type,
    value,
    managed_by,
  });
  const records = [
    record(1, "MX", "mx.zoho.com"),
    record(2, "MX", "smtp.google.com"),
    record(3, "MX", "mail.node", "mail"),
    record(4, "TXT", "v=spf1 include:zohomail.com ~all"),
    record(5, "TXT", "v=spf10"),
    record(6, "MX", "mx.zoho.com", null, "lists"),
  ];
  expect(inTheWay(template("google"), "shop.uz", records).map((one) => one.id)).toEqual([1, 4]);
});
