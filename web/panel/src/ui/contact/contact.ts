import type { components } from "~/api/schema";

export type Contact = Required<components["schemas"]["DomainsContact"]>;

export const emptyContact: Contact = {
  name: "",
  organization: "",
  email: "",
  phone: "",
  street: "",
  city: "",
  region: "",
  postal_code: "",
  country: "",
};

export type Problem = "required" | "email" | "phone" | "country";

/** Why a value of a registrant is not possible; null when it is. The registry remains the judge. */
export function contactProblem(field: keyof Contact, value: string): Problem | null {
  const text = value.trim();
  switch (field) {
    case "name":
    case "street":
    case "city":
      return text ? null : "required";
    case "email":
      return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text) ? null : "email";
    case "phone":
      return /^\+[1-9]\d{6,14}$/.test(text.replace(/[\s().-]/g, "")) ? null : "phone";
    case "country":
      return /^[A-Za-z]{2}$/.test(text) ? null : "country";
    default:
      return null;
  }
}

/** A contact as the interface takes it: nothing that is empty, a number without blanks. */
export function tidy(contact: Contact): components["schemas"]["DomainsContact"] {
  const kept = Object.fromEntries(
    Object.entries(contact)
      .map(([field, value]) => [field, value.trim()] as const)
      .filter(([, value]) => value !== ""),
  ) as unknown as Contact;
  return { ...kept, phone: (kept.phone ?? "").replace(/[\s().-]/g, ""), country: (kept.country ?? "").toUpperCase() };
}
