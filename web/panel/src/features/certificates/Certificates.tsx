import { Anchor, Button, Group, Modal, Stack, Switch, Text, Textarea, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCertificate } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { useAction } from "~/ui/action";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { done, failed } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Refusal } from "~/ui/proof/Refusal";
import { Status, type Tone } from "~/ui/Status";
import { When } from "~/ui/When";

import { certificates, requestCertificate, type Certificate, type CertificateRequest } from "./api";
import { t } from "./texts";

const tones: Record<Certificate["status"], Tone> = {
  pending: "busy",
  issuing: "busy",
  active: "good",
  renewing: "busy",
  expiring: "warn",
  expired: "bad",
  failed: "bad",
};

export function Certificates({ service }: { service: number }) {
  const query = useQuery(certificates(service));
  const queries = useQueryClient();
  const [installing, installDialog] = useDisclosure();
  const [busy, setBusy] = useState("");
  const request = async (what: string, body: CertificateRequest, text: string) => {
    setBusy(what);
    try {
      await requestCertificate(service, body);
      await queries.invalidateQueries({ queryKey: ["service", service] });
      done(text);
    } catch (error) {
      failed(error);
    } finally {
      setBusy("");
    }
  };
  return (
    <>
      <PageHeader
        title={t("title")}
        description={t("description")}
        actions={
          <Button variant="default" onClick={installDialog.open}>
            {t("own")}
          </Button>
        }
      />
      <Load query={query}>
        {({ data, domains }) => (
          <Stack gap="xl">
            <DataTable
              caption={t("domains")}
              rows={domains}
              rowKey={(row) => row.id}
              columns={[
                { key: "name", label: t("column.name"), render: (row) => row.name },
                {
                  key: "state",
                  label: t("column.status"),
                  render: (row) => {
                    const with_ = data.find((one) => one.id === row.certificate_id);
                    return (
                      <Stack gap={2} align="flex-start">
                        {with_ ? (
                          <Status tone={tones[with_.status]} label={t(`status.${with_.status}`)} />
                        ) : (
                          <Status tone="neutral" label={t("status.none")} />
                        )}
                        {!row.preflight.can_issue && row.preflight.message && (
                          <Text size="sm">{row.preflight.message}</Text>
                        )}
                        {row.preflight.reason &&
                          ["dns_elsewhere", "dns_unknown", "not_proved"].includes(row.preflight.reason) && (
                            <Anchor size="sm" component={Link} to={`/services/${service}/domains`}>
                              {t("link.domains")}
                            </Anchor>
                          )}
                        {row.preflight.reason === "caa_forbids" && (
                          <Anchor size="sm" component={Link} to={`/services/${service}/dns`}>
                            {t("link.dns")}
                          </Anchor>
                        )}
                      </Stack>
                    );
                  },
                },
                {
                  key: "actions",
                  label: t("column.actions"),
                  actions: true,
                  render: (row) =>
                    row.preflight.can_issue && row.certificate_id === null ? (
                      <Button
                        size="compact-sm"
                        loading={busy === row.name}
                        onClick={() =>
                          void request(row.name, { domains: [row.name] }, t("ordered", { name: row.name }))
                        }
                      >
                        {t("order")}
                        <span className="visually-hidden"> {row.name}</span>
                      </Button>
                    ) : null,
                },
              ]}
            />
            <div>
              <Title order={2} size="h4" mb="sm">
                {t("certificates")}
              </Title>
              {data.length === 0 ? (
                <Empty icon={IconCertificate} title={t("empty.title")} text={t("empty.text")} />
              ) : (
                <DataTable
                  caption={t("certificates")}
                  rows={data}
                  rowKey={(row) => row.id}
                  columns={[
                    {
                      key: "names",
                      label: t("column.names"),
                      render: (row) => (
                        <Stack gap={2}>
                          <span>{row.sans.join(", ")}</span>
                          <Text size="xs" c="dimmed">
                            {row.kind === "custom" ? t("kind.custom") : (row.issuer ?? t("kind.acme"))}
                          </Text>
                        </Stack>
                      ),
                    },
                    {
                      key: "status",
                      label: t("column.status"),
                      render: (row) => (
                        <Stack gap={2} align="flex-start">
                          <Status tone={tones[row.status]} label={t(`status.${row.status}`)} />
                          {row.last_error && <Text size="sm">{row.last_error}</Text>}
                          {row.next_attempt_at && (
                            <Text size="xs" c="dimmed">
                              {t("next")} <When time={row.next_attempt_at} form="relative" />
                            </Text>
                          )}
                        </Stack>
                      ),
                    },
                    {
                      key: "expires",
                      label: t("column.expires"),
                      render: (row) => (row.expires_at ? <When time={row.expires_at} form="day" /> : "–"),
                    },
                    {
                      key: "switches",
                      label: t("column.settings"),
                      render: (row) => (
                        <Stack gap={4}>
                          {row.kind === "acme" && (
                            <Switch
                              size="xs"
                              label={t("auto_renew")}
                              checked={row.auto_renew}
                              onChange={(event) =>
                                void request(
                                  "",
                                  { certificate_id: row.id, auto_renew: event.currentTarget.checked },
                                  t("saved"),
                                )
                              }
                            />
                          )}
                          <Switch
                            size="xs"
                            label={t("hsts")}
                            checked={row.hsts}
                            disabled={!row.hsts && row.status !== "active"}
                            onChange={(event) =>
                              void request(
                                "",
                                { certificate_id: row.id, hsts: event.currentTarget.checked },
                                t("saved"),
                              )
                            }
                          />
                        </Stack>
                      ),
                    },
                    {
                      key: "actions",
                      label: t("column.actions"),
                      actions: true,
                      render: (row) =>
                        row.kind === "acme" && (
                          <Button
                            size="compact-sm"
                            variant="light"
                            loading={busy === `id ${row.id}`}
                            disabled={tones[row.status] === "busy"}
                            onClick={() =>
                              void request(
                                `id ${row.id}`,
                                { certificate_id: row.id },
                                t("ordered", { name: row.common_name }),
                              )
                            }
                          >
                            {t("again")}
                            <span className="visually-hidden"> {row.common_name}</span>
                          </Button>
                        ),
                    },
                  ]}
                />
              )}
            </div>
          </Stack>
        )}
      </Load>
      <Modal opened={installing} onClose={installDialog.close} title={t("own")} size="lg">
        <OwnForm
          service={service}
          onDone={async () => {
            installDialog.close();
            await queries.invalidateQueries({ queryKey: ["service", service] });
            done(t("installed"));
          }}
        />
      </Modal>
    </>
  );
}

/** An own certificate with its chain and key, in PEM. */
function OwnForm({ service, onDone }: { service: number; onDone: () => Promise<void> }) {
  const [values, setValues] = useState({ certificate: "", chain: "", private_key: "" });
  const [submit, { busy, error }] = useAction(async () => {
    await requestCertificate(service, { ...values, chain: values.chain.trim() || undefined });
    await onDone();
  });
  const field = (name: keyof typeof values, begin: string) => (
    <Textarea
      label={t(`field.${name}`)}
      placeholder={`-----BEGIN ${begin}-----`}
      value={values[name]}
      onChange={(event) => {
        const typed = event.currentTarget.value;
        setValues((before) => ({ ...before, [name]: typed }));
      }}
      autosize
      minRows={3}
      maxRows={8}
      spellCheck={false}
      autoComplete="off"
      ff="monospace"
    />
  );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Stack>
        {field("certificate", "CERTIFICATE")}
        {field("chain", "CERTIFICATE")}
        {field("private_key", "PRIVATE KEY")}
        <Text size="sm" c="dimmed">
          {t("own.text")}
        </Text>
        <Refusal error={error} onProven={submit} />
        <Group justify="flex-end">
          <Button type="submit" loading={busy} disabled={!values.certificate.trim() || !values.private_key.trim()}>
            {t("install")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
