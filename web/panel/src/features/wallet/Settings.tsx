import { Button, Group, NativeSelect, Stack, Switch, Text, TextInput, Title } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { useAction } from "~/ui/action";
import { Confirm } from "~/ui/Confirm";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { centsOf, dollars } from "~/ui/topup/amount";
import { gateways, type Gateway } from "~/ui/topup/api";

import { forgetMethod, methods, setWallet, type Wallet } from "./api";
import { t } from "./texts";
import { autoProblems, type Auto } from "./validate";

const textOf = (amount: { usd_cents: number } | null) => (amount ? dollars(amount.usd_cents) : "");

/** Top-ups by itself, from a means of payment that a gateway keeps. */
export function AutoTopup({ wallet }: { wallet: Wallet }) {
  const query = useQuery(gateways);
  return (
    <section aria-labelledby="wallet-auto">
      <Title order={2} id="wallet-auto" mb="xs">
        {t("auto")}
      </Title>
      <Load query={query} skeleton={null}>
        {({ data }) => {
          const saving = data.filter((one) => one.enabled && one.saves_methods);
          return saving.length === 0 ? (
            <Text c="dimmed">{t("auto.impossible")}</Text>
          ) : (
            <AutoForm wallet={wallet} saving={saving} />
          );
        }}
      </Load>
    </section>
  );
}

function AutoForm({ wallet, saving }: { wallet: Wallet; saving: Gateway[] }) {
  const queries = useQueryClient();
  const kept = useQuery(methods);
  const now = wallet.auto_topup;
  const [on, setOn] = useState(now.enabled);
  const form = useForm<Auto>({
    mode: "uncontrolled",
    initialValues: {
      gateway: now.gateway ?? saving[0]?.key ?? "",
      threshold: textOf(now.threshold),
      amount: textOf(now.amount),
      most: textOf(now.max_per_day),
    },
    validate: (values) =>
      Object.fromEntries(Object.entries(autoProblems(values)).map(([field, problem]) => [field, t(problem)])),
  });
  const [send, { error }] = useAction(
    async (auto_topup: Parameters<typeof setWallet>[0]["auto_topup"], text: string) => {
      await setWallet({ auto_topup });
      await queries.invalidateQueries({ queryKey: ["wallet", "balance"] });
      done(text);
    },
  );
  const submit = form.onSubmit(async (values) => {
    const most = values.most.trim() ? (centsOf(values.most) ?? undefined) : undefined;
    await send(
      {
        enabled: true,
        gateway: values.gateway,
        threshold_usd_cents: centsOf(values.threshold) ?? 0,
        amount_usd_cents: centsOf(values.amount) ?? 0,
        ...(most ? { max_per_day_usd_cents: most } : {}),
      },
      t("auto.saved"),
    );
  });
  const flip = async (next: boolean) => {
    setOn(next);
    if (!next && now.enabled && !(await send({ enabled: false }, t("auto.off")))) setOn(true);
  };
  const hasMethod = kept.data?.data.some((one) => one.gateway === form.getValues().gateway);
  return (
    <Stack gap="sm">
      <Switch
        label={t("auto.switch")}
        description={t("auto.text")}
        checked={on}
        onChange={(event) => void flip(event.currentTarget.checked)}
      />
      {on && (
        <form onSubmit={submit} noValidate>
          <Stack gap="sm">
            {saving.length > 1 && (
              <NativeSelect
                label={t("auto.gateway")}
                data={saving.map((one) => ({ value: one.key, label: one.name }))}
                key={form.key("gateway")}
                {...form.getInputProps("gateway")}
              />
            )}
            {(["threshold", "amount", "most"] as const).map((field) => (
              <TextInput
                key={form.key(field)}
                label={t(`auto.${field}`)}
                description={field === "most" ? t("auto.most_hint") : undefined}
                inputMode="decimal"
                autoComplete="off"
                leftSection="$"
                maw={320}
                {...form.getInputProps(field)}
              />
            ))}
            {kept.data && !hasMethod && <Text size="sm">{t("auto.no_method")}</Text>}
            <Group>
              <Button type="submit" loading={form.submitting} variant="light">
                {t("save")}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
      <ErrorNote error={error} />
    </Stack>
  );
}

/** The balance below which the customer is told. */
export function LowBalance({ wallet }: { wallet: Wallet }) {
  const queries = useQueryClient();
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { threshold: textOf(wallet.low_balance_threshold) },
    validate: {
      threshold: (value) => (value.trim() === "" || centsOf(value) !== null ? null : t("auto.problem.amount")),
    },
  });
  const { submit, error } = useSubmit(form, async ({ threshold }) => {
    await setWallet({ low_balance_threshold_usd_cents: threshold.trim() ? (centsOf(threshold) ?? 0) : 0 });
    await queries.invalidateQueries({ queryKey: ["wallet", "balance"] });
    done(t("low.saved"));
  });
  return (
    <section aria-labelledby="wallet-low">
      <Title order={2} id="wallet-low" mb="xs">
        {t("low")}
      </Title>
      <form onSubmit={submit} noValidate>
        <Stack gap="sm">
          <TextInput
            label={t("low.field")}
            description={t("low.hint")}
            inputMode="decimal"
            autoComplete="off"
            leftSection="$"
            maw={320}
            key={form.key("threshold")}
            {...form.getInputProps("threshold")}
          />
          <ErrorNote error={error} />
          <Group>
            <Button type="submit" variant="light" loading={form.submitting}>
              {t("save")}
            </Button>
          </Group>
        </Stack>
      </form>
    </section>
  );
}

/** The means of payment that gateways keep. */
export function Methods() {
  const queries = useQueryClient();
  const query = useQuery(methods);
  const forget = async (gateway: string) => {
    await forgetMethod(gateway);
    await queries.invalidateQueries({ queryKey: ["wallet"] });
    done(t("methods.forgotten"));
  };
  return (
    <section aria-labelledby="wallet-methods">
      <Title order={2} id="wallet-methods" mb="xs">
        {t("methods")}
      </Title>
      <Load query={query} skeleton={null}>
        {({ data }) =>
          data.length === 0 ? (
            <Text c="dimmed">{t("methods.none")}</Text>
          ) : (
            <Stack gap="xs">
              {data.map((one) => (
                <Group key={one.gateway} justify="space-between">
                  <Text>{[one.name, one.label].filter(Boolean).join(" · ")}</Text>
                  <Confirm
                    label={t("methods.forget")}
                    title={t("methods.forget")}
                    text={t("methods.forget_text")}
                    action={() => forget(one.gateway)}
                    size="compact-sm"
                  />
                </Group>
              ))}
            </Stack>
          )
        }
      </Load>
    </section>
  );
}
