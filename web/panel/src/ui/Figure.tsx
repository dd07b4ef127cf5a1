import { Card, Text } from "@mantine/core";
import type { ReactNode } from "react";

/** A number that people look for, with what it is. */
export function Figure({ label, value, note }: { label: string; value: ReactNode; note?: string }) {
  return (
    <Card withBorder padding="md">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text size="xl" fw={650}>
        {value}
      </Text>
      {note && (
        <Text size="sm" c="dimmed">
          {note}
        </Text>
      )}
    </Card>
  );
}
