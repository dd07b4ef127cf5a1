import { Button, Group, Radio, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";

import { useSubmit } from "~/ui/form";
import { Refusal } from "~/ui/proof/Refusal";

import { createDomain, type HostedDomain } from "./api";
import { t } from "./texts";
import { nameProblem, targetProblem } from "./validate";

const kinds = ["addon", "subdomain", "alias", "redirect"] as const;

/** Adds a domain: with a site of its own, showing the primary one's, or leading somewhere else. */
export function DomainForm({
  service,
  own,
  onDone,
}: {
  service: number;
  own: string[];
  onDone: (row: HostedDomain) => Promise<void>;
}) {
  const form = useForm({
    mode: "controlled",
    initialValues: { kind: "addon" as (typeof kinds)[number], name: "", document_root: "", redirect_to: "" },
    validate: {
      name: (name, { kind }) => {
        const problem = nameProblem(name, kind, own);
        return problem && t(problem, { domain: own[0] ?? "" });
      },
      redirect_to: (target, { kind }) => {
        const problem = kind === "redirect" ? targetProblem(target) : null;
        return problem && t(problem);
      },
    },
  });
  const { kind } = form.getValues();
  const { submit, error } = useSubmit(form, async (values) => {
    await onDone(
      await createDomain(service, {
        name: values.name.trim(),
        kind: values.kind === "redirect" ? "alias" : values.kind,
        ...(values.kind === "redirect" ? { redirect_to: values.redirect_to.trim() } : {}),
        ...(values.document_root.trim() && (kind === "addon" || kind === "subdomain")
          ? { document_root: values.document_root.trim() }
          : {}),
      }),
    );
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <Radio.Group label={t("field.kind")} {...form.getInputProps("kind")}>
          <Stack gap="xs" mt="xs">
            {kinds.map((one) => (
              <Radio key={one} value={one} label={t(`add.${one}`)} description={t(`add.${one}.text`)} />
            ))}
          </Stack>
        </Radio.Group>
        <TextInput
          label={t("field.name")}
          placeholder={kind === "subdomain" ? `blog.${own[0] ?? "example.com"}` : "example.com"}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          data-autofocus
          {...form.getInputProps("name")}
        />
        {(kind === "addon" || kind === "subdomain") && (
          <TextInput
            label={t("field.document_root")}
            description={t("field.document_root_hint")}
            placeholder={`/sites/${form.getValues().name.trim() || "…"}`}
            spellCheck={false}
            {...form.getInputProps("document_root")}
          />
        )}
        {kind === "redirect" && (
          <TextInput
            type="url"
            label={t("field.redirect_to")}
            description={t("field.redirect_to_hint")}
            placeholder="https://example.com"
            {...form.getInputProps("redirect_to")}
          />
        )}
        <Refusal error={error} onProven={submit} />
        <Group justify="flex-end">
          <Button type="submit" loading={form.submitting}>
            {t("add")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
