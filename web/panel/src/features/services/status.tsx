import { Status, type Tone } from "~/ui/Status";

import type { Service } from "./api";
import { t } from "./texts";

const tones: Record<Service["status"], Tone> = {
  pending: "busy",
  provisioning: "busy",
  active: "good",
  past_due: "warn",
  suspended: "bad",
  terminating: "busy",
  terminated: "neutral",
  failed: "bad",
  cancelled: "neutral",
};

export function ServiceStatus({ status }: { status: Service["status"] }) {
  return <Status tone={tones[status]} label={t(`status.${status}`)} />;
}
