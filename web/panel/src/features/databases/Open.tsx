import { Button, Modal, Stack, Text } from "@mantine/core";
import { IconExternalLink } from "@tabler/icons-react";
import { useState } from "react";

import { failed } from "~/ui/notice";

import { openDatabase, type Database } from "./api";
import { unencrypted } from "./opening";
import { t } from "./texts";

/** Opens a database in a page of its own, signed in. */
export function Open({ service, row }: { service: number; row: Database }) {
  const [busy, setBusy] = useState(false);
  const [asked, setAsked] = useState<{ url: string; text: "open.plain" | "open.blocked" } | null>(null);
  const open = async () => {
    // Within the click: browsers block pages that are opened later.
    const page = window.open("about:blank", "_blank");
    setBusy(true);
    try {
      const { url } = await openDatabase(service, row.id);
      if (page === null || unencrypted(url, window.location.protocol)) {
        page?.close();
        setAsked({ url, text: page === null ? "open.blocked" : "open.plain" });
      } else {
        page.opener = null;
        page.location.replace(url);
      }
    } catch (error) {
      page?.close();
      failed(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button
        variant="light"
        size="compact-sm"
        leftSection={<IconExternalLink size={14} aria-hidden />}
        onClick={() => void open()}
        loading={busy}
        aria-label={t("open.label", { name: row.name })}
      >
        {t("open")}
      </Button>
      <Modal
        opened={asked !== null}
        onClose={() => setAsked(null)}
        title={t("open.label", { name: row.name })}
        centered
      >
        {asked && (
          <Stack>
            <Text>{t(asked.text)}</Text>
            <Button
              component="a"
              href={asked.url}
              target="_blank"
              rel="noopener noreferrer"
              onClick={() => setAsked(null)}
            >
              {t("open")}
            </Button>
          </Stack>
        )}
      </Modal>
    </>
  );
}
