import {
  Alert,
  Anchor,
  Button,
  Card,
  Checkbox,
  Code,
  Group,
  List,
  Modal,
  PasswordInput,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { IconDownload } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { useAction } from "~/ui/action";
import { Confirm } from "~/ui/Confirm";
import { Copy } from "~/ui/Copy";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { QR } from "~/ui/QR";
import { Status } from "~/ui/Status";
import { Username } from "~/ui/Username";
import { When } from "~/ui/When";

import {
  addPasskey,
  changePassword,
  deletePasskey,
  disableTwoFactor,
  enableTwoFactor,
  enrol,
  renewCodes,
  security,
  type Security as State,
} from "./api";
import { t } from "./texts";
import { codeOf, codeProblem, passwordProblem } from "./validate";

type Enrolment = Awaited<ReturnType<typeof enrol>>;

/** The ways into the account: password, second factor, passkeys. */
export function Security() {
  const query = useQuery(security);
  return (
    <>
      <PageHeader title={t("security.title")} description={t("security.description")} />
      <Load query={query}>
        {(data) => (
          <Stack maw={720}>
            <Card withBorder>
              <PasswordForm />
            </Card>
            <Card withBorder>
              <TwoFactor state={data} />
            </Card>
            <Card withBorder>
              <Passkeys state={data} />
            </Card>
          </Stack>
        )}
      </Load>
    </>
  );
}

function PasswordForm() {
  const queries = useQueryClient();
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { current: "", password: "", end_applications: false },
    validate: {
      current: (value) => (value ? null : t("problem.required")),
      password: (value) => {
        const problem = passwordProblem(value);
        return problem && t(problem);
      },
    },
  });
  const { submit, error } = useSubmit(form, async (values) => {
    await changePassword(values);
    form.reset();
    await queries.invalidateQueries({ queryKey: ["account"] });
    done(t("password.changed"));
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <Title order={2} size="h4">
          {t("password.title")}
        </Title>
        <Username />
        <PasswordInput
          label={t("password.current")}
          autoComplete="current-password"
          key={form.key("current")}
          {...form.getInputProps("current")}
        />
        <PasswordInput
          label={t("password.new")}
          description={t("password.hint")}
          autoComplete="new-password"
          key={form.key("password")}
          {...form.getInputProps("password")}
        />
        <Checkbox
          label={t("password.applications")}
          key={form.key("end_applications")}
          {...form.getInputProps("end_applications", { type: "checkbox" })}
        />
        <ErrorNote error={error} />
        <Group>
          <Button type="submit" loading={form.submitting}>
            {t("password.change")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function TwoFactor({ state }: { state: State }) {
  const queries = useQueryClient();
  const [setup, setSetup] = useState<Enrolment | null>(null);
  const [codes, setCodes] = useState<string[] | null>(null);
  const changed = async () => {
    await queries.invalidateQueries({ queryKey: ["account"] });
    await queries.invalidateQueries({ queryKey: ["me"] });
  };
  const [begin, { busy, error }] = useAction(async () => setSetup(await enrol()));
  const show = async (next: string[]) => {
    setSetup(null);
    setCodes(next);
    await changed();
  };
  return (
    <Stack>
      <Group gap="sm">
        <Title order={2} size="h4">
          {t("factor.title")}
        </Title>
        <Status tone={state.two_factor ? "good" : "warn"} label={t(state.two_factor ? "factor.on" : "factor.off")} />
      </Group>
      <Text>{t(state.two_factor ? "factor.on.text" : "factor.off.text")}</Text>
      {state.two_factor ? (
        <>
          <Text size="sm" c={state.recovery_codes_left < 3 ? undefined : "dimmed"}>
            {t("factor.codes_left", { count: state.recovery_codes_left })}
          </Text>
          <Group>
            <Confirm
              label={t("factor.renew")}
              title={t("factor.renew")}
              text={t("factor.renew.text")}
              action={async () => show((await renewCodes()).recovery_codes)}
              color="brand"
            />
            <Confirm
              label={t("factor.disable")}
              title={t("factor.disable.title")}
              text={t("factor.disable.text")}
              action={async () => {
                await disableTwoFactor();
                await changed();
                done(t("factor.disabled"));
              }}
            />
          </Group>
        </>
      ) : (
        <Group>
          <Button onClick={() => void begin()} loading={busy}>
            {t("factor.setup")}
          </Button>
        </Group>
      )}
      <ErrorNote error={error} />
      <Modal opened={setup !== null} onClose={() => setSetup(null)} title={t("factor.setup.title")}>
        {setup && <SetUp enrolment={setup} onDone={show} />}
      </Modal>
      <Modal
        opened={codes !== null}
        onClose={() => setCodes(null)}
        title={t("codes.title")}
        closeOnClickOutside={false}
        closeOnEscape={false}
        withCloseButton={false}
      >
        {codes && <Codes codes={codes} onClose={() => setCodes(null)} />}
      </Modal>
    </Stack>
  );
}

function SetUp({ enrolment, onDone }: { enrolment: Enrolment; onDone: (codes: string[]) => Promise<void> }) {
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { code: "" },
    validate: {
      code: (code) => {
        const problem = codeProblem(code);
        return problem && t(problem);
      },
    },
  });
  const { submit, error } = useSubmit(form, async ({ code }) => {
    await onDone((await enableTwoFactor(codeOf(code))).recovery_codes);
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <Text>{t("factor.scan")}</Text>
        <Group justify="center">
          <QR text={enrolment.url} label={t("factor.qr")} />
        </Group>
        <Text size="sm">{t("factor.key")}</Text>
        <Copy value={enrolment.key} label={t("factor.key.name")} />
        <TextInput
          label={t("factor.code")}
          inputMode="numeric"
          autoComplete="one-time-code"
          data-autofocus
          key={form.key("code")}
          {...form.getInputProps("code")}
        />
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={form.submitting}>
            {t("factor.enable")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Codes({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  const [kept, setKept] = useState(false);
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(codes.join("\n") + "\n")}`;
  return (
    <Stack>
      <Text>{t("codes.text")}</Text>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" component="ul" p={0} m={0} style={{ listStyle: "none" }}>
        {codes.map((code) => (
          <li key={code}>
            <Code style={{ whiteSpace: "nowrap" }}>{code}</Code>
          </li>
        ))}
      </SimpleGrid>
      <Anchor href={file} download="recovery-codes.txt">
        <Group gap={4} component="span">
          <IconDownload size={16} aria-hidden /> {t("codes.download")}
        </Group>
      </Anchor>
      <Checkbox label={t("codes.kept")} checked={kept} onChange={(event) => setKept(event.currentTarget.checked)} />
      <Group justify="flex-end">
        <Button disabled={!kept} onClick={onClose}>
          {t("codes.close")}
        </Button>
      </Group>
    </Stack>
  );
}

/** Why no passkey can be made here; null when one can. */
function passkeysElsewhere(origin: string | null): ReactNode {
  if (!origin) return t("passkeys.nowhere");
  if (origin !== location.origin)
    return (
      <>
        {t("passkeys.at")} <Anchor href={`${origin}/panel/account/security`}>{origin}</Anchor>
      </>
    );
  return "PublicKeyCredential" in window && "parseCreationOptionsFromJSON" in PublicKeyCredential
    ? null
    : t("passkeys.old_browser");
}

function Passkeys({ state }: { state: State }) {
  const queries = useQueryClient();
  const [opened, { open, close }] = useDisclosure();
  const elsewhere = passkeysElsewhere(state.passkey_origin);
  const changed = () => queries.invalidateQueries({ queryKey: ["account"] });
  return (
    <Stack>
      <Title order={2} size="h4">
        {t("passkeys.title")}
      </Title>
      <Text>{t("passkeys.text")}</Text>
      {state.passkeys.length > 0 && (
        <List listStyleType="none" spacing="sm">
          {state.passkeys.map((key) => (
            <List.Item key={key.id} styles={{ itemWrapper: { width: "100%" }, itemLabel: { width: "100%" } }}>
              <Group justify="space-between" gap="sm">
                <Stack gap={0}>
                  <Text fw={600}>{key.name}</Text>
                  <Text size="sm" c="dimmed">
                    {t("passkeys.added")} <When time={key.created_at} form="day" /> ·{" "}
                    {key.last_used_at ? (
                      <>
                        {t("passkeys.used")} <When time={key.last_used_at} form="relative" />
                      </>
                    ) : (
                      t("passkeys.unused")
                    )}
                  </Text>
                </Stack>
                <Confirm
                  label={t("passkeys.remove", { name: key.name })}
                  title={t("passkeys.remove", { name: key.name })}
                  text={t("passkeys.remove.text")}
                  icon={t("remove")}
                  size="compact-sm"
                  action={async () => {
                    await deletePasskey(key.id);
                    await changed();
                    done(t("passkeys.removed"));
                  }}
                />
              </Group>
            </List.Item>
          ))}
        </List>
      )}
      {elsewhere ? (
        <Alert color="gray" variant="light">
          {elsewhere}
        </Alert>
      ) : (
        <Group>
          <Button variant="default" onClick={open}>
            {t("passkeys.add")}
          </Button>
        </Group>
      )}
      <Modal opened={opened} onClose={close} title={t("passkeys.add")}>
        <NewPasskey
          onDone={async (made) => {
            close();
            if (!made) return;
            await changed();
            done(t("passkeys.made"));
          }}
        />
      </Modal>
    </Stack>
  );
}

function NewPasskey({ onDone }: { onDone: (made: boolean) => Promise<void> }) {
  const [broken, setBroken] = useState(false);
  const form = useForm({ mode: "uncontrolled", initialValues: { name: "" } });
  const { submit, error } = useSubmit(form, async ({ name }) => {
    setBroken(false);
    try {
      await onDone(await addPasskey(name.trim()));
    } catch (failure) {
      if (!(failure instanceof DOMException)) throw failure;
      setBroken(true); // what browsers say is for developers
    }
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label={t("passkeys.name")}
          description={t("passkeys.name.hint")}
          autoComplete="off"
          maxLength={60}
          data-autofocus
          key={form.key("name")}
          {...form.getInputProps("name")}
        />
        {broken && (
          <Alert color="red" role="alert">
            {t("passkeys.failed")}
          </Alert>
        )}
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={form.submitting}>
            {t("passkeys.add")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
