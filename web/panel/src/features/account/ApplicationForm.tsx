import { Button, Checkbox, Code, Group, Radio, Stack, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";

import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";

import type { Application } from "./api";
import { scopes, scopeText } from "./scopes";
import { t } from "./texts";
import { linesOf, redirectsProblem } from "./validate";

interface Values {
  name: string;
  type: Application["type"];
  redirect_uris: string[];
  scopes: string[];
  sandbox: boolean;
}

/** What an application is and may ask for. A new one begins with no scope chosen. */
export function ApplicationForm({
  present,
  label,
  onSubmit,
}: {
  present?: Application;
  label: string;
  onSubmit: (values: Values) => Promise<unknown>;
}) {
  const form = useForm({
    mode: "uncontrolled",
    initialValues: {
      name: present?.name ?? "",
      type: present?.type ?? ("public" as Application["type"]),
      redirect_uris: present?.redirect_uris.join("\n") ?? "",
      scopes: present?.scopes ?? [],
      sandbox: present?.sandbox ?? false,
    },
    validate: {
      name: (name) => (name.trim() ? null : t("problem.required")),
      redirect_uris: (text) => {
        const problem = redirectsProblem(text);
        return problem && t(problem);
      },
      scopes: (chosen) => (chosen.length > 0 ? null : t("problem.scopes")),
    },
  });
  const { submit, error } = useSubmit(form, ({ redirect_uris, ...values }) =>
    onSubmit({ ...values, redirect_uris: linesOf(redirect_uris) }),
  );
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label={t("application.name")}
          description={t("application.name.hint")}
          maxLength={60}
          autoComplete="off"
          data-autofocus
          key={form.key("name")}
          {...form.getInputProps("name")}
        />
        {!present && (
          <Radio.Group label={t("application.type")} key={form.key("type")} {...form.getInputProps("type")}>
            <Stack gap="xs" mt="xs">
              <Radio value="public" label={t("application.type.public")} description={t("application.public.hint")} />
              <Radio
                value="confidential"
                label={t("application.type.confidential")}
                description={t("application.confidential.hint")}
              />
            </Stack>
          </Radio.Group>
        )}
        <Textarea
          label={t("application.redirects")}
          description={t("application.redirects.hint")}
          rows={3}
          spellCheck={false}
          key={form.key("redirect_uris")}
          {...form.getInputProps("redirect_uris")}
        />
        <Checkbox.Group
          label={t("application.scopes")}
          description={t("application.scopes.hint")}
          key={form.key("scopes")}
          {...form.getInputProps("scopes")}
        >
          <Stack gap="xs" mt="xs">
            {scopes.map((scope) => (
              <Checkbox
                key={scope}
                value={scope}
                label={
                  <>
                    <Code>{scope}</Code> {scopeText(scope)}
                  </>
                }
              />
            ))}
          </Stack>
        </Checkbox.Group>
        <Checkbox
          label={t("application.sandbox")}
          key={form.key("sandbox")}
          {...form.getInputProps("sandbox", { type: "checkbox" })}
        />
        <ErrorNote error={error} />
        <Group>
          <Button type="submit" loading={form.submitting}>
            {label}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
