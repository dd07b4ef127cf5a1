import { Button, type ButtonProps } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { ComponentPropsWithRef } from "react";

type Props = ButtonProps & Omit<ComponentPropsWithRef<"a">, keyof ButtonProps>;

/** A link to a page that looks like a button. */
export const ButtonLink = createLink(function MantineButton(props: Props) {
  return <Button component="a" {...props} />;
});
