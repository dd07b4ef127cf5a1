import { Stack, Text } from "@mantine/core";

import { cause } from "~/ui/outage/outage";
import { Status, type Tone } from "~/ui/Status";

import type { Monitor } from "./api";
import { t } from "./texts";

const tones: Record<Monitor["status"], Tone> = {
  pending: "busy",
  up: "good",
  degraded: "warn",
  down: "bad",
  maintenance: "neutral",
  paused: "neutral",
};

/** How what is watched does, and why. */
export function MonitorStatus({ monitor }: { monitor: Pick<Monitor, "status" | "error_key" | "type"> }) {
  const { status, error_key: key } = monitor;
  const waits = status === "pending" && monitor.type === "heartbeat";
  return (
    <Stack gap={2} align="flex-start">
      <Status tone={waits ? "neutral" : tones[status]} label={t(waits ? "status.waiting" : `status.${status}`)} />
      {key && (status === "down" || status === "degraded") && <Text size="sm">{cause(key)}</Text>}
    </Stack>
  );
}
