import { useForm } from "@mantine/form";

import { kinds, sent, type Plan } from "./picture";
import { t } from "./texts";

/** What is set of a brand. */
export interface Settings {
  name: string;
  color: string;
  support_email: string;
  terms_url: string;
  privacy_url: string;
  imprint_url: string;
}

export interface BrandValues extends Settings, Record<string, unknown> {
  logo: Plan;
  icon: Plan;
}

export const isColor = (color: string) => /^#[0-9a-f]{6}$/i.test(color);

const link = (text: string) => (text === "" || /^https?:\/\/[^\s]+$/.test(text) ? null : t("link.wrong"));

export function useBrandForm({ name, color, support_email, terms_url, privacy_url, imprint_url }: Settings) {
  const keep: Plan = { keep: true };
  return useForm<BrandValues>({
    mode: "controlled",
    validateInputOnChange: true, // staff send it by a button that waits until all is right
    initialValues: { name, color, support_email, terms_url, privacy_url, imprint_url, logo: keep, icon: keep },
    validate: {
      color: (text) => (text === "" || isColor(text) ? null : t("color.wrong")),
      support_email: (text) => (text === "" || /^\S+@\S+$/.test(text) ? null : t("support.wrong")),
      terms_url: link,
      privacy_url: link,
      imprint_url: link,
    },
  });
}

export type BrandForm = ReturnType<typeof useBrandForm>;

/** Whether anything differs from what is live. */
export const isChanged = (form: BrandForm) => kinds.some((kind) => !("keep" in form.values[kind])) || form.isDirty();

/** The body of the request that makes a brand live. */
export function bodyOf({ logo, icon, name, color, support_email, terms_url, privacy_url, imprint_url }: BrandValues) {
  return { name, color, support_email, terms_url, privacy_url, imprint_url, ...sent({ logo, icon }) };
}
