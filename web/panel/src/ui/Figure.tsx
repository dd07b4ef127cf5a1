import { Card, Text } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  label: string;
  value: ReactNode;
  note?: string;
  /** What can be done about it. */
  children?: ReactNode;
}

/** A number that people look for, with what it is. */
export function Figure({ label, value, note, children }: Props) {
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
      {children && <div>{children}</div>}
    </Card>
  );
}
