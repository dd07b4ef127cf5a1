import { Card, Title, type CardProps } from "@mantine/core";
import type { ReactNode } from "react";

interface Props extends CardProps {
  /** The heading's id. It names the section, so it is unique on its page. */
  id: string;
  title: string;
  children: ReactNode;
}

/** A section of a page on a card, named by the heading on top of it. */
export function SectionCard({ id, title, children, ...card }: Props) {
  return (
    <Card withBorder component="section" aria-labelledby={id} {...card}>
      <Title order={2} id={id} mb="sm">
        {title}
      </Title>
      {children}
    </Card>
  );
}
