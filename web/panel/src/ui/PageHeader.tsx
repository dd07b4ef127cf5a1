import { Group, Stack, Text, Title } from "@mantine/core";
import { useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, type ReactNode } from "react";

import { boot } from "~/app/boot";

interface Props {
  title: string;
  /** One sentence that says what the page is for. */
  description?: ReactNode;
  /** Beside the title, such as a state. */
  aside?: ReactNode;
  actions?: ReactNode;
}

/**
 * The head of a page: it names the document and, after a navigation, takes the focus, so that a screen reader says where
 * the reader is.
 */
export function PageHeader({ title, description, aside, actions }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const path = useRouterState({ select: (state) => state.location.pathname });
  // Where the reader has arrived: the page that is left keeps its head until then.
  const arrived = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  useEffect(() => {
    document.title = `${title} · ${boot.company}`;
  }, [title, arrived]);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
  }, [path]);
  return (
    <Group justify="space-between" align="flex-start" mb="lg" gap="md">
      <Stack gap={4}>
        <Group gap="sm">
          <Title order={1} ref={heading} tabIndex={-1}>
            {title}
          </Title>
          {aside}
        </Group>
        {description && <Text c="dimmed">{description}</Text>}
      </Stack>
      {actions && <Group gap="sm">{actions}</Group>}
    </Group>
  );
}
