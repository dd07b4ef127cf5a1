/** What the server has put into the page: see panelBoot in internal/front/webui/panel.go. */
export interface Boot {
  base: string;
  lang: "uz" | "ru" | "en";
  company: string;
  /** Of the brand, #rrggbb; empty for the application's own. */
  color: string;
  /** Path of the picture that stands for the name; empty without one. */
  logo: string;
  support: string;
  /** Addresses of legal pages; each may be empty. */
  legal: { terms: string; privacy: string; imprint: string };
  sections: string[];
  /** Whom the page is made for: the account and who acts as it, or the service of a reseller's client. */
  holder: string;
  account: {
    id: number;
    name: string;
    email: string;
    verified: boolean;
    currency: string;
    reseller: boolean;
    /** Of staff; empty for customers. */
    role: "" | "owner" | "billing" | "support" | "technician" | "read_only";
    /** A member of staff is signed in as the account, until then (RFC 3339; empty for owners). */
    acting: boolean;
    until: string;
  } | null;
  client: { service: number; name: string; domain: string; until: string } | null;
}

const meta = document.querySelector<HTMLMetaElement>('meta[name="stead"]');
if (!meta) throw new Error("the page has no boot data");

export const boot = JSON.parse(meta.content) as Boot;

/** The nonce that style elements made by scripts must bear. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";

/** Whether the company has switched a section of the interface on. */
export const isOn = (section: string) => boot.sections.includes(section);
