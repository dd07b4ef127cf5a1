import { Badge } from "@mantine/core";
import { IconAlertTriangle, IconCircleCheck, IconCircleX, IconInfoCircle, IconProgress } from "@tabler/icons-react";

export type Tone = "good" | "busy" | "warn" | "bad" | "neutral";

const looks = {
  good: { color: "green", Icon: IconCircleCheck },
  busy: { color: "blue", Icon: IconProgress },
  warn: { color: "orange", Icon: IconAlertTriangle },
  bad: { color: "red", Icon: IconCircleX },
  neutral: { color: "gray", Icon: IconInfoCircle },
} as const;

/** A state by colour, shape and word. */
export function Status({ tone, label }: { tone: Tone; label: string }) {
  const { color, Icon } = looks[tone];
  return (
    <Badge
      variant="light"
      color={color}
      tt="none"
      fw={600}
      c={`var(--status-${tone})`}
      miw="fit-content"
      leftSection={<Icon size={14} aria-hidden />}
    >
      {label}
    </Badge>
  );
}
