import { Alert, Button, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";

import { t } from "./texts";

/** Says that a list shows a part that another page has chosen, and leads to all of it. Without `text` it is what the dashboard counts. */
export function Narrowed({ on, text, onAll }: { on: boolean; text?: ReactNode; onAll: () => void }) {
  if (!on) return null;
  return (
    <Alert color="blue" variant="light" mb="md" role="note">
      <Group justify="space-between" gap="xs">
        <Text size="sm">{text ?? t("narrowed.stuck")}</Text>
        <Button size="compact-sm" variant="default" onClick={onAll}>
          {t("narrowed.all")}
        </Button>
      </Group>
    </Alert>
  );
}
