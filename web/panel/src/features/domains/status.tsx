import { Status, type Tone } from "~/ui/Status";

import type { Domain } from "./api";
import { t } from "./texts";

const tones: Record<Domain["status"], Tone> = {
  pending_payment: "busy",
  pending_registration: "busy",
  pending_transfer_in: "busy",
  pending_verification: "warn",
  active: "good",
  expired: "warn",
  grace: "warn",
  redemption: "bad",
  pending_delete: "bad",
  transferred_out: "neutral",
  cancelled: "neutral",
  suspended: "bad",
  failed: "bad",
};

export function DomainStatus({ status }: { status: Domain["status"] }) {
  return <Status tone={tones[status]} label={t(`status.${status}`)} />;
}
