import { Button, Group, Modal, Stack, Text, TextInput, type ButtonProps } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState, type ReactNode } from "react";

import { useAction } from "./action";
import { ErrorNote } from "./ErrorNote";
import { t } from "./texts";

interface Props extends Omit<ButtonProps, "children"> {
  /** What the button and the dialog's button say, such as "Delete database". */
  label: string;
  title: string;
  /** What will be lost, in words. */
  text: ReactNode;
  /** What the person must type before it is done, such as the name of what is deleted. */
  word?: string;
  action: () => Promise<unknown>;
  /** Instead of the label, an icon of the row; the label names it for screen readers. */
  icon?: ReactNode;
}

/** A button for what cannot be undone: it asks first, says what will be lost, and may ask for the name of it. */
export function Confirm({ label, title, text, word, action, icon, ...button }: Props) {
  const [opened, { open, close }] = useDisclosure();
  const [typed, setTyped] = useState("");
  const [run, { busy, error, clear }] = useAction(action);
  const shut = () => {
    setTyped("");
    clear();
    close();
  };
  const act = async () => {
    if (await run()) shut();
  };
  return (
    <>
      <Button variant="light" color="red" {...button} onClick={open} aria-label={icon ? label : undefined}>
        {icon ?? label}
      </Button>
      <Modal opened={opened} onClose={shut} title={title} centered>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            event.stopPropagation(); // React's events leave the dialog for a form that the button stands in
            if (!word || typed === word) void act();
          }}
        >
          <Stack>
            <Text component="div">{text}</Text>
            {word && (
              <TextInput
                label={t("confirm.type", { word })}
                value={typed}
                onChange={(event) => setTyped(event.currentTarget.value)}
                autoComplete="off"
                spellCheck={false}
                data-autofocus
              />
            )}
            <ErrorNote error={error} />
            <Group justify="flex-end">
              <Button variant="default" onClick={shut}>
                {t("cancel")}
              </Button>
              <Button type="submit" color="red" loading={busy} disabled={word !== undefined && typed !== word}>
                {label}
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  );
}
