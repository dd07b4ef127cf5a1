import { Status, type Tone } from "~/ui/Status";

import type { State } from "./api";
import { t } from "./texts";

const tones: Record<State, Tone> = { open: "busy", waiting: "warn", answered: "good", closed: "neutral" };

export function TicketStatus({ status }: { status: State }) {
  return <Status tone={tones[status]} label={t(`status.${status}`)} />;
}
