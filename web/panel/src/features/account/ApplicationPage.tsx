import { Alert, Card, Group, Stack, Text, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { AnchorLink } from "~/ui/AnchorLink";
import { Confirm } from "~/ui/Confirm";
import { Copy } from "~/ui/Copy";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";

import { application, deleteApplication, rotateSecret, updateApplication, type Application } from "./api";
import { ApplicationForm } from "./ApplicationForm";
import { SecretDialog, type Shown } from "./SecretDialog";
import { t } from "./texts";

/** One of the integrator's applications. */
export function ApplicationPage({ id }: { id: number }) {
  const query = useQuery(application(id));
  return (
    <>
      <PageHeader
        title={query.data?.name ?? t("applications.title")}
        description={<AnchorLink to="/account/applications">{t("applications.back")}</AnchorLink>}
      />
      <Load query={query}>{(data) => <One present={data} />}</Load>
    </>
  );
}

function One({ present }: { present: Application }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [shown, setShown] = useState<Shown | null>(null);
  const changed = () => queries.invalidateQueries({ queryKey: ["applications"] });
  return (
    <Stack maw={720}>
      {present.disabled && <Alert color="red">{t("application.disabled.text")}</Alert>}
      <Card withBorder>
        <Stack>
          <Group gap="sm">
            <Text>{t("application.client_id")}</Text>
            <Copy value={present.client_id} label={t("application.client_id")} />
          </Group>
          <Text size="sm" c="dimmed">
            {t(`application.type.${present.type}`)} ·{" "}
            {t(present.type === "public" ? "application.public.hint" : "application.confidential.hint")}
          </Text>
          {present.type === "confidential" && (
            <Group>
              <Confirm
                label={t("secret.rotate")}
                title={t("secret.rotate")}
                text={t("secret.rotate.text")}
                action={async () => setShown(await rotateSecret(present.id))}
              />
            </Group>
          )}
        </Stack>
      </Card>
      <Card withBorder>
        <ApplicationForm
          present={present}
          label={t("save")}
          onSubmit={async ({ name, redirect_uris, scopes, sandbox }) => {
            await updateApplication(present.id, { name, redirect_uris, scopes, sandbox });
            await changed();
            done(t("application.saved"));
          }}
        />
      </Card>
      <Card withBorder>
        <Stack>
          <Title order={2} size="h4">
            {t("application.delete")}
          </Title>
          <Text>{t("application.delete.text")}</Text>
          <Group>
            <Confirm
              label={t("application.delete")}
              title={t("application.delete")}
              text={t("application.delete.text")}
              word={present.name}
              action={async () => {
                await deleteApplication(present.id);
                done(t("application.deleted", { name: present.name }));
                await navigate({ to: "/account/applications" });
                await changed();
              }}
            />
          </Group>
        </Stack>
      </Card>
      <SecretDialog shown={shown} onClose={() => setShown(null)} />
    </Stack>
  );
}
