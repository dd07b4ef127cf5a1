import { Alert, Button, Card, Group, SimpleGrid, Stack, Text, Textarea, Title } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { setEnding } from "~/api/page";
import { number } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { Confirm } from "~/ui/Confirm";
import { DataTable } from "~/ui/DataTable";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { PageLoad } from "~/ui/PageLoad";
import { type StaffPage } from "~/ui/staff/page";
import { Pager } from "~/ui/Pager";
import { Act } from "~/ui/staff/Act";
import { useCan } from "~/ui/staff/api";
import { useChanged } from "~/ui/staff/changed";
import { Facts, type Fact } from "~/ui/staff/Facts";
import {
  Colleague,
  DocumentTable,
  documents,
  orders,
  OrderTable,
  services,
  ServiceTable,
  tickets,
  TicketTable,
} from "~/ui/staff/lists";
import { t as shared } from "~/ui/staff/texts";
import { usd } from "~/ui/staff/usd";
import { When } from "~/ui/When";

import {
  addNote,
  credit,
  customer,
  debit,
  ledger,
  removeNote,
  resetTwoFactor,
  signInAs,
  suspend,
  takeBack,
  unsuspend,
  type Customer,
} from "./api";
import { t } from "./texts";

/** Everything about a customer, and what staff do for one. */
export function CustomerPage({ id }: StaffPage) {
  const account = Number(id);
  const query = useQuery(customer(account));
  const changed = useChanged();
  return (
    <PageLoad query={query}>
      {(data) => (
        <>
          <PageHeader
            title={data.name || data.email}
            description={`${data.email} · #${data.id}`}
            actions={<Actions data={data} changed={changed} />}
          />
          <Stack gap="lg">
            {data.closed_at && <Alert color="gray" title={t("closed")} />}
            {data.suspended_at && !data.closed_at && (
              <Alert color="orange" title={t("suspended", { reason: data.suspend_reason })} />
            )}
            {data.role !== "" && (
              <Alert color="blue" title={t("staff", { role: t(`role.${data.role}` as "role.owner") })} />
            )}
            <SimpleGrid cols={{ base: 1, md: 2 }}>
              <Profile data={data} />
              <Money data={data} changed={changed} />
            </SimpleGrid>
            <Notes data={data} changed={changed} />
            <Services account={account} />
            <Tickets account={account} />
            <Orders account={account} />
            <Documents account={account} />
            <Ledger account={account} changed={changed} />
          </Stack>
        </>
      )}
    </PageLoad>
  );
}

interface Part {
  data: Customer;
  changed: (message: string) => Promise<void>;
}

function Actions({ data, changed }: Part) {
  const { id, email } = data;
  if (data.closed_at) return null;
  return (
    <>
      {data.role === "" && !data.suspended_at && (
        <Act
          operation="staff.customers.sign_in_as"
          label={t("enter")}
          text={t("enter.text", { email })}
          reason="staff"
          act={async ({ reason }) => {
            const { url } = await signInAs(id, reason);
            setEnding(true);
            location.assign(url);
          }}
        />
      )}
      {data.two_factor && (
        <Act
          operation="staff.customers.reset_two_factor"
          label={t("reset")}
          text={t("reset.text", { email })}
          reason="staff"
          danger
          act={async ({ reason }) => {
            await resetTwoFactor(id, reason);
            await changed(t("reset.done"));
          }}
        />
      )}
      {data.suspended_at ? (
        <Act
          operation="staff.customers.unsuspend"
          label={t("unsuspend")}
          text={t("unsuspend.text")}
          reason="staff"
          act={async ({ reason }) => {
            await unsuspend(id, reason);
            await changed(t("unsuspend.done"));
          }}
        />
      ) : (
        <Act
          operation="staff.customers.suspend"
          label={t("suspend")}
          text={t("suspend.text", { email })}
          reason="staff"
          danger
          act={async ({ reason }) => {
            await suspend(id, reason);
            await changed(t("suspend.done"));
          }}
        />
      )}
    </>
  );
}

function Section({ title, children, actions }: { title: string; children: ReactNode; actions?: ReactNode }) {
  return (
    <Card withBorder component="section" aria-label={title}>
      <Group justify="space-between" mb="sm">
        <Title order={2}>{title}</Title>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Card>
  );
}

function Profile({ data }: { data: Customer }) {
  const facts: Fact[] = [
    [t("fact.email"), t(data.email_verified ? "fact.verified" : "fact.unverified")],
    [t("fact.two_factor"), t(data.two_factor ? "fact.on" : "fact.off")],
    [t("fact.locale"), `${data.locale} · ${data.currency}`],
    [t("fact.since"), <When key="since" time={data.created_at} form="day" />],
    [t("fact.last"), data.last_sign_in_at ? <When key="last" time={data.last_sign_in_at} /> : t("fact.never")],
    [t("fact.domains"), number(data.domains)],
  ];
  if (data.reseller) facts.push([t("fact.reseller"), t("fact.yes")]);
  return (
    <Section title={t("profile")}>
      <Facts facts={facts} />
    </Section>
  );
}

function Money({ data, changed }: Part) {
  const { id, email } = data;
  const balance = usd(data.balance_usd_cents);
  const facts: Fact[] = [
    [t("balance"), balance],
    [t("held"), usd(data.held_usd_cents)],
    [t("spent"), usd(data.spent_usd_cents)],
  ];
  if (data.debt_usd_cents) facts.push([t("debt"), usd(data.debt_usd_cents)]);
  return (
    <Section
      title={t("money")}
      actions={
        <>
          <Act
            operation="staff.customers.credit"
            label={t("credit")}
            text={t("credit.text", { email })}
            amount={{ label: t("amount") }}
            reason="customer"
            act={async ({ key, amount, reason }) => {
              await credit(id, key, amount, reason);
              await changed(t("credit.done", { amount: usd(amount), email }));
            }}
          />
          <Act
            operation="staff.customers.debit"
            label={t("debit")}
            text={t("debit.text", { email, balance })}
            amount={{ label: t("amount") }}
            reason="customer"
            danger
            act={async ({ key, amount, reason }) => {
              await debit(id, key, amount, reason);
              await changed(t("debit.done", { amount: usd(amount), email }));
            }}
          />
        </>
      }
    >
      <Facts facts={facts} />
    </Section>
  );
}

function Notes({ data, changed }: Part) {
  const can = useCan();
  const [text, setText] = useState("");
  const [add, { busy, error }] = useAction(async () => {
    await addNote(data.id, text.trim());
    setText("");
    await changed(t("note.added"));
  });
  return (
    <Section title={t("notes")}>
      <Stack>
        {data.notes.length === 0 && <Text c="dimmed">{t("notes.none")}</Text>}
        {data.notes.map((note) => (
          <Group key={note.id} justify="space-between" align="flex-start" wrap="nowrap">
            <div>
              <Text style={{ whiteSpace: "pre-wrap" }}>{note.text}</Text>
              <Text size="sm" c="dimmed">
                <Colleague id={note.author_id} />, <When time={note.created_at} />
              </Text>
            </div>
            {can("staff.customers.remove_note") && (
              <Confirm
                label={t("note.remove")}
                title={t("note.remove")}
                text={t("note.remove.text")}
                icon={<IconTrash size={16} aria-hidden />}
                size="compact-sm"
                action={async () => {
                  await removeNote(data.id, note.id);
                  await changed(t("note.removed"));
                }}
              />
            )}
          </Group>
        ))}
        {can("staff.customers.add_note") && (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (text.trim()) void add();
            }}
          >
            <Stack gap="xs">
              <Textarea
                label={t("note.new")}
                description={t("notes.hint")}
                value={text}
                onChange={(event) => setText(event.currentTarget.value)}
                autosize
                minRows={2}
                maxLength={5000}
              />
              <ErrorNote error={error} />
              <Group justify="flex-end">
                <Button type="submit" variant="light" loading={busy} disabled={!text.trim()}>
                  {t("note.add")}
                </Button>
              </Group>
            </Stack>
          </form>
        )}
      </Stack>
    </Section>
  );
}

function Services({ account }: { account: number }) {
  const [page, setPage] = useState(1);
  const query = useQuery(services({ account_id: account, page }));
  return (
    <Section title={shared("services")}>
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Text c="dimmed">{shared("services.none")}</Text>
          ) : (
            <>
              <ServiceTable rows={data} of={account} />
              <Pager meta={meta} onChange={setPage} />
            </>
          )
        }
      </Load>
    </Section>
  );
}

function Tickets({ account }: { account: number }) {
  const [page, setPage] = useState(1);
  const query = useQuery(tickets({ account_id: account, page }));
  return (
    <Section title={shared("tickets")}>
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Text c="dimmed">{shared("tickets.none")}</Text>
          ) : (
            <>
              <TicketTable rows={data} of={account} />
              <Pager meta={meta} onChange={setPage} />
            </>
          )
        }
      </Load>
    </Section>
  );
}

function Orders({ account }: { account: number }) {
  const [page, setPage] = useState(1);
  const query = useQuery(orders({ account_id: account, page }));
  return (
    <Section title={shared("orders")}>
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Text c="dimmed">{shared("orders.none")}</Text>
          ) : (
            <>
              <OrderTable rows={data} of={account} />
              <Pager meta={meta} onChange={setPage} />
            </>
          )
        }
      </Load>
    </Section>
  );
}

function Documents({ account }: { account: number }) {
  const [page, setPage] = useState(1);
  const query = useQuery(documents({ account_id: account, page }));
  return (
    <Section title={shared("documents")}>
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Text c="dimmed">{shared("documents.none")}</Text>
          ) : (
            <>
              <DocumentTable rows={data} of={account} />
              <Pager meta={meta} onChange={setPage} />
            </>
          )
        }
      </Load>
    </Section>
  );
}

function Ledger({ account, changed }: { account: number; changed: Part["changed"] }) {
  const [page, setPage] = useState(1);
  const query = useQuery(ledger(account, page));
  return (
    <Section title={t("ledger")}>
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Text c="dimmed">{t("ledger.none")}</Text>
          ) : (
            <>
              <DataTable
                caption={t("ledger")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  { key: "date", label: t("ledger.date"), render: (row) => <When time={row.created_at} /> },
                  {
                    key: "what",
                    label: t("ledger.what"),
                    render: (row) => [row.description || row.type, row.actor].filter(Boolean).join(" · "),
                  },
                  {
                    key: "amount",
                    label: t("ledger.amount"),
                    right: true,
                    render: (row) => usd(row.amount_usd_cents),
                  },
                  {
                    key: "balance",
                    label: t("ledger.balance"),
                    right: true,
                    render: (row) => usd(row.balance_after_usd_cents),
                  },
                  {
                    key: "actions",
                    label: shared("column.actions"),
                    actions: true,
                    render: (row) =>
                      row.type === "adjustment" &&
                      row.amount_usd_cents > 0 && (
                        <Act
                          operation="staff.customers.take_back"
                          label={t("take_back")}
                          size="compact-sm"
                          text={t("take_back.text", { amount: usd(row.amount_usd_cents) })}
                          reason="customer"
                          danger
                          act={async ({ key, reason }) => {
                            await takeBack(account, row.id, key, reason);
                            await changed(t("take_back.done"));
                          }}
                        />
                      ),
                  },
                ]}
              />
              <Pager meta={meta} onChange={setPage} />
            </>
          )
        }
      </Load>
    </Section>
  );
}
