import { Status, type Tone } from "~/ui/Status";

import type { Order } from "./api";
import { t } from "./texts";

const tones: Record<Order["status"], Tone> = {
  pending: "warn",
  paid: "busy",
  processing: "busy",
  completed: "good",
  failed: "bad",
  refunded: "neutral",
  cancelled: "neutral",
  expired: "neutral",
};

export function OrderStatus({ status }: { status: Order["status"] }) {
  return <Status tone={tones[status]} label={t(`status.${status}`)} />;
}
