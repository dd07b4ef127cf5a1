import { Status, type Tone } from "~/ui/Status";

import type { Finding } from "./api";
import { t } from "./texts";

const tones: Record<Finding["severity"], Tone> = {
  critical: "bad",
  high: "bad",
  medium: "warn",
  low: "neutral",
  info: "neutral",
};

export function Severity({ severity }: { severity: Finding["severity"] }) {
  return <Status tone={tones[severity]} label={t(`severity.${severity}`)} />;
}
