import { Button, Overlay, Paper, Stack, Text, Title } from "@mantine/core";
import { useEffect, useRef, useState } from "react";

import { leavePage } from "~/api/page";
import { channel, session } from "~/api/session";

import { boot } from "./boot";
import { onSignIn, signInOf, type SignIn } from "./signin";
import { t } from "./texts";

/** Asks to sign in again, over the page: what was typed stays. The calls that wait are repeated afterwards. */
export function SessionDialog() {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), [open]);
  useEffect(() => session.onChange(setOpen), []);
  useEffect(() => {
    const told = (event: MessageEvent<SignIn>) => {
      const act = onSignIn(event.data, signInOf(boot));
      if (act === "resume") session.resume();
      else if (act === "leave") void leavePage();
    };
    channel.addEventListener("message", told);
    return () => channel.removeEventListener("message", told);
  }, []);
  if (!open) return null;
  const signIn = () => {
    if (boot.client) location.reload();
    else
      window.open(`/login?next=${encodeURIComponent(boot.base + "/signed-in")}`, "stead-login", "width=520,height=720");
  };
  return (
    <Overlay fixed center zIndex={1000} backgroundOpacity={0.5}>
      <Paper role="alertdialog" aria-modal aria-labelledby="session-title" p="lg" maw={380} m="md" shadow="md">
        <Stack>
          <Title order={2} id="session-title">
            {t("session.title")}
          </Title>
          <Text>{t("session.text")}</Text>
          <Button ref={button} onClick={signIn}>
            {t("session.sign_in")}
          </Button>
        </Stack>
      </Paper>
    </Overlay>
  );
}
