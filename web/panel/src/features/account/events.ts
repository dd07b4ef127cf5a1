import type { Tone } from "~/ui/Status";

import { t } from "./texts";

const kinds = [
  "signed_in",
  "sign_in_failed",
  "code_failed",
  "passkey_failed",
  "password_changed",
  "two_factor_on",
  "two_factor_off",
  "codes_renewed",
  "recovery_code_used",
  "passkey_added",
  "passkey_removed",
  "address_confirmed",
  "application_allowed",
  "application_removed",
  "staff_signed_in",
  "key_created",
  "key_revoked",
  "ssh_key_added",
  "ssh_key_removed",
  "ftp_account_added",
  "export_requested",
  "export_downloaded",
] as const;

type Kind = (typeof kinds)[number];

const known = (kind: string): kind is Kind => (kinds as readonly string[]).includes(kind);

/** What happened, in words; the server may know of more than this page. */
export const eventText = (kind: string) => (known(kind) ? t(`event.${kind}`) : kind);

const tones: Partial<Record<Kind, Tone>> = {
  signed_in: "good",
  two_factor_on: "good",
  passkey_added: "good",
  address_confirmed: "good",
  sign_in_failed: "bad",
  code_failed: "bad",
  passkey_failed: "bad",
  two_factor_off: "warn",
  recovery_code_used: "warn",
  passkey_removed: "warn",
  password_changed: "warn",
  export_requested: "warn",
  export_downloaded: "warn",
};

export const eventTone = (kind: string): Tone => (known(kind) && tones[kind]) || "neutral";
