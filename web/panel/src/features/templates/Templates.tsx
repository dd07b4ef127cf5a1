import {
  Alert,
  Button,
  Card,
  Checkbox,
  Group,
  Image,
  Modal,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { ApiFailure } from "~/api/failure";
import { currentLang, languages, type Lang } from "~/i18n/i18n";
import { AnchorLink } from "~/ui/AnchorLink";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";

import { install, installed, templates, type Installation, type Template } from "./api";
import { t } from "./texts";

/** A text that the interface answers in all languages, or in the one that was asked for. */
const inLang = (text: string | Record<string, unknown>) =>
  typeof text === "string" ? text : String(text[currentLang()] ?? text.en ?? "");

/** The path of an address: previews and pictures are of this site. */
const pathOf = (address: string) => new URL(address, location.href).pathname;

/** Ready sites, to be put on the service. */
export function Templates({ service }: { service: number }) {
  const query = useQuery(templates());
  const state = useQuery(installed(service));
  const queries = useQueryClient();
  const [chosen, setChosen] = useState<Template | null>(null);
  const pending = state.data?.status === "pending";
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} />
      {state.data && <Progress service={service} installation={state.data} />}
      <Load query={query}>
        {({ data }) => (
          <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
            {data.map((template) => (
              <Card key={template.id} withBorder component="article">
                <Card.Section>
                  <Image
                    src={`${pathOf(template.thumbnail_url)}?size=400x300`}
                    alt=""
                    width={400}
                    height={300}
                    h="auto"
                    loading="lazy"
                  />
                </Card.Section>
                <Stack gap="xs" mt="sm" h="100%">
                  <Title order={2}>{inLang(template.name)}</Title>
                  <Text size="sm" flex={1}>
                    {inLang(template.description)}
                  </Text>
                  <Group gap="sm">
                    <Button
                      onClick={() => setChosen(template)}
                      disabled={pending}
                      aria-label={t("install.name", { name: inLang(template.name) })}
                    >
                      {t("install")}
                    </Button>
                    <Button
                      variant="default"
                      component="a"
                      href={`${template.preview_url}?lang=${currentLang()}`}
                      target="_blank"
                      rel="noreferrer"
                      aria-label={t("preview.name", { name: inLang(template.name) })}
                    >
                      {t("preview")}
                    </Button>
                  </Group>
                </Stack>
              </Card>
            ))}
          </SimpleGrid>
        )}
      </Load>
      <Modal
        opened={chosen !== null}
        onClose={() => setChosen(null)}
        title={chosen && t("install.name", { name: inLang(chosen.name) })}
      >
        {chosen && (
          <InstallForm
            service={service}
            template={chosen}
            onDone={async (installation) => {
              setChosen(null);
              queries.setQueryData(["service", service, "template"], installation);
              await queries.invalidateQueries({ queryKey: ["service", service] });
              done(t("begun"));
            }}
          />
        )}
      </Modal>
    </>
  );
}

function Progress({ service, installation }: { service: number; installation: Installation }) {
  const { status, template, kept_in, directory } = installation;
  const look = (
    <AnchorLink
      size="sm"
      to="/services/$service/files/$"
      params={{ service: String(service), _splat: directory.replace(/^\//, "") }}
    >
      {t("look")}
    </AnchorLink>
  );
  return (
    <Alert
      mb="md"
      role="status"
      color={status === "failed" ? "red" : status === "pending" ? "blue" : "green"}
      title={t(`status.${status}`, { name: template })}
    >
      <Stack gap={4} align="flex-start">
        {status === "failed" && <Text size="sm">{t("failed.text")}</Text>}
        {kept_in && <Text size="sm">{t("kept", { path: kept_in })}</Text>}
        {status === "completed" && look}
      </Stack>
    </Alert>
  );
}

function InstallForm({
  service,
  template,
  onDone,
}: {
  service: number;
  template: Template;
  onDone: (installation: Installation) => Promise<void>;
}) {
  const known = template.languages.filter((code): code is Lang => code in languages);
  const [language, setLanguage] = useState<Lang>(known.includes(currentLang()) ? currentLang() : (known[0] ?? "en"));
  const [title, setTitle] = useState("");
  const [directory, setDirectory] = useState("/public_html");
  const [overwrite, setOverwrite] = useState(false);
  const [inTheWay, setInTheWay] = useState<string[]>([]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      await onDone(
        await install(service, {
          template: template.slug,
          language,
          title: title.trim() || undefined,
          directory: directory.trim() || undefined,
          overwrite,
        }),
      );
    } catch (failure) {
      if (failure instanceof ApiFailure && failure.key === "template_files_exist") {
        setInTheWay(Array.isArray(failure.details.paths) ? (failure.details.paths as string[]) : []);
      }
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Stack>
        <TextInput
          label={t("field.title")}
          description={t("field.title_hint")}
          maxLength={100}
          value={title}
          onChange={(event) => setTitle(event.currentTarget.value)}
          data-autofocus
        />
        <Select
          label={t("field.language")}
          allowDeselect={false}
          data={known.map((code) => ({ value: code, label: languages[code] }))}
          value={language}
          onChange={(value) => value && setLanguage(value as Lang)}
        />
        <TextInput
          label={t("field.directory")}
          spellCheck={false}
          value={directory}
          onChange={(event) => setDirectory(event.currentTarget.value)}
        />
        <ErrorNote error={error} />
        {inTheWay.length > 0 && (
          <>
            <ul>
              {inTheWay.map((path) => (
                <li key={path}>{path}</li>
              ))}
            </ul>
            <Checkbox
              label={t("field.overwrite")}
              description={t("field.overwrite_hint")}
              checked={overwrite}
              onChange={(event) => setOverwrite(event.currentTarget.checked)}
            />
          </>
        )}
        <Group justify="flex-end">
          <Button type="submit" loading={busy}>
            {t("install")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
