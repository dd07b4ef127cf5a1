import { Button, Group, PasswordInput } from "@mantine/core";
import type { ComponentProps } from "react";

import { t } from "./texts";
import { newPassword } from "./validate";

/** A new password: typed, or made here. It stays hidden until somebody looks. */
export function PasswordField({
  onMake,
  ...input
}: ComponentProps<typeof PasswordInput> & { onMake: (password: string) => void }) {
  return (
    <Group align="flex-start" gap="xs" wrap="nowrap">
      <PasswordInput
        flex={1}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ "aria-label": t("password.show") }}
        {...input}
      />
      <Button variant="default" mt={25} onClick={() => onMake(newPassword())}>
        {t("password.make")}
      </Button>
    </Group>
  );
}
