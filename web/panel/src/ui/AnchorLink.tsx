import { Anchor, type AnchorProps } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { AnchorHTMLAttributes, Ref } from "react";

type Props = AnchorProps &
  Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof AnchorProps> & { ref?: Ref<HTMLAnchorElement> };

/** A link to a page of the panel that looks like Mantine's, with the router's types. */
export const AnchorLink = createLink(function MantineAnchor(props: Props) {
  return <Anchor inherit {...props} />;
});
