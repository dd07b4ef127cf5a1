import { Button, Card, Group, List, Progress, Stack, Text, Title } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { boot } from "~/app/boot";
import { bytes, money } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { Confirm } from "~/ui/Confirm";
import { AnchorLink } from "~/ui/AnchorLink";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import {
  closeAccount,
  closing,
  dataExport,
  deleteExport,
  downloadExport,
  requestExport,
  type Closing,
  type Export,
} from "./api";
import { t } from "./texts";

/** What we keep about the account: taken along, or ended. */
export function Data() {
  const query = useQuery(dataExport);
  const end = useQuery(closing);
  return (
    <>
      <PageHeader title={t("data.title")} description={t("data.description")} />
      <Stack maw={720}>
        <Card withBorder>
          <Stack>
            <Title order={2} size="h4">
              {t("export.title")}
            </Title>
            <Text>{t("export.text")}</Text>
            <Load query={query}>{(archive) => <Archive archive={archive} />}</Load>
          </Stack>
        </Card>
        <Card withBorder>
          <Stack>
            <Title order={2} size="h4">
              {t("close.title")}
            </Title>
            <Text>{t("close.text")}</Text>
            <Load query={end}>{(state) => <Close state={state} />}</Load>
          </Stack>
        </Card>
      </Stack>
    </>
  );
}

function Archive({ archive }: { archive: Export }) {
  const queries = useQueryClient();
  const changed = () => queries.invalidateQueries({ queryKey: ["account"] });
  const [request, { busy, error }] = useAction(async () => {
    await requestExport();
    await changed();
    done(t("export.asked"));
  });
  if (archive.status === "pending")
    return (
      <Stack gap="xs" aria-live="polite">
        <Text>{t("export.pending")}</Text>
        <Progress value={Math.max(archive.progress, 3)} animated aria-label={t("export.progress")} />
      </Stack>
    );
  return (
    <Stack>
      {archive.status === "failed" && <Text>{t("export.failed")}</Text>}
      {archive.status === "ready" && <Ready archive={archive} onDeleted={changed} />}
      <Group>
        <Button
          variant={archive.status === "ready" ? "default" : "filled"}
          loading={busy}
          onClick={() => void request()}
        >
          {t(archive.status === "none" ? "export.request" : "export.again")}
        </Button>
      </Group>
      <ErrorNote error={error} />
    </Stack>
  );
}

function Ready({ archive, onDeleted }: { archive: Export; onDeleted: () => Promise<void> }) {
  const [download, { busy, error }] = useAction(() =>
    downloadExport(`account-${(archive.requested_at ?? "").slice(0, 10)}.zip`),
  );
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <Status tone="good" label={t("export.ready")} />
        <Text size="sm" c="dimmed">
          {t("export.made")} <When time={archive.ready_at ?? ""} /> · {t("export.until")}{" "}
          <When time={archive.expires_at ?? ""} form="day" />
        </Text>
      </Group>
      <Group>
        <Button leftSection={<IconDownload size={18} aria-hidden />} disabled={busy} onClick={() => void download()}>
          {busy ? t("export.downloading") : t("export.download", { size: bytes(archive.size_bytes ?? 0) })}
        </Button>
        <Confirm
          label={t("export.delete")}
          title={t("export.delete")}
          text={t("export.delete.text")}
          action={async () => {
            await deleteExport();
            await onDeleted();
            done(t("export.deleted"));
          }}
        />
      </Group>
      <ErrorNote error={error} />
    </Stack>
  );
}

function Close({ state }: { state: Closing }) {
  const queries = useQueryClient();
  const email = boot.account?.email ?? "";
  if (!state.can_close)
    return (
      <Stack gap="xs">
        <Text>{t("close.before")}</Text>
        <List>
          {state.obstacles.map((obstacle) => (
            <List.Item key={obstacle.kind}>
              <Obstacle obstacle={obstacle} />
            </List.Item>
          ))}
        </List>
      </Stack>
    );
  return (
    <Group>
      <Confirm
        label={t("close.action")}
        title={t("close.title")}
        word={email}
        text={
          <Stack gap="xs">
            <Text fw={600}>{t("close.lost")}</Text>
            <List>
              {state.balance.usd_cents > 0 && (
                <List.Item>{t("close.lost.money", { amount: money(state.balance) })}</List.Item>
              )}
              <List.Item>{t("close.lost.access")}</List.Item>
              <List.Item>{t("close.lost.data")}</List.Item>
            </List>
            <Text size="sm">{t("close.kept")}</Text>
          </Stack>
        }
        action={async () => {
          try {
            await closeAccount(email, state.balance.usd_cents);
          } catch (failure) {
            await queries.invalidateQueries({ queryKey: ["account", "closing"] }); // something has changed meanwhile
            throw failure;
          }
          location.assign("/");
        }}
      />
    </Group>
  );
}

function Obstacle({ obstacle }: { obstacle: Closing["obstacles"][number] }) {
  const amount = obstacle.amount ? money(obstacle.amount) : "";
  switch (obstacle.kind) {
    case "services":
      return <AnchorLink to="/services">{t("close.services", { count: obstacle.count })}</AnchorLink>;
    case "domains":
      return <AnchorLink to="/domains">{t("close.domains", { count: obstacle.count })}</AnchorLink>;
    case "payments":
      return <AnchorLink to="/wallet">{t("close.payments")}</AnchorLink>;
    case "reserved":
      return <AnchorLink to="/orders">{t("close.reserved", { amount })}</AnchorLink>;
    case "debt":
      return <AnchorLink to="/wallet">{t("close.debt", { amount })}</AnchorLink>;
    case "staff":
      return <>{t("close.staff")}</>;
    default:
      return <AnchorLink to="/support/new">{t("close.other")}</AnchorLink>;
  }
}
