import { Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

export type Fact = [name: string, value: ReactNode];

/** What is known of something, as names and values. */
export function Facts({ facts }: { facts: Fact[] }) {
  return (
    <Stack gap={6} component="dl" m={0}>
      {facts.map(([name, value]) => (
        <Group key={name} justify="space-between" gap="xs">
          <Text component="dt" size="sm" c="dimmed">
            {name}
          </Text>
          <Text component="dd" m={0} size="sm">
            {value}
          </Text>
        </Group>
      ))}
    </Stack>
  );
}
