import { Button, Checkbox, Code, Group, Modal, Radio, Stack, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { IconKey } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Confirm } from "~/ui/Confirm";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { SecretDialog } from "~/ui/SecretDialog";
import { When } from "~/ui/When";

import { createKey, ownKeys, revokeKey, type MadeKey, type World } from "./api";
import { Frame } from "./Frame";
import { t } from "./texts";
import { addressesOf, wrongAddress } from "./validate";

/** The keys by which the reseller's programs call, of both worlds. A new one is shown once. */
export function Keys({ world }: { world: World }) {
  const query = useQuery(ownKeys);
  const queries = useQueryClient();
  const [opened, { open, close }] = useDisclosure();
  const [made, setMade] = useState<MadeKey | null>(null);
  const changed = () => queries.invalidateQueries({ queryKey: ["reseller"] });
  const add = <Button onClick={open}>{t("key.make")}</Button>;
  return (
    <Frame page="/reseller/keys" world={world}>
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={IconKey} title={t("keys.none")} text={t("keys.none.text")} action={add} />
          ) : (
            <>
              <Group mb="md">{add}</Group>
              <DataTable
                caption={t("keys")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  { key: "name", label: t("keys.name"), render: (row) => row.name },
                  { key: "hint", label: t("keys.hint"), render: (row) => <Code>{`…${row.hint}`}</Code> },
                  {
                    key: "world",
                    label: t("world"),
                    render: (row) => t(row.sandbox ? "world.sandbox" : "world.live"),
                  },
                  { key: "may", label: t("keys.may"), render: (row) => t(row.read_only ? "keys.read" : "keys.write") },
                  {
                    key: "from",
                    label: t("keys.from"),
                    render: (row) => row.addresses.join(", ") || t("keys.anywhere"),
                  },
                  {
                    key: "used",
                    label: t("keys.used"),
                    render: (row) =>
                      row.last_used_at ? <When time={row.last_used_at} form="relative" /> : t("key.unused"),
                  },
                  {
                    key: "actions",
                    label: t("keys.actions"),
                    actions: true,
                    render: (row) => (
                      <Confirm
                        label={t("keys.revoke")}
                        aria-label={t("keys.revoke.of", { name: row.name })}
                        title={t("keys.revoke.of", { name: row.name })}
                        text={t("keys.revoke.text")}
                        action={async () => {
                          await revokeKey(row.id);
                          await changed();
                          done(t("keys.revoked", { name: row.name }));
                        }}
                        size="compact-sm"
                      />
                    ),
                  },
                ]}
              />
            </>
          )
        }
      </Load>
      <Modal opened={opened} onClose={close} title={t("key.make")}>
        <KeyForm
          world={world}
          onDone={async (key) => {
            close();
            await changed();
            setMade(key);
          }}
        />
      </Modal>
      {made && (
        <SecretDialog
          title={t("keys.made")}
          parts={[{ label: t("keys.name"), value: made.name }]}
          secret={{ label: t("keys.key"), value: made.key, text: t("keys.once") }}
          onClose={() => setMade(null)}
        />
      )}
    </Frame>
  );
}

function KeyForm({ world, onDone }: { world: World; onDone: (key: MadeKey) => Promise<void> }) {
  const form = useForm({
    mode: "controlled",
    initialValues: { name: "", world, read_only: false, addresses: "" },
    validate: {
      name: (name) => (name.trim() ? null : t("keys.name_wrong")),
      addresses: (text) => {
        const wrong = wrongAddress(text);
        return wrong === null ? null : t("keys.addresses_wrong", { text: wrong });
      },
    },
  });
  const { submit, error } = useSubmit(form, async (values) => {
    const addresses = addressesOf(values.addresses);
    await onDone(
      await createKey({
        name: values.name,
        sandbox: values.world === "sandbox",
        read_only: values.read_only,
        ...(addresses.length > 0 ? { addresses } : {}),
      }),
    );
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label={t("keys.name")}
          description={t("keys.name_hint")}
          maxLength={100}
          autoComplete="off"
          data-autofocus
          {...form.getInputProps("name")}
        />
        <Radio.Group label={t("world")} {...form.getInputProps("world")}>
          <Stack gap="xs" mt={4}>
            <Radio value="sandbox" label={t("keys.world.sandbox")} />
            <Radio value="live" label={t("keys.world.live")} />
          </Stack>
        </Radio.Group>
        <Checkbox label={t("keys.only_reads")} {...form.getInputProps("read_only", { type: "checkbox" })} />
        <Textarea
          label={t("keys.addresses")}
          description={t("keys.addresses_hint")}
          autosize
          minRows={2}
          spellCheck={false}
          {...form.getInputProps("addresses")}
        />
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={form.submitting}>
            {t("key.make")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
