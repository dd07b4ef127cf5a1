import { Paper, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import type { Icon } from "@tabler/icons-react";
import type { ReactNode } from "react";

/** What a list shows when it is empty: what would stand there, and how to begin. */
export function Empty({
  icon: Shape,
  title,
  text,
  action,
}: {
  icon: Icon;
  title: string;
  text?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="xs" ta="center">
        <ThemeIcon size={48} radius="xl" variant="light">
          <Shape aria-hidden />
        </ThemeIcon>
        <Title order={2} size="h4">
          {title}
        </Title>
        {text && (
          <Text c="dimmed" maw={460}>
            {text}
          </Text>
        )}
        {action}
      </Stack>
    </Paper>
  );
}
