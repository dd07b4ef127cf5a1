/** The records that a mail provider asks for, as of its own instructions. */
interface TemplateRecord {
  name: string;
  type: "MX" | "TXT" | "CNAME";
  value: string;
  priority?: number;
}

export interface Template {
  id: "google" | "microsoft" | "zoho" | "yandex";
  /** A brand, in no language. */
  name: string;
  records: (zone: string) => TemplateRecord[];
}

export const templates: Template[] = [
  {
    id: "google",
    name: "Google Workspace",
    records: () => [
      { name: "@", type: "MX", value: "smtp.google.com", priority: 1 },
      { name: "@", type: "TXT", value: "v=spf1 include:_spf.google.com ~all" },
    ],
  },
  {
    id: "microsoft",
    name: "Microsoft 365",
    records: (zone) => [
      { name: "@", type: "MX", value: `${zone.replaceAll(".", "-")}.mail.protection.outlook.com`, priority: 0 },
      { name: "@", type: "TXT", value: "v=spf1 include:spf.protection.outlook.com -all" },
      { name: "autodiscover", type: "CNAME", value: "autodiscover.outlook.com" },
    ],
  },
  {
    id: "zoho",
    name: "Zoho Mail",
    records: () => [
      { name: "@", type: "MX", value: "mx.zoho.com", priority: 10 },
      { name: "@", type: "MX", value: "mx2.zoho.com", priority: 20 },
      { name: "@", type: "MX", value: "mx3.zoho.com", priority: 50 },
      { name: "@", type: "TXT", value: "v=spf1 include:zohomail.com ~all" },
    ],
  },
  {
    id: "yandex",
    name: "Yandex 360",
    records: () => [
      { name: "@", type: "MX", value: "mx.yandex.net", priority: 10 },
      { name: "@", type: "TXT", value: "v=spf1 redirect=_spf.yandex.net" },
    ],
  },
];

/** A template as a zone file, which the server previews and adds as it does every import. */
export const zoneFile = (template: Template, zone: string) =>
  template
    .records(zone)
    .map(({ name, type, value, priority }) => {
      const data = type === "TXT" ? `"${value}"` : `${priority === undefined ? "" : `${priority} `}${value}.`;
      return `${name} 3600 IN ${type} ${data}\n`;
    })
    .join("");

interface Existing {
  id: number;
  name: string;
  type: string;
  value: string;
  managed_by: string | null;
}

const isSpf = (value: string) => /^v=spf1(\s|$)/i.test(value);

/**
 * The customer's records that would divide the mail between two providers: other MX and SPF records of the zone. Those of
 * the platform give way by themselves.
 */
export const inTheWay = <T extends Existing>(template: Template, zone: string, records: T[]): T[] => {
  const wanted = template.records(zone);
  return records.filter(
    (record) =>
      record.name === "@" &&
      record.managed_by === null &&
      (record.type === "MX" || (record.type === "TXT" && isSpf(record.value))) &&
      !wanted.some((other) => other.type === record.type && other.value === record.value),
  );
};
